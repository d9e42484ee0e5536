use tracewright_core::Delay;
use tracewright_core::stream::{PacketSink, Resync};
use tracewright_testkit::Rng;

use super::{Kind, Packet, Parser, opencsd};
use crate::itm::Params;
use crate::itm::hardware::Hardware;

const SYNC: [u8; 6] = [0, 0, 0, 0, 0, 0x80];

/// Parses bytes in chunks. All bytes come out, once and in order.
fn parse_chunks(bytes: &[u8], resync: Resync, aligned: bool, size: usize) -> Vec<(Vec<u8>, Packet)> {
    struct Sink(u64, Vec<u8>, Vec<(Vec<u8>, Packet)>);
    impl PacketSink<Packet> for Sink {
        fn packet(&mut self, offset: u64, bytes: &[u8], packet: &Packet) {
            let skipped = std::mem::take(&mut self.1);
            if let Packet::NotSync { len } = packet {
                assert_eq!((skipped.len() as u64, bytes.len()), (*len, 0));
                self.2.push((skipped, *packet));
            } else {
                assert!(skipped.is_empty());
                assert_eq!(offset, self.0);
                self.0 += bytes.len() as u64;
                self.2.push((bytes.to_vec(), *packet));
            }
        }

        fn skipped(&mut self, offset: u64, bytes: &[u8]) {
            assert_eq!(offset, self.0);
            self.0 += bytes.len() as u64;
            self.1.extend(bytes);
        }
    }
    let mut sink = Sink(0, Vec::new(), Vec::new());
    let params = Params::default().with_aligned_start(aligned);
    let mut parser = Parser::new(params).with_resync(resync);
    for chunk in bytes.chunks(size) {
        parser.feed(chunk, &mut sink);
        assert!(parser.unfinished() <= parser.position());
    }
    parser.finish(&mut sink);
    assert_eq!(sink.2.iter().flat_map(|(bytes, _)| bytes.clone()).collect::<Vec<_>>(), bytes);
    sink.2
}

fn parse(bytes: &[u8]) -> Vec<Packet> {
    parse_chunks(bytes, Resync::NextAsync, false, bytes.len()).into_iter().map(|(_, packet)| packet).collect()
}

/// A packet, its bytes, and what OpenCSD prints.
fn check(bytes: &[u8], packet: Packet, text: &str) {
    assert_eq!(parse(&[&SYNC, bytes].concat()), [Packet::Async, packet]);
    let (mut again, mut printed) = (Vec::new(), String::new());
    packet.write(&mut again);
    assert_eq!(again, bytes);
    opencsd::write(&mut printed, &packet).unwrap();
    assert_eq!(printed, text);
}

const fn delay(timestamp: bool, packet: bool) -> Delay {
    Delay { timestamp, packet }
}

#[test]
fn stimulus() {
    let text = "ITM_SWIT: {src id: 0x01}  0x67890123; 'Software Stimulus write packet'";
    let packet = Packet::Stimulus { port: 1, size: 4, value: 0x6789_0123 };
    check(&[0x0b, 0x23, 0x01, 0x89, 0x67], packet, text);
    let text = "ITM_SWIT: {src id: 0x1f}  0x0005; 'Software Stimulus write packet'";
    check(&[0xfa, 5, 0], Packet::Stimulus { port: 31, size: 2, value: 5 }, text);
    let text = "ITM_SWIT: {src id: 0x00}  0x80; 'Software Stimulus write packet'";
    check(&[0x01, 0x80], Packet::Stimulus { port: 0, size: 1, value: 0x80 }, text);
}

#[test]
fn hardware() {
    let hardware = |source, size, value| Packet::Hardware(Hardware { source, size, value });
    for (bytes, packet, text) in [
        (
            &[0x05, 0x15][..],
            hardware(0, 1, 0x15),
            "{desc: 0x00} [Event Counter: 0x15; Flags:  CPI  ---  Sleep  ---  Fold  --- ] ",
        ),
        (&[0x0e, 4, 0x10], hardware(1, 2, 0x1004), "{desc: 0x01} [Exception Num:  0x0004(entered) ]"),
        (&[0x0e, 0x23, 1], hardware(1, 2, 0x123), "{desc: 0x01} [Exception Num:  0x0123(reserved) ]"),
        (&[0x17, 0, 0x10, 0, 0], hardware(2, 4, 0x1000), "{desc: 0x02} [PC Sample: 0x00001000] "),
        (&[0x15, 0], hardware(2, 1, 0), "{desc: 0x02} [PC Sample: 0x00] "),
        (&[0x1d, 1], hardware(3, 1, 1), "{desc: 0x03} [Reserved discriminator value] "),
        (
            &[0x47, 0, 1, 0, 8],
            hardware(8, 4, 0x0800_0100),
            "{desc: 0x08} [Data Trc: comp=0; PC Value=0x08000100 ] ",
        ),
        (&[0x6e, 2, 1], hardware(13, 2, 0x102), "{desc: 0x0d} [Data Trc: comp=2; Address=0x0102 ] "),
        (&[0x95, 0x44], hardware(18, 1, 0x44), "{desc: 0x12} [Data Trc: comp=1; Val read: 0x44] "),
        (&[0xbe, 1, 2], hardware(23, 2, 0x201), "{desc: 0x17} [Data Trc: comp=3; Val write: 0x0201] "),
    ] {
        check(bytes, packet, &format!("ITM_DWT: {text}; 'DWT hardware stimulus write'"));
    }
}

