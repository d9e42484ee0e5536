//! The encoder compared with the C codec of 2021, with options: the same input gives the same packets.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tracewright_etrace::encode::{Config, Encoder, Quirks, Resync, ResyncMode};
use tracewright_etrace::ingress::csv::{Reader, Retirement};
use tracewright_etrace::packet::{BranchMap, Packet};
use tracewright_etrace::{Options, Params};
use tracewright_testkit::etrace::text;
use tracewright_testkit::{captures_for, skip};

/// Row of the codec's tables. Columns that the packet does not have are left out, because the codec writes
/// what it would have sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Row {
    format: u8,
    subformat: Option<u8>,
    address: Option<u64>,
    branches: u8,
    map: u32,
    branch: bool,
    updiscon: bool,
    count: u64,
    branch_fmt: Option<u8>,
    index: Option<u32>,
}

fn rows(csv: &str) -> Vec<Row> {
    let mut lines = csv.lines();
    let header = "format,subformat,address,branches,branch_map,branch,updiscon,irfail,irdepth,correct_predictions,branch_fmt,jtc_index";
    assert_eq!(lines.next(), Some(header));
    lines.map(row).collect()
}

fn row(line: &str) -> Row {
    let fields: Vec<&str> = line.split(',').collect();
    let number = |at: usize| fields[at].parse::<i64>().unwrap();
    let hex = |at: usize| u64::from_str_radix(fields[at], 16).unwrap();
    let (format, subformat) = (number(0) as u8, (number(1) >= 0).then(|| number(1) as u8));
    // Neither is ever reported.
    assert_eq!((number(7), number(8)), (0, 0));
    let branch_fmt = (number(10) >= 0).then(|| number(10) as u8);
    let address = match (format, subformat) {
        (3, Some(0)) | (2, _) => true,
        (1, _) => number(3) != 0,
        (0, Some(0)) => branch_fmt != Some(0),
        _ => false,
    };
    let is_index = (format, subformat) == (0, Some(1));
    Row {
        format,
        subformat,
        address: address.then(|| hex(2)),
        branches: number(3) as u8,
        map: hex(4) as u32,
        branch: number(5) != 0,
        updiscon: number(6) != 0,
        count: number(9) as u64,
        branch_fmt,
        index: is_index.then(|| number(11) as u32),
    }
}

/// Converts our packet to such a row.
fn as_row(packet: &Packet) -> Row {
    let with = |map: BranchMap, row: Row| Row { branches: map.count() as u8, map: map.bits(), ..row };
    // Addresses lack their lowest bit; differences are signed.
    let shown = |value: u64| Some((value as i64 >> 1) as u64);
    match *packet {
        Packet::Start(start) => Row {
            format: 3,
            subformat: Some(0),
            address: shown(start.address),
            branch: !start.taken,
            ..Row::default()
        },
        Packet::Support(_) => Row { format: 3, subformat: Some(3), ..Row::default() },
        Packet::Address(address) => {
            Row { format: 2, address: shown(address.value), updiscon: address.updiscon, ..Row::default() }
        }
        Packet::Branches(map, Some(address)) => with(
            map,
            Row { format: 1, address: shown(address.value), updiscon: address.updiscon, ..Row::default() },
        ),
        Packet::Branches(map, None) => Row { format: 1, map: map.bits(), ..Row::default() },
        Packet::BranchCount(count) => Row {
            format: 0,
            subformat: Some(0),
            address: count.address.and_then(|address| shown(address.value)),
            updiscon: count.address.is_some_and(|address| address.updiscon),
            count: count.count,
            branch_fmt: Some(match (count.address, count.failed) {
                (None, _) => 0,
                (Some(_), false) => 2,
                (Some(_), true) => 3,
            }),
            ..Row::default()
        },
        Packet::JumpTarget { index, branches, .. } => {
            with(branches, Row { format: 0, subformat: Some(1), index: Some(index), ..Row::default() })
        }
        Packet::Trap(_) | Packet::Context(_) => panic!("the codec sends none of these: {packet:?}"),
    }
}

fn config(letters: &str) -> Config {
    let has = |letter| letters != "base" && letters.contains(letter);
    Config {
        params: Params { bpred_size: 7, cache_size: 7, call_counter_size: 7, ..Params::default() },
        options: Options {
            full_address: has('f'),
            implicit_return: has('i'),
            branch_prediction: has('b'),
            jump_target_cache: has('j'),
            ..Options::default()
        },
        resync: Resync { mode: ResyncMode::Packets, max: 12, anywhere: true },
        quirks: Quirks::C_CODEC,
        ..Config::default()
    }
}

/// Returns the tables of a program with the letters of their options.
fn tables(folder: &Path) -> BTreeMap<String, Vec<(String, PathBuf)>> {
    let mut tables: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if let Some((program, letters)) =
            name.strip_suffix(".packets.csv.xz").and_then(|name| name.rsplit_once('.'))
        {
            tables.entry(program.to_owned()).or_default().push((letters.to_owned(), path.clone()));
        }
    }
    tables
}

#[test]
fn packets_are_those_of_the_c_codec() {
    let Some(captures) = captures_for("packets_are_those_of_the_c_codec", "") else { return };
    let etrace = captures.join("riscv/etrace");
    let mut compared = 0;
    for (program, tables) in tables(&etrace.join("c_codec_options")) {
        let Some(input) = text(&etrace.join(format!("itype4_basic/{program}.encoder_input.xz"))) else {
            return skip("packets_are_those_of_the_c_codec", "no xz");
        };
        let reader = Reader::new(input.as_bytes(), Retirement::Instruction).unwrap();
        let entries: Vec<_> = reader.map(Result::unwrap).collect();
        for (letters, path) in tables {
            let theirs = rows(&text(&path).unwrap());
            let mut encoder = Encoder::new(config(&letters));
            let mut ours = Vec::new();
            let mut out = |packet: &Packet| ours.push(as_row(packet));
            entries.iter().for_each(|entry| encoder.entry(entry, &mut out));
            encoder.finish(&mut out);
            if let Some(at) = (0..ours.len().max(theirs.len())).find(|&at| ours.get(at) != theirs.get(at)) {
                let near = |rows: &[Row]| {
                    rows.iter().skip(at.saturating_sub(2)).take(4).copied().collect::<Vec<_>>()
                };
                let (ours, theirs) = (near(&ours), near(&theirs));
                panic!("{program} {letters}: packet {at}\nours:   {ours:x?}\ntheirs: {theirs:x?}");
            }
            compared += 1;
        }
    }
    assert!(compared >= 70, "{compared}");
}
