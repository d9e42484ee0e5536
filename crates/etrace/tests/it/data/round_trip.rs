//! Accesses to packets, packets to bytes, and back.

use tracewright_core::{DataAccess, DataKind};
use tracewright_etrace::data::{
    Decoder, Dialect, Diff, Encoder, Options, Packet, Response, Transfer, Value, emit, parse,
};
use tracewright_etrace::stream::{Config, Content, Encapsulation, Parser, Writer};
use tracewright_etrace::{Params, packet};
use tracewright_testkit::Rng;
use tracewright_testkit::etrace::read;

use super::{programs, random};

/// Returns the part of an access that is in the trace; `None` for nothing.
fn traced(params: &Params, options: &Options, access: &DataAccess) -> Option<DataAccess> {
    if !Encoder::tells(params, options, access.kind, access.size) {
        return None;
    }
    let mut traced = *access;
    let is_csr = matches!(access.kind, DataKind::Csr(_));
    if params.data_dialect == Dialect::Reference && !options.no_data {
        let is_written = matches!(access.kind, DataKind::Atomic(_)) || is_csr && access.address? >> 10 != 3;
        if is_written {
            traced.value = Some(access.stored()?);
            traced.after = true;
        }
    }
    if options.no_address && !is_csr {
        traced.address = None;
    }
    if options.no_data {
        (traced.value, traced.operand) = (None, None);
    }
    Some(traced)
}

fn synchronisation() -> packet::Packet {
    packet::Packet::Start(packet::Start::default())
}

fn support(options: Options) -> packet::Packet {
    packet::Packet::Support(packet::Support { denable: true, doptions: options, ..Default::default() })
}

/// Encodes runs of our hart to a stream beside instruction trace, and decodes it in chunks.
#[test]
fn accesses_of_programs_come_back() {
    for (seed, run) in (0..).zip(programs::runs()) {
        let name = run.name;
        let mut rng = Rng::new(seed);
        let params = Params { csr_width: run.xlen(), ..Params::default() };
        for encapsulation in
            [Encapsulation::Smi, Encapsulation::Standard { source_bits: 5, timestamp_bytes: 2, type_bits: 1 }]
        {
            let options = random::options(&mut rng);
            let config = Config { params: params.clone(), encapsulation, data: options, ..Config::default() };
            let mut writer = Writer::new(config.clone());
            let mut encoder = Encoder::new(&params, options);
            let (mut bytes, mut expected) = (Vec::new(), Vec::new());
            writer.alignment(&mut bytes);
            for step in &run.steps {
                if rng.one_in(500) {
                    writer.instruction(3, None, &synchronisation(), &mut bytes).unwrap();
                    encoder.sync();
                }
                if let Some(access) = step.access {
                    encoder
                        .access(&access, &mut |packet| writer.data(3, Some(7), packet, &mut bytes).unwrap());
                    expected.extend(traced(&params, &options, &access));
                }
            }
            let mut decoder = Decoder::new(&params, options);
            let mut found = Vec::new();
            for (.., message) in read(Parser::new(config), rng.chunks(&bytes)) {
                match &message.content {
                    Content::Instruction(packet) => assert!(!decoder.instruction(packet, &mut |_| {})),
                    Content::Data(packet) => found.extend(decoder.packet(packet)),
                    Content::Idle | Content::Alignment => {}
                    other => panic!("{other:?}"),
                }
            }
            assert!(expected.len() > 1_000, "{name}: {}", expected.len());
            assert_eq!(found, expected, "{name}");
        }
    }
}

#[test]
fn accesses_come_back() {
    let (mut told, mut bytes) = (0, 0);
    for seed in 0..1_000 {
        let mut rng = Rng::new(seed);
        let params = random::params(&mut rng);
        let mut options = random::options(&mut rng);
        let mut encoder = Encoder::new(&params, options);
        let mut decoder = Decoder::new(&params, options);
        for access in random::accesses(&mut rng, &params, 200) {
            if rng.one_in(50) {
                encoder.sync();
                assert!(!decoder.instruction(&synchronisation(), &mut |_| {}));
            }
            if rng.one_in(80) {
                options = random::options(&mut rng);
                encoder.support(options);
                assert!(!decoder.instruction(&support(options), &mut |_| {}));
            }
            let expected = traced(&params, &options, &access);
            let mut packets = Vec::new();
            let sent = encoder.access(&access, &mut |packet| packets.push(*packet));
            assert_eq!(sent, expected.is_some(), "seed {seed}: {access}");
            let mut found = Vec::new();
            for packet in &packets {
                let payload = emit(packet, &params);
                let read = parse(payload.as_bytes(), &params, &options);
                assert_eq!(read, Ok(*packet), "seed {seed}: {access}");
                found.extend(decoder.packet(packet));
                bytes += payload.as_bytes().len();
            }
            assert_eq!(found, Vec::from_iter(expected), "seed {seed}: {params:?} {options:?} {packets:?}");
            told += found.len();
        }
    }
    assert!(told > 100_000 && bytes > 500_000, "{told} {bytes}");
}

