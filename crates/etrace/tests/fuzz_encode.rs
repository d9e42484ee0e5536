//! Fuzzing of the encoder and the readers of its input. Each body is a plain function, for `cargo test` and
//! for a fuzzer.

use tracewright_core::port::{self, Rate, WhenFull};
use tracewright_etrace::encode::{Comparator, Config, Encoder, Filter, Port, Quirks, Resync, ResyncMode};
use tracewright_etrace::ingress::csv::{self, Reader, Retirement};
use tracewright_etrace::ingress::{
    CType, Commit, Common, Connector, Entry, ITypeWidth, MAX_PORTS, Operation, TrapSignals,
};
use tracewright_etrace::packet::{self, Packet, PayloadBytes};
use tracewright_etrace::{Options, stream};
use tracewright_isa::riscv::{IType, Xlen, decode};
use tracewright_testkit::Rng;
use tracewright_testkit::etrace::{any_options, any_params};

fn any_encoder(rng: &mut Rng) -> Config {
    let params = any_params(rng);
    let options = any_options(rng, &params);
    let modes = [ResyncMode::Off, ResyncMode::Packets, ResyncMode::Cycles, ResyncMode::HalfWords];
    let resync = Resync { mode: *rng.pick(&modes), max: rng.below(3) as u8, anywhere: rng.one_in(3) };
    let mut filter = Filter::default();
    if rng.one_in(3) {
        filter.privilege = Comparator::Range(0, rng.below(4));
        filter.itype = if rng.one_in(2) { Comparator::Off } else { Comparator::Range(0, rng.below(16)) };
    }
    let port = rng.one_in(3).then(|| {
        let rate = Rate::new(1 + rng.below(24) as u32, 1 + rng.below(3) as u32).unwrap();
        let when_full = *rng.pick(&[WhenFull::Stall, WhenFull::Drop]);
        Port {
            port: port::Port { rate, bits: rng.below(800), when_full },
            stream: stream::Config { params: params.clone(), options, ..stream::Config::default() },
            source: 0,
            align: rng.below(5) as u32,
        }
    });
    let quirks = *rng.pick(&[Quirks::default(), Quirks::default(), Quirks::REFERENCE, Quirks::C_CODEC]);
    Config { params, options, resync, filter, port, shallow: rng.one_in(4), data: None, quirks }
}

/// Returns an entry from any bytes. Most entries continue where the last one ended.
fn entry(bytes: &[u8; 16], before: &Entry) -> Entry {
    let [kind, bits, size, more, address @ .., time, cycles] = *bytes;
    let address =
        u64::from_le_bytes([address[0], address[1], address[2], address[3], address[4], address[5], 0, 0]);
    let iaddr = if more & 3 == 0 { address.rotate_right(8) } else { before.end() };
    Entry {
        itype: IType::from_number(kind & 15).unwrap_or(IType::None),
        cause: u64::from(kind) << 3 | u64::from(more & 7),
        tval: address << 13,
        privilege: if bits & 0x30 == 0 { [0, 1, 3, 3][usize::from(bits & 3)] } else { before.privilege },
        iaddr,
        context: if bits & 0xc0 == 0 { address } else { before.context },
        ctype: CType::from_number(bits & 3).unwrap_or_default(),
        time: u64::from(time) << 40 | before.time,
        iretire: u32::from(size & 15),
        ilastsize: size >> 4 & 3,
        sijump: more & 0x40 != 0,
        cycle: before.cycle.wrapping_add(u64::from(cycles)),
        notify: more & 0x38 == 0,
    }
}

/// Encodes any entries in any configuration, switched on and off at times. Every packet has a payload and is
/// read back from it.
pub fn entries(data: &[u8]) {
    let Some((seed, bytes)) = data.split_first_chunk() else { return };
    let mut rng = Rng::new(u64::from_le_bytes(*seed));
    let config = any_encoder(&mut rng);
    let params = config.params.clone();
    let has_room = config.port.as_ref().is_none_or(|port| port.port.bits >= port.least());
    let mut encoder = Encoder::new(config);
    let mut options = Options::default();
    let mut payload = PayloadBytes::default();
    let mut out = |packet: &Packet| {
        if let Packet::Support(support) = packet {
            options = support.ioptions;
        }
        packet::emit(packet, &params, &mut payload).unwrap();
        assert_eq!(packet::parse(&payload, &params, &options), Ok(*packet), "{params:?}");
    };
    let mut before = Entry::NOTHING;
    for bytes in bytes.as_chunks().0 {
        before = entry(bytes, &before);
        encoder.entry(&before, &mut out);
        match rng.below(200) {
            0 => encoder.halt(&mut out),
            1 => encoder.enable(false, &mut out),
            2 => encoder.enable(true, &mut out),
            3 => encoder.set_options(any_options(&mut rng, &encoder.params().clone()), &mut out),
            4 => encoder.set_filter(Filter::default()),
            _ => {}
        }
    }
    encoder.finish(&mut out);
    let stats = encoder.port_stats();
    assert!(stats.stall_cycles == 0 || stats.refused == 0);
    assert!(!(has_room && encoder.is_lost()), "{stats:?}");
}

