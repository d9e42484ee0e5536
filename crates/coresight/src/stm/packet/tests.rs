use tracewright_testkit::Rng;

use super::*;

/// Nibbles as text, most often in groups by packet; blanks mean nothing.
fn bytes(text: &str) -> Vec<u8> {
    let mut nibbles = Nibbles::new();
    text.chars().filter_map(|c| c.to_digit(16)).for_each(|nibble| nibbles.push(nibble as u8));
    nibbles.bytes().to_vec()
}

const SYNC: &str = "fffffffffffffffffffff0";

#[derive(Debug, Default, PartialEq, Eq)]
struct Parsed {
    packets: Vec<(Span, Vec<u8>, Packet)>,
    skipped: Vec<(u64, u8)>,
}

impl StmSink for Parsed {
    fn packet(&mut self, span: Span, bytes: &[u8], packet: &Packet) {
        self.packets.push((span, bytes.to_vec(), *packet));
    }

    fn skipped(&mut self, offset: u64, bytes: &[u8]) {
        self.skipped.extend((offset..).zip(bytes.iter().copied()));
    }
}

fn parse(bytes: &[u8], chunk: usize) -> Parsed {
    let mut parser = Parser::new();
    let mut parsed = Parsed::default();
    for chunk in bytes.chunks(chunk) {
        parser.feed(chunk, &mut parsed);
        assert!(parser.unfinished() <= parser.position());
    }
    parser.finish(&mut parsed);
    parsed
}

/// Packets after an ASYNC and a VERSION 3, without the nibble that fills the last byte.
fn after_sync(text: &str) -> Vec<Packet> {
    let all = parse(&bytes(&format!("{SYNC}f003{text}")), 100).packets;
    let mut all: Vec<_> = all.into_iter().skip(2).map(|(_, _, packet)| packet).collect();
    if text.replace(' ', "").len() % 2 == 1 && all.last() == Some(&Packet::Null { timestamp: None }) {
        all.pop();
    }
    all
}

fn data(size: Size, value: u64, marked: bool, timestamp: Option<(u64, u8)>) -> Packet {
    let timestamp = timestamp.map(|(value, told)| Timestamp { value, told });
    Packet::Data { size, value, marked, timestamp }
}

#[test]
fn packets_of_the_specification() {
    use Size::*;
    let time = |value, told| Some(Timestamp { value, told });
    for (text, expected) in [
        ("0", Packet::Null { timestamp: None }),
        ("f01 212", Packet::Null { timestamp: time(0x12, 8) }),
        ("1 a5", Packet::Master { number: 0xa5, wide: false }),
        ("f1 12a5", Packet::Master { number: 0x12a5, wide: true }),
        ("3 5a", Packet::Channel { number: 0x5a, wide: false }),
        ("f3 1234", Packet::Channel { number: 0x1234, wide: true }),
        ("c 9", data(Bits4, 9, false, None)),
        ("4 9a", data(Bits8, 0x9a, false, None)),
        ("5 9abc", data(Bits16, 0x9abc, false, None)),
        ("6 9abcdef0", data(Bits32, 0x9abc_def0, false, None)),
        ("7 123456789abcdef0", data(Bits64, 0x1234_5678_9abc_def0, false, None)),
        ("fd 9", data(Bits4, 9, true, None)),
        ("f8 9a", data(Bits8, 0x9a, true, None)),
        ("f9 9abc", data(Bits16, 0x9abc, true, None)),
        ("fa 9abcdef0", data(Bits32, 0x9abc_def0, true, None)),
        ("fb 123456789abcdef0", data(Bits64, 0x1234_5678_9abc_def0, true, None)),
        ("fc 9 0", data(Bits4, 9, false, Some((0, 0)))),
        ("f4 9a 17", data(Bits8, 0x9a, false, Some((7, 4)))),
        ("f5 9abc c123456789abc", data(Bits16, 0x9abc, false, Some((0x1234_5678_9abc, 48)))),
        ("f6 9abcdef0 d123456789abcde", data(Bits32, 0x9abc_def0, false, Some((0x12_3456_789a_bcde, 56)))),
        (
            "f7 123456789abcdef0 e0fedcba987654321",
            data(Bits64, 0x1234_5678_9abc_def0, false, Some((0x0fed_cba9_8765_4321, 64))),
        ),
        ("d 9 17", data(Bits4, 9, true, Some((7, 4)))),
        ("8 9a 17", data(Bits8, 0x9a, true, Some((7, 4)))),
        ("9 9abc 17", data(Bits16, 0x9abc, true, Some((7, 4)))),
        ("a 9abcdef0 17", data(Bits32, 0x9abc_def0, true, Some((7, 4)))),
        ("b 123456789abcdef0 17", data(Bits64, 0x1234_5678_9abc_def0, true, Some((7, 4)))),
        ("fe", Packet::Flag { timestamp: None }),
        ("e 212", Packet::Flag { timestamp: time(0x12, 8) }),
        ("f06 a5", Packet::Trigger { value: 0xa5, timestamp: None }),
        ("f07 a5 212", Packet::Trigger { value: 0xa5, timestamp: time(0x12, 8) }),
        ("f02 2 abc", Packet::User { nibbles: 3, value: 0xabc, timestamp: None }),
        ("f03 0 a 17", Packet::User { nibbles: 1, value: 0xa, timestamp: time(7, 4) }),
        ("f08 0124f800", Packet::Frequency { hertz: 19_200_000, timestamp: None }),
        ("f09 0124f800 17", Packet::Frequency { hertz: 19_200_000, timestamp: time(7, 4) }),
        ("f0a 42", Packet::CrossSync { value: 0x42, timestamp: None }),
        ("f0b 42 17", Packet::CrossSync { value: 0x42, timestamp: time(7, 4) }),
        ("2 81", Packet::MasterError(0x81)),
        ("f2 82", Packet::GlobalError(0x82)),
        ("f004", Packet::Version(Encoding::Gray)),
        (SYNC, Packet::Async { ones: 21 }),
        ("ffffffffffffffffffffffff0", Packet::Async { ones: 24 }),
    ] {
        // At the start and in the middle of a byte.
        for before in ["", "0"] {
            let found = after_sync(&format!("{before}{text}c4"));
            let last = data(Bits4, 4, false, None);
            assert_eq!(found[found.len() - 2..], [expected, last], "{before}{text}");
            let mut again = Nibbles::new();
            expected.write(Encoding::Natural, &mut again);
            assert_eq!(again.bytes(), bytes(text), "{text}");
        }
    }
}