/// Returns a split load of one byte with request number 0, and its response.
fn split_load() -> (Params, Packet, Packet) {
    let params = Params { split_loads: true, lrid_width: 1, ..Params::default() };
    let (size, lrid) = (0, 0);
    let request = Transfer {
        store: false,
        multiple: false,
        aligned: true,
        size,
        lrid: Some(lrid),
        diff: Diff::Full,
        data: None,
        address: Some(0x40),
    };
    let value = Value { len: params.data_width / 8, bits: 135 };
    let answer = Response { size, lrid, data: Some((Diff::Full, value)) };
    (params, Packet::Transfer(request), Packet::Response(answer))
}

fn load(value: Option<u64>) -> DataAccess {
    let kind = DataKind::Load;
    DataAccess { kind, size: 1, address: Some(0x40), value, operand: None, after: false }
}

/// Values are switched off between the two halves of a load: the load keeps its value, and an encoder without
/// values sends the same load without it.
#[test]
fn a_load_is_answered_after_values_are_switched_off() {
    let (params, request, answer) = split_load();
    let mut decoder = Decoder::new(&params, Options::default());
    assert_eq!(decoder.packet(&request), None);
    let no_data = Options { no_data: true, ..Options::default() };
    assert!(!decoder.instruction(&support(no_data), &mut |access| panic!("{access}: its answer may come")));
    assert_eq!(decoder.packet(&answer), Some(load(Some(135))));

    let (mut encoder, mut decoder) = (Encoder::new(&params, no_data), Decoder::new(&params, no_data));
    let mut told = Vec::new();
    assert!(encoder.access(&load(Some(135)), &mut |packet| told.extend(decoder.packet(packet))));
    assert_eq!(told, [load(None)]);
}

/// Emits loads whose second half is lost, or does not come before the end.
#[test]
fn a_load_without_an_answer_is_told() {
    let (params, request, answer) = split_load();
    let lost = packet::Support { dloss: true, ..Default::default() };
    let mut told = Vec::new();
    let mut decoder = Decoder::new(&params, Options::default());
    assert_eq!(decoder.packet(&request), None);
    assert!(decoder.instruction(&packet::Packet::Support(lost), &mut |access| told.push(*access)));
    assert_eq!(told, [load(None)]);
    // Only once.
    decoder.lose(&mut |access| panic!("{access} is told again"));
    assert_eq!(decoder.packet(&answer), Some(DataAccess { address: None, ..load(Some(135)) }));
    assert_eq!(decoder.packet(&request), None);
    decoder.lose(&mut |access| told.push(*access));
    assert_eq!(told, [load(None), load(None)]);
}

#[test]
fn what_is_written_is_read() {
    for seed in 0..2_000 {
        let mut rng = Rng::new(seed);
        let params = random::params(&mut rng);
        let options = random::options(&mut rng);
        for _ in 0..50 {
            let packet = random::packet(&mut rng, &params, &options);
            let payload = emit(&packet, &params);
            let read = parse(payload.as_bytes(), &params, &options);
            assert_eq!(read, Ok(packet), "seed {seed}: {params:?} {options:?} {:02x?}", payload.as_bytes());
        }
    }
}

/// Reads bytes that are exactly one packet, and writes the same bytes.
#[test]
fn what_is_read_is_written() {
    let mut read = 0;
    for seed in 0..20_000 {
        let mut rng = Rng::new(seed);
        let params = random::params(&mut rng);
        let options = random::options(&mut rng);
        let most = *rng.pick(&[4, 8, 26]);
        let len = 1 + rng.below(most) as usize;
        let bytes = rng.bytes(len);
        let Ok(packet) = parse(&bytes, &params, &options) else { continue };
        read += 1;
        let payload = emit(&packet, &params);
        assert_eq!(parse(payload.as_bytes(), &params, &options), Ok(packet), "seed {seed}");
        // The written bytes differ only in meaningless bits: above the last field, and where the last bit
        // repeats.
        let sent = payload.bits().min(8 * len);
        for bit in 0..sent {
            let at = |bytes: &[u8]| bytes[bit / 8] >> (bit % 8) & 1;
            assert_eq!(at(&bytes), at(payload.as_bytes()), "seed {seed}, bit {bit}: {packet}");
        }
        assert!(payload.as_bytes().len() <= 26);
    }
    assert!(read > 5_000, "{read}");
}