#[test]
fn local_timestamps() {
    let check = |bytes: &[u8], packet, text: &str| {
        check(bytes, packet, &format!("ITM_TS_LOCAL: {text}; 'Local Timestamp'"));
    };
    let packet = |value, delay, bytes| Packet::LocalTimestamp { value, delay, bytes };
    check(&[0x20], packet(2, delay(false, false), 0), "0x02 { TS Sync }");
    check(&[0x60], packet(6, delay(false, false), 0), "0x06 { TS Sync }");
    check(&[0xc0, 0x82, 0xc8, 4], packet(0x12402, delay(false, false), 3), "0x012402 { TS Sync }");
    check(&[0xd0, 0x0d], packet(13, delay(true, false), 1), "0x0d { TS Delayed }");
    check(&[0xe0, 0xc2, 0x26], packet(0x1342, delay(false, true), 2), "0x1342 { TS Sync, Packet Delayed }");
    let all = packet(0xfff_ffff, delay(true, true), 4);
    check(&[0xf0, 0xff, 0xff, 0xff, 0x7f], all, "0x0fffffff { TS Delayed, Packet Delayed }");
    // More bytes than are needed are kept.
    check(&[0xc0, 0x85, 0x80, 0], packet(5, delay(false, false), 3), "0x000005 { TS Sync }");
}

#[test]
fn global_timestamps() {
    let low =
        |value, clock_changed, wrapped, bytes| Packet::GlobalLow { value, clock_changed, wrapped, bytes };
    for (bytes, packet, text) in [
        (&[0x94, 0x7a][..], low(0x7a, false, false, 1), "{ TS bits [6:0]} 0x7a"),
        (&[0x94, 0x92, 0x4e], low(0x2712, false, false, 2), "{ TS bits [13:0]} 0x2712"),
        (&[0x94, 0xd3, 0xc6, 0x10], low(0x42353, false, false, 3), "{ TS bits [20:0]} 0x042353"),
        (
            &[0x94, 0x82, 0xcf, 0xfa, 0x37],
            low(0x2fe_a782, true, false, 4),
            "{ TS bits [25:0], Clk change} 0x02fea782",
        ),
        (
            &[0x94, 0x82, 0xcf, 0xfa, 0x77],
            low(0x2fe_a782, true, true, 4),
            "{ TS bits [25:0], Clk change, Clk wrap} 0x02fea782",
        ),
    ] {
        check(bytes, packet, &format!("ITM_GTS_1: {text}; 'Global Timestamp [25:0]'"));
    }
    let high = |value, bytes| Packet::GlobalHigh { value, bytes };
    for (bytes, packet, text) in [
        (&[0xb4, 0x96, 0x9a, 0x92, 0][..], high(0x48d16, 4), "{ TS bits [47:26]} 0x00048d16"),
        (&[0xb4, 0x93, 0x98, 0xa0, 0xa0, 0x80, 0], high(0x0408_0c13, 6), "{ TS bits [63:26]} 0x0004080c13"),
    ] {
        check(bytes, packet, &format!("ITM_GTS_2: {text}; 'Global Timestamp [{{63|42}}:26]'"));
    }
}

#[test]
fn extensions() {
    let packet = |hardware, value, bytes| Packet::Extension { hardware, value, bytes };
    for (bytes, packet, text) in [
        (&[0x28][..], packet(false, 2, 0), "{stim port page} 0x02"),
        (&[0x2c], packet(true, 2, 0), "{unknown extension type, 3 bits } 0x2"),
        (&[0xf8, 0x03], packet(false, 0x1f, 1), "{unknown extension type, 10 bits } 0x01f"),
        (
            &[0x88, 0x80, 0x80, 0x80, 0x81],
            packet(false, 0x8100_0000, 4),
            "{unknown extension type, 32 bits } 0x081000000",
        ),
    ] {
        check(bytes, packet, &format!("ITM_EXTENSION: {text}; 'Extension packet'"));
    }
    check(&[0x70], Packet::Overflow, "ITM_OVERFLOW: ; 'ITM overflow packet'");
}

#[test]
fn each_header_has_one_kind() {
    for header in 1..=255 {
        let bytes = [&SYNC[..], &[header], &[1; 8]].concat();
        let packet = parse(&bytes)[1];
        assert_eq!(packet.kind(), Kind::of(header), "{header:#x}");
        let mut printed = String::new();
        opencsd::write(&mut printed, &packet).unwrap();
        assert!(printed.starts_with(Kind::of(header).opencsd_name()));
    }
}