/// Reads any text as encoder input. Reading terminates, and the entries are written and read again. The first
/// byte chooses the form.
pub fn input(data: &[u8]) {
    let Some((&form, text)) = data.split_first() else { return };
    let retirement = if form & 1 == 0 { Retirement::Instruction } else { Retirement::Block };
    let Ok(reader) = Reader::new(text, retirement) else { return };
    let mut written = Vec::new();
    csv::write_header(1, &mut written);
    let lines = text.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
    let mut entries = Vec::new();
    for read in reader {
        match read {
            Ok(entry) => {
                csv::write_row(&[entry], 1, Retirement::Block, &mut written);
                entries.push(entry);
            }
            Err(error) => assert!(error.line > 1 && error.line <= lines, "{error}"),
        }
    }
    let again = Reader::new(&written, Retirement::Block).unwrap().map(Result::unwrap);
    // A cycle is a line.
    for (at, (read, entry)) in again.zip(&entries).enumerate() {
        assert_eq!(read, Entry { cycle: at as u64 + 1, ..*entry });
    }
}

/// Drives commit ports with anything. All that was committed comes out, in blocks that are contiguous.
pub fn ports(data: &[u8]) {
    let Some((&form, bytes)) = data.split_first() else { return };
    let width = if form & 1 == 0 { ITypeWidth::Three } else { ITypeWidth::Four };
    let most = u32::from(form >> 5);
    let mut connector = Connector::new(width, most);
    let ports = 1 + usize::from(form >> 1) % MAX_PORTS;
    let (mut committed, mut told) = (0, 0);
    let mut count = |entries: &[Entry]| {
        for entry in entries {
            // A block with one instruction may exceed the limit.
            assert!(most == 0 || entry.iretire <= most.max(2), "{entry:?}");
            told += u64::from(entry.iretire);
        }
    };
    let mut pc = 0x1000u64;
    for bytes in bytes.as_chunks::<8>().0 {
        let mut commits = [Commit::default(); MAX_PORTS];
        let bits = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        for (at, commit) in commits[..ports].iter_mut().enumerate() {
            let instruction = decode(Xlen::Rv64, bits.rotate_left(at as u32 * 5));
            *commit = Commit {
                valid: bytes[4] >> at & 1 == 0,
                pc,
                compressed: bytes[5] >> at & 1 == 0,
                operation: Operation::of(&instruction, bytes[6] >> at & 1 == 0),
                notify: bytes[7] == at as u8,
            };
            if commit.valid {
                let size = if commit.compressed { 1 } else { 2 };
                committed += size;
                pc = if bytes[7] >> 5 == 0 { u64::from(bits) & !1 } else { pc + 2 * size };
            }
        }
        let trap = (bytes[7] & 0x18 == 0).then(|| TrapSignals { pc, ..TrapSignals::default() });
        let common = Common { trap, privilege: bytes[7] >> 7, ..Common::default() };
        count(connector.cycle(&commits[..ports], &common));
    }
    count(connector.finish());
    assert_eq!(committed, told);
}

#[test]
fn entries_of_anything() {
    for seed in 0..4000 {
        let mut rng = Rng::new(seed);
        entries(&rng.bytes_below(1600));
    }
}

#[test]
fn ports_with_anything() {
    for seed in 0..4000 {
        let mut rng = Rng::new(seed);
        ports(&rng.bytes_below(400));
    }
}

/// Encoder input of one port, with blocks.
pub const GOOD: &str = "itype_0,cause,tval,priv,iaddr_0,context,ctype,iretire_0,ilastsize_0\n\
    0,0,0,3,1000,0,0,1,1\n5,0,0,3,1004,0,0,1,0\r\n\n1,2,ff,3,1006,7,2,0,0\n";

/// Encoder input of two ports.
pub const PORTS: &str = "iretire_1,itype_0,itype_1,cause,tval,priv,iaddr_1,iaddr_0,iretire_0,ilastsize_0,ilastsize_1,sijump_1\n\
    1,0,10,0,0,0,80000000,ffffffff80000000,4,1,1,1\n";

#[test]
fn input_of_anything() {
    for seed in 0..4000 {
        let mut rng = Rng::new(seed);
        let mut text = rng.pick(&[GOOD, PORTS]).as_bytes().to_vec();
        for _ in 0..rng.below(4) {
            let at = rng.below(text.len() as u64) as usize;
            match rng.below(3) {
                0 => text[at] = *rng.pick(b",\n0159af_x\xff"),
                1 => drop(text.remove(at)),
                _ => text.insert(at, *rng.pick(b",\n0159af_x")),
            }
        }
        text.insert(0, seed as u8);
        input(&text);
    }
}