#[test]
fn packets_change_what_later_ones_mean() {
    let number = |packets: Vec<Packet>| match packets.last() {
        Some(Packet::Master { number, .. } | Packet::Channel { number, .. }) => *number,
        other => panic!("{other:?}"),
    };
    assert_eq!(number(after_sync("f1 1234 156")), 0x1256);
    assert_eq!(number(after_sync("f3 1234 356")), 0x1256);
    assert_eq!(number(after_sync("f3 1234 112 356")), 0x56);
    assert_eq!(number(after_sync("f3 1234 200 356")), 0x56);
    assert_eq!(number(after_sync("f3 1234 f003 356")), 0x56);
    assert_eq!(number(after_sync("f1 1234 f200 156")), 0x56);
    let time = |packets: Vec<Packet>| packets.last().unwrap().timestamp().unwrap().value;
    assert_eq!(time(after_sync("e4 1234 e1 5")), 0x1235);
    // 0x1234 in Gray code is 0x1b2e.
    assert_eq!(time(after_sync("f004 e4 1b2e e1 f")), 0x1235);
}

#[test]
fn bad_nibbles_are_values() {
    let time = |kind| Packet::Malformed { kind };
    for (text, bad, nibbles) in [
        ("f05", Packet::Reserved { header: 0xf05 }, 3),
        ("f0f", Packet::Reserved { header: 0xf0f }, 2),
        ("f00 5", time(Kind::Version), 4),
        ("412 e f", time(Kind::FlagTs), 1),
        ("a 12345678 f", time(Kind::D32Mts), 9),
        ("ffffff1", time(Kind::Async), 7),
    ] {
        let found = after_sync(&format!("{text}123{SYNC}f003 c1"));
        let at = found.iter().position(|packet| *packet == bad).unwrap_or_else(|| panic!("{found:?}"));
        assert!(matches!(found[at + 1], Packet::NotSync { .. }), "{found:?}");
        assert_eq!(found[at + 2], Packet::Async { ones: 21 });
        let all = parse(&bytes(&format!("{SYNC}f003{text}123{SYNC}f003 c1")), 1).packets;
        assert_eq!(all.iter().find(|(.., packet)| *packet == bad).unwrap().0.nibbles, nibbles, "{text}");
    }
    // Without a VERSION nobody knows what a timestamp means.
    let all = parse(&bytes(&format!("{SYNC}e10")), 7).packets;
    assert_eq!(all[1].2, time(Kind::FlagTs));
    for (text, kind) in [("f0", None), ("f", None), ("f0812", Some(Kind::Freq)), ("612", Some(Kind::D32))] {
        assert_eq!(after_sync(text).last(), Some(&Packet::Incomplete { kind }), "{text}");
    }
}