#[test]
fn zeros() {
    let stimulus = Packet::Stimulus { port: 0, size: 1, value: 0 };
    let text = |tail: &[u8]| parse(&[&SYNC[..], &[1, 0], tail].concat())[1..].to_vec();
    // Before a synchronisation packet, and at the end.
    assert_eq!(
        text(&[0, 0, 0, 0, 0, 0, 0, 0x80]),
        [stimulus, Packet::Padding { zeros: 1 }, Packet::Padding { zeros: 1 }, Packet::Async]
    );
    assert_eq!(text(&[0; 3]), [stimulus, Packet::Padding { zeros: 3 }]);
    let mut many = vec![stimulus];
    many.extend([Packet::Padding { zeros: 1 }; 94]);
    many.push(Packet::Padding { zeros: 5 });
    assert_eq!(text(&[0; 99]), many);
    // Elsewhere they are wrong.
    let malformed = Packet::Malformed { kind: Kind::Async };
    assert_eq!(text(&[0, 0, 1, 2, 3]), [stimulus, malformed, Packet::NotSync { len: 2 }]);
    assert_eq!(text(&[0, 0, 0, 0x80]), [stimulus, malformed]);
    // Enough of them are a synchronisation packet, even if a packet that was cut took the first.
    assert_eq!(text(&[0, 0, 0, 0, 0x80]), [stimulus, Packet::Async]);
}

#[test]
fn resumes_where_it_is_told() {
    let malformed = Packet::Malformed { kind: Kind::LocalTimestamp };
    let bytes = [&SYNC[..], &[0xc0, 0xff, 0xff, 0xff, 0xff], &[0x09, 7, 0x04], &SYNC, &[0x09, 8]].concat();
    let seven = Packet::Stimulus { port: 1, size: 1, value: 7 };
    let eight = Packet::Stimulus { port: 1, size: 1, value: 8 };
    let reserved = Packet::Reserved { header: 4 };
    assert_eq!(parse(&bytes), [Packet::Async, malformed, Packet::NotSync { len: 3 }, Packet::Async, eight]);
    let found = parse_chunks(&bytes, Resync::NextByte, false, 1);
    let found: Vec<Packet> = found.into_iter().map(|(_, packet)| packet).collect();
    assert_eq!(found, [Packet::Async, malformed, seven, reserved, Packet::Async, eight]);
    // A stream without any synchronisation packet.
    let found = parse_chunks(&[0x09, 7, 0x04, 0x09, 8], Resync::NextAsync, true, 2);
    assert_eq!(found.into_iter().map(|(_, packet)| packet).collect::<Vec<_>>(), [seven, reserved, eight]);
}

#[test]
fn as_opencsd_does() {
    let bytes = [&SYNC[..], &[0, 0, 0, 0, 0, 0, 0, 0x80], &[0x90, 5], &[0, 0]].concat();
    let found = parse_chunks(&bytes, Resync::NextByte, false, 3);
    let expected = [
        (SYNC.to_vec(), Packet::Async),
        (vec![0, 0, 0, 0, 0, 0, 0, 0x80], Packet::Async),
        (vec![0x90, 5], Packet::LocalTimestamp { value: 5, delay: delay(true, false), bytes: 1 }),
        (vec![0, 0], Packet::Padding { zeros: 2 }),
    ];
    assert_eq!(found, expected);
}

/// Bytes that are mostly packets.
fn made(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..rng.below(40) {
        match rng.below(8) {
            0 => bytes.extend(SYNC),
            1 => bytes.extend(vec![0; rng.below(20) as usize]),
            2 => bytes.extend(rng.bytes_below(8)),
            _ => {
                bytes.push([1, 2, 3, 5, 6, 7, 0xc0, 0x94, 0xb4, 0x70, 0x20, 0x48][rng.below(12) as usize]);
                bytes.extend(rng.bytes_below(6).iter().map(|byte| byte & 0x7f));
            }
        }
    }
    bytes
}

#[test]
fn chunks_change_nothing_and_packets_have_their_bytes() {
    for seed in 0..2000 {
        let mut rng = Rng::new(seed);
        let bytes = made(&mut rng);
        for resync in [Resync::NextAsync, Resync::NextByte] {
            for aligned in [false, true] {
                let whole = parse_chunks(&bytes, resync, aligned, bytes.len().max(1));
                for size in [1, 2, 3, 7] {
                    assert_eq!(parse_chunks(&bytes, resync, aligned, size), whole);
                }
                if resync == Resync::NextByte {
                    continue;
                }
                for (bytes, packet) in whole.iter().filter(|(_, packet)| !packet.kind().is_error()) {
                    let mut again = Vec::new();
                    packet.write(&mut again);
                    // A synchronisation packet whose first zeros a packet that was cut has taken.
                    let from = if *packet == Packet::Async { again.len() - bytes.len() } else { 0 };
                    assert_eq!(again[from..], *bytes, "{packet:?}");
                }
            }
        }
    }
}
