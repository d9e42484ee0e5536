//! Packets of the reference model: read to the fields it lists, decoded to the accesses it was given, and
//! encoded to the same bytes.

use std::path::Path;

use tracewright_core::{DataAccess, DataKind};
use tracewright_etrace::Params;
use tracewright_etrace::data::{
    Compression, Decoder, Dialect, Encoder, Options, Packet, Transfer, emit, parse,
};
use tracewright_testkit::{captures_for, unpacked};

const PROGRAMS: [&str; 5] = ["br_j_asm", "dhrystone", "median", "qsort", "towers"];

/// Folders, with the options in their support packets.
const FOLDERS: [(&str, Options); 4] = [
    ("basic", options(false, false, false)),
    ("debug", options(false, false, true)),
    ("no_address", options(true, false, false)),
    ("no_data", options(false, true, false)),
];

const fn options(no_address: bool, no_data: bool, full: bool) -> Options {
    Options { no_address, no_data, full_address: full, full_data: full }
}

/// Reads `hw_64.scf`, with which all programs were traced.
fn params(folder: &Path) -> Params {
    let text = std::fs::read_to_string(folder.join("hw_64.scf")).unwrap();
    let number = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_once('=').unwrap().1.trim().parse().unwrap()
    };
    let params = Params {
        daddress_width: number("daddress_width_p"),
        data_width: number("data_width_p"),
        dtype_width: number("dtype_width_p"),
        data_dialect: Dialect::Reference,
        ..Params::default()
    };
    assert_eq!(params.check(), Ok(()));
    params
}

/// Returns type and payload of each message. A byte with length and type precedes each.
fn messages(mut bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let mut messages = Vec::new();
    while let [header, rest @ ..] = bytes {
        let (payload, rest) = rest.split_at(usize::from(header & 0x1f));
        messages.push((header >> 5, payload));
        bytes = rest;
    }
    messages
}

/// Returns a line of the model's own list: format, size, diff, data_len, data, address.
fn line(packet: &Packet, params: &Params) -> String {
    let Packet::Transfer(Transfer { store, aligned, size, diff, data, address, .. }) = *packet else {
        panic!("{packet}");
    };
    let format = u8::from(store) << 1 | u8::from(!aligned);
    let hex = |value: u64, bits: u8| format!("{:x}", value & (u64::MAX >> (64 - bits)));
    let none = || "_".to_owned();
    let diff = if data.is_none() { u8::from(diff.is_address_difference()) } else { diff as u8 };
    let len = data.filter(|_| address.is_some()).map_or_else(none, |data| (data.len - 1).to_string());
    let data = data.map_or_else(none, |data| hex(data.bits, 8 * data.len));
    let address = address.map_or_else(none, |address| hex(address, params.daddress_width));
    format!("3,{format},_,{size},{diff},_,_,{len},{data},{address},_,_,_,_,_,_,_,_,_,_")
}

/// Parses the accesses that the model was given.
fn accesses(text: &str) -> Vec<DataAccess> {
    let access = |line: &str| {
        let mut columns = line.split(',');
        let mut number = |radix| u64::from_str_radix(columns.next().unwrap(), radix).unwrap();
        assert_eq!(number(10), 1);
        let kind = match number(10) {
            0 => DataKind::Load,
            1 => DataKind::Store,
            other => panic!("{other}"),
        };
        let address = Some(number(16));
        let size = 1 << number(10);
        DataAccess { kind, size, address, value: Some(number(16)), operand: None, after: false }
    };
    text.lines().skip(1).map(access).collect()
}