#[test]
fn listing_lines() {
    let line = |text: &str| {
        let packet = *after_sync(text).last().unwrap();
        let mut line = String::new();
        opencsd::write(&mut line, &packet, None).unwrap();
        line
    };
    assert_eq!(line("141"), "M8:Set current master; Master=0x41");
    assert_eq!(line("6 ffffffc0"), "D32:32 bit data; Data=0xffffffc0");
    assert_eq!(line("fa 01021010"), "D32M:32 bit data + marker; Data=0x01021010");
    assert_eq!(
        line("f6 00359ff8 e000000357e74176e"),
        "D32TS:32 bit data + timestamp; Data=0x00359ff8; TS=0x000000357E74176E ~[0x357E74176E]"
    );
    assert_eq!(
        line("ee00000003aeb284c9"),
        "FLAGTS:Flag packet + timestamp; TS=0x00000003AEB284C9 ~[0x3AEB284C9]"
    );
    assert_eq!(line("61818"), "INCOMPLETE_EOT:Incomplete packet flushed at end of trace[D32]");
}

/// A random packet. Timestamps in Gray code have `gray` bits.
pub(in crate::stm) fn random(rng: &mut Rng, state: &State, gray: u32) -> Packet {
    let encoding = state.encoding.unwrap_or(Encoding::Natural);
    let mask = if encoding == Encoding::Gray { u64::MAX >> (64 - gray) } else { u64::MAX };
    let value = (state.timestamp ^ rng.next_u64() >> rng.below(64)) & mask;
    let time = Timestamp::shortest(value, state.timestamp, encoding);
    let timestamp = (rng.below(2) == 0).then_some(time);
    let (byte, short) = (rng.next_u64() as u8, rng.next_u64() as u16);
    match rng.below(16) {
        0 => Packet::Null { timestamp },
        1 => Packet::Master { number: short, wide: true },
        2 => Packet::Master { number: state.master & 0xff00 | u16::from(byte), wide: false },
        3 => Packet::Channel { number: short, wide: true },
        4 => Packet::Channel { number: state.channel & 0xff00 | u16::from(byte), wide: false },
        5 => Packet::Flag { timestamp },
        6 => Packet::Trigger { value: byte, timestamp },
        7 => {
            let nibbles = 1 + rng.below(16) as u8;
            Packet::User { nibbles, value: rng.next_u64() >> (64 - 4 * nibbles), timestamp }
        }
        8 => Packet::Frequency { hertz: rng.next_u64() as u32, timestamp },
        9 => Packet::CrossSync { value: byte, timestamp },
        10 => Packet::MasterError(byte),
        11 => Packet::GlobalError(byte),
        12 => Packet::Version(if byte & 1 == 0 { Encoding::Natural } else { Encoding::Gray }),
        13 => Packet::Async { ones: 21 + rng.below(12) as u8 },
        _ => {
            let size = *rng.pick(&Size::ALL);
            let value = rng.next_u64() >> (64 - size.bits());
            Packet::Data { size, value, marked: byte & 1 == 0, timestamp }
        }
    }
}

#[test]
fn written_packets_are_read_in_any_chunks() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let (mut state, mut out, mut packets) = (State::default(), Nibbles::new(), Vec::new());
        let first = [Packet::Async { ones: 21 }, Packet::Version(Encoding::Natural)];
        for index in 0..60 {
            let packet = first.get(index).copied().unwrap_or_else(|| random(&mut rng, &state, 64));
            packet.write(state.encoding.unwrap_or(Encoding::Natural), &mut out);
            state.apply(&packet);
            packets.push(packet);
        }
        // The last byte must be whole.
        if out.len() % 2 == 1 {
            out.push(0);
            packets.push(Packet::Null { timestamp: None });
        }
        let whole = parse(out.bytes(), usize::MAX);
        let found: Vec<Packet> = whole.packets.iter().map(|(.., packet)| *packet).collect();
        assert_eq!(found, packets, "seed {seed}");
        for chunk in [1, 2, 3, 7, 19, 20, 21, 64] {
            assert_eq!(parse(out.bytes(), chunk), whole, "seed {seed}, chunks of {chunk}");
        }
        // What is read is written as it was.
        let (mut again, mut state) = (Nibbles::new(), State::default());
        for packet in &found {
            packet.write(state.encoding.unwrap_or(Encoding::Natural), &mut again);
            state.apply(packet);
        }
        assert_eq!(again.bytes(), out.bytes());
    }
}