#[test]
fn packets_of_the_reference_model() {
    let test = "packets_of_the_reference_model";
    let Some(captures) = captures_for(test, "") else { return };
    let etrace = captures.join("riscv/etrace");
    let mut packets = 0;
    for (folder, options) in FOLDERS {
        let dir = etrace.join("dtype").join(folder);
        let params = params(&dir);
        for program in PROGRAMS {
            let name = format!("{folder}/{program}");
            let raw = std::fs::read(dir.join(format!("{program}.te_data_raw"))).unwrap();
            let list = unpacked(test, &dir.join(format!("{program}.te_data.csv.xz")));
            let spike = etrace.join(format!("spike_data_trace/{program}.spike_data_trace.xz"));
            let (Some(list), Some(spike)) = (list, unpacked(test, &spike)) else { return };
            let spike = accesses(&spike);

            // A support packet, followed only by data packets.
            let messages = messages(&raw);
            assert_eq!(messages.len(), 1 + spike.len(), "{name}");
            assert_eq!(list.lines().count(), 1 + messages.len(), "{name}");
            assert_eq!(messages[0].0, 2, "{name}");
            let mut decoder = Decoder::new(&params, options);
            let mut encoder = Encoder::new(&params, options);
            for (i, ((&(kind, payload), line), access)) in
                messages[1..].iter().zip(list.lines().skip(2)).zip(&spike).enumerate()
            {
                let name = format!("{name}, packet {i}");
                assert_eq!(kind, 3, "{name}");
                let packet = parse(payload, &params, &options).unwrap();
                assert_eq!(self::line(&packet, &params), line, "{name}");
                assert_eq!(emit(&packet, &params).as_bytes(), payload, "{name}");

                let mut told = *access;
                if options.no_address {
                    told.address = None;
                }
                if options.no_data {
                    told.value = None;
                }
                assert_eq!(decoder.packet(&packet), Some(told), "{name}");

                let mut sent = Vec::new();
                assert!(encoder.access(access, &mut |packet| sent.push(*packet)), "{name}");
                assert_eq!(sent, [packet], "{name}");
                packets += 1;
            }
        }
    }
    assert_eq!(packets, 4 * (718 + 81_995 + 6_007 + 74_380 + 7_684));
}

/// Returns the bytes of all payloads for these accesses, each of which is decoded again.
fn bytes(params: &Params, options: Options, accesses: &[DataAccess], name: &str) -> usize {
    let (mut encoder, mut decoder) = (Encoder::new(params, options), Decoder::new(params, options));
    let mut bytes = 0;
    for access in accesses {
        let mut found = None;
        let sent = encoder.access(access, &mut |packet| {
            bytes += emit(packet, params).as_bytes().len();
            found = decoder.packet(packet);
        });
        let mut told = *access;
        told.address = told.address.filter(|_| !options.no_address);
        told.value = told.value.filter(|_| !options.no_data);
        assert!(sent && found == Some(told), "{name}: {access}");
    }
    bytes
}

/// Checks the figures of `DIFFERENCES.md`: the specification's compressions need fewer bytes for the same
/// accesses.
#[test]
fn the_specification_is_shorter() {
    let test = "the_specification_is_shorter";
    let Some(captures) = captures_for(test, "") else { return };
    let etrace = captures.join("riscv/etrace");
    let mut spike = Vec::new();
    for program in PROGRAMS {
        let path = etrace.join(format!("spike_data_trace/{program}.spike_data_trace.xz"));
        let Some(text) = unpacked(test, &path) else { return };
        spike.push((program, accesses(&text)));
    }
    // The reference model; then with XOR, with differences, with both.
    let expected = [
        [983_357, 747_231, 720_298, 720_095],
        [1_632_647, 1_390_791, 1_390_791, 1_390_791],
        [510_975, 505_582, 493_968, 493_968],
        [282_352, 282_352, 282_352, 282_352],
    ];
    for ((folder, options), expected) in FOLDERS.into_iter().zip(expected) {
        let reference = params(&etrace.join("dtype").join(folder));
        let with = |data_compression| Params {
            data_compression,
            data_dialect: Dialect::Standard,
            ..reference.clone()
        };
        let encoders = [
            reference.clone(),
            with(Compression::Xor),
            with(Compression::Difference),
            with(Compression::Both),
        ];
        let sums = encoders.map(|params| {
            spike.iter().map(|(name, accesses)| bytes(&params, options, accesses, name)).sum::<usize>()
        });
        assert_eq!(sums, expected, "{folder}");
    }
}
