//! `--format csv`, read by Python's csv module: the same numbers as `--json`, and as what is decoded block by block.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::run::{TIMED, compiled, recorded, rows as list, run, string, values};
use serde_json::Value;
use tracewright_testkit::{Scratch, has_programs};

type Row = BTreeMap<String, String>;

/// What Python reads, strictly.
const READER: &str = "\
import csv, json, sys
sys.stdin.reconfigure(encoding='utf-8', newline='')
rows = list(csv.reader(sys.stdin, strict=True))
assert all(len(row) == len(rows[0]) for row in rows), 'rows of different lengths'
json.dump([dict(zip(rows[0], row)) for row in rows[1:]], sys.stdout)
";

/// The rows of a table, as Python reads them.
fn read(table: &str) -> Vec<Row> {
    let mut python = Command::new("python3")
        .args(["-c", READER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(table.as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success(), "{table}");
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    let row = |row: &Value| {
        let cells = row.as_object().unwrap().iter();
        cells.map(|(name, cell)| (name.clone(), cell.as_str().unwrap().to_owned())).collect()
    };
    rows.as_array().unwrap().iter().map(row).collect()
}

/// What JSON has, as CSV writes it.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// All columns that both have must be the same, row by row.
fn assert_same(what: &str, rows: &[Row], expected: &Value, columns: &[&str]) {
    let expected = expected.as_array().unwrap();
    assert!(!rows.is_empty() && rows.len() == expected.len(), "{what}: {} rows", rows.len());
    for (row, expected) in rows.iter().zip(expected) {
        for column in columns {
            assert_eq!(row[*column], cell(&expected[*column]), "{what}: {column} of {row:?}");
        }
        if expected.get("file").is_some() {
            let told = ["file", "line"].map(|column| cell(&expected[column]));
            assert_eq!([&row["file"], &row["line"]], [&told[0], &told[1]], "{what}: {row:?}");
        }
    }
}

fn rows(capture: &str, rows: &str) -> Vec<Row> {
    read(&run!("profile {capture} --format csv --rows {rows}").good())
}

/// The same with all that is known in order.
fn ordered(capture: &str, rows: &str) -> Vec<Row> {
    read(&run!("profile {capture} --format csv --rows {rows} --calls").good())
}

fn number(row: &Row, column: &str) -> u64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} of {row:?}"))
}

/// Names with commas and quotes, templates and operators.
const NAMES: &str = r#"
#include <cstdio>
template <int A, int B> __attribute__((noinline)) long both(long x) { asm volatile(""); return x * A + B; }
__attribute__((noinline)) long operator""_twice(unsigned long long x) { asm volatile(""); return x * 2; }
struct Pair { long a, b; };
__attribute__((noinline)) long operator,(Pair p, int n) { asm volatile(""); return p.a * n + p.b; }
int main()
{
    long sum = 0;
    for (int i = 0; i < 20; i++)
        sum += both<1, 2>(i) + both<3, 4>(i) + 5_twice + (Pair{i, 1}, i);
    return sum == 0;
}
"#;

#[test]
fn tables_are_those_of_json() {
    let test = "tables_are_those_of_json";
    if !has_programs(test, &["python3"]) {
        return;
    }
    let folder = Scratch::new("csv");
    let names = compiled(test, &folder.write("names.cc", NAMES.as_bytes()), "");
    // Without a compiler, only of C.
    for program in names.iter().map(String::as_str).chain(["sort"]) {
        let capture = recorded(&folder, program, TIMED);
        let all = run!("profile {capture} --calls --json").ends(0).json();
        let functions = ordered(&capture, "functions");
        let columns = ["function", "address", "calls", "instructions", "inclusive_instructions"];
        assert_same("functions", &functions, &all["functions"], &columns);
        assert_same("functions", &functions, &all["functions"], &["cycles", "inclusive_cycles"]);
        if program.ends_with("names") {
            let names: Vec<_> = functions.iter().map(|row| row["function"].as_str()).collect();
            let known = ["long both<1, 2>(long)", "operator,(Pair, int)"];
            assert!(known.iter().all(|name| names.contains(name)), "{names:?}");
            assert!(names.iter().any(|name| name.contains('"')), "{names:?}");
        }
        let columns = ["address", "depth", "irreducible", "entries", "trips", "trips_least", "trips_most"];
        assert_same("loops", &ordered(&capture, "loops"), &all["loops"], &columns);

        // JSON has the conditional ones, and indirect calls, in another order.
        let branches = rows(&capture, "branches");
        let conditional: HashMap<_, _> = branches.iter().map(|row| (row["address"].as_str(), row)).collect();
        for expected in list(&all, "branches") {
            let row = conditional[string(expected, "address")];
            assert!(row["kind"].starts_with("conditional "), "{row:?}");
            let row = std::slice::from_ref(row);
            let expected = Value::from(vec![expected.clone()]);
            assert_same("branches", row, &expected, &["function", "taken", "not_taken"]);
        }
        let edges = rows(&capture, "edges");
        for call in list(&all, "indirect_calls") {
            let here: Vec<_> = edges.iter().filter(|row| row["address"] == string(call, "address")).collect();
            assert_eq!(here.len(), list(call, "targets").len(), "{call}");
            for (row, target) in here.iter().zip(list(call, "targets")) {
                assert_eq!(row["kind"], "indirect call");
                assert_eq!(row["to_address"], cell(&target["address"]));
                assert_eq!(row["to_function"], cell(&target["function"]));
                assert_eq!(row["count"], cell(&target["count"]));
            }
        }
    }
}

/// Blocks and edges, beside each block and each instruction that is decoded; also of profiles that were kept, whole and in part.
#[test]
fn blocks_and_edges_are_those_decoded() {
    if !has_programs("blocks_and_edges_are_those_decoded", &["python3"]) {
        return;
    }
    let folder = Scratch::new("csv");
    let (capture, kept) = (recorded(&folder, "args", TIMED), folder.join("kept"));
    let decoded = |more: &str, kind: &str, address: &str| -> Vec<String> {
        let listing = run!("decode {capture} --json {more}").good();
        let wanted = values(&listing).filter(|element| element["kind"] == kind);
        wanted.map(|element| cell(&element[address])).collect()
    };
    let mut blocks: BTreeMap<String, u64> = BTreeMap::new();
    for start in decoded("", "block", "address") {
        *blocks.entry(start).or_default() += 1;
    }
    // Nothing is lost in this trace: what comes after a branch is where it went.
    let instructions = decoded("--instructions", "instruction", "address");
    let branches: HashSet<_> = rows(&capture, "branches").iter().map(|row| row["address"].clone()).collect();
    let mut edges: BTreeMap<(String, String), u64> = BTreeMap::new();
    for pair in instructions.windows(2).filter(|pair| branches.contains(&pair[0])) {
        *edges.entry((pair[0].clone(), pair[1].clone())).or_default() += 1;
    }
    assert!(blocks.len() > 20 && edges.len() > 20);
    run!("profile {capture} --format tracewright -o {kept}").ends(0);
    for of in [&capture, &kept] {
        let mut told: BTreeMap<String, u64> = BTreeMap::new();
        for row in rows(of, "blocks") {
            *told.entry(row["address"].clone()).or_default() += number(&row, "count");
            let sum: u64 = ["taken", "not_taken", "through"].iter().map(|name| number(&row, name)).sum();
            assert_eq!(sum, number(&row, "count"), "{row:?}");
        }
        assert_eq!(told, blocks);
        // Also where returns went that the trace leaves out.
        let mut runs: BTreeMap<String, u64> = BTreeMap::new();
        for row in rows(of, "edges") {
            *runs.entry(row["address"].clone()).or_default() += number(&row, "count");
            let edge = (row["address"].clone(), row["to_address"].clone());
            assert_eq!(Some(number(&row, "count")), edges.get(&edge).copied(), "{row:?}");
        }
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        edges.iter().for_each(|((from, _), count)| *expected.entry(from.clone()).or_default() += count);
        assert_eq!(runs, expected);
    }
    let part = read(&run!("profile {kept} --format csv --rows blocks --function main").good());
    let mut expected = rows(&kept, "blocks");
    expected.retain(|row| row["function"] == "main");
    assert!(!expected.is_empty());
    assert_eq!(part, expected);
    // What needs an order is not in a file without one.
    let functions = rows(&kept, "functions");
    let own = |rows: &[Row]| -> BTreeMap<String, (u64, u64)> {
        let counts = |row: &Row| (number(row, "instructions"), number(row, "calls"));
        rows.iter().map(|row| (row["function"].clone(), counts(row))).collect()
    };
    assert_eq!(own(&functions), own(&ordered(&capture, "functions")));
    assert!(functions.iter().all(|row| row["inclusive_instructions"].is_empty() && row["cycles"].is_empty()));
    let refused = run!("profile {kept} --format csv --rows events").ends(2);
    refused.says("does not tell in which order things ran: choose other --rows");
}

/// Packets, kinds of packets, costs and instructions are what JSON has, row by row.
#[test]
fn rows_are_those_of_json() {
    if !has_programs("rows_are_those_of_json", &["python3"]) {
        return;
    }
    for capture in ["samples/two-cores", "samples/etrace"] {
        let told = read(&run!("packets {capture} --format csv").out);
        let expected: Value = values(&run!("packets {capture} --json").out).collect();
        assert_same(capture, &told, &expected, &["buffer", "offset", "id", "kind", "hex"]);
        let told = read(&run!("stats {capture} --format csv").out);
        let stats = run!("stats {capture} --json").out;
        let expected = values(&stats).flat_map(|buffer| {
            let sources = list(&buffer, "sources").iter().map(|of| (cell(&of["name"]), of["kinds"].clone()));
            sources.chain([(String::new(), buffer["no_source"].clone())]).collect::<Vec<_>>()
        });
        let mut rows = 0;
        for (source, kinds) in expected.filter(|(_, kinds)| !kinds.is_null()) {
            for (kind, of) in kinds.as_object().unwrap() {
                let row = told.iter().find(|row| row["source"] == source && row["kind"] == *kind).unwrap();
                assert_eq!([&row["packets"], &row["bytes"]], [&cell(&of["packets"]), &cell(&of["bytes"])]);
                rows += 1;
            }
        }
        assert_eq!(rows, told.len(), "{capture}");
    }
    let log = read(&run!("stats samples/retirement.log --format csv").good());
    let expected = run!("stats samples/retirement.log --json").json();
    assert_same("log", &log, &expected["threads"], &["thread", "instructions", "blocks", "traps", "bytes"]);

    let folder = Scratch::new("csv");
    let capture = recorded(&folder, "hash", TIMED);
    let stalls = run!("stalls {capture} --json").ends(0).json();
    let costs = ["function", "cycles", "stall_cycles", "instructions"];
    for (by, table, place) in [
        ("functions", "functions", "function"),
        ("lines", "lines", "line"),
        ("instructions", "code", "address"),
    ] {
        let told = read(&run!("stalls {capture} --by {by} --format csv").good());
        assert_same(by, &told, &stalls[table], &[&costs[..], &[place]].concat());
    }
    let annotated = run!("annotate {capture} main --json").ends(0).json();
    let told = read(&run!("annotate {capture} main --format csv").good());
    let counts = ["address", "text", "inlined", "count", "cycles", "stall_cycles", "taken", "not_taken"];
    assert_same("annotate", &told, &annotated["functions"][0]["code"], &counts);
    let refused = run!("stats samples/etrace --format csv --json").ends(2);
    refused.says("the argument '--format <FORMAT>' cannot be used with '--json'");
}

/// The rows of `decode` are its JSON objects: all that has no column is in the last one.
#[test]
fn what_is_decoded_is_that_of_json() {
    if !has_programs("what_is_decoded_is_that_of_json", &["python3"]) {
        return;
    }
    let folder = Scratch::new("csv-decode");
    let capture = recorded(&folder, "args", TIMED);
    for line in [
        "samples/two-cores",
        "samples/threads --elements --timestamps",
        "samples/threads --by-time",
        "samples/hello --instructions --last 20",
        "samples/threads --calls",
        "samples/two-cores --no-image",
        "samples/two-cores --summary",
        &format!("{capture} --instructions --from 0x200"),
    ] {
        let told = read(&run!("decode {line} --format csv").ends_within(0..=1).out);
        let expected: Vec<_> = values(&run!("decode {line} --json").ends_within(0..=1).out).collect();
        assert!(told.len() == expected.len() && !told.is_empty(), "{line}: {}", told.len());
        for (row, object) in told.iter().zip(&expected) {
            let mut more: Vec<_> = row.get("more").map_or("", |more| more).split("; ").collect();
            for (name, value) in object.as_object().unwrap() {
                let value = cell(value);
                match row.get(name) {
                    // A spreadsheet would take it for a formula.
                    Some(told) => {
                        assert_eq!(told.trim_start_matches('\''), value, "{line}: {name} of {object}");
                    }
                    None if !row.contains_key("more") => {}
                    None => {
                        let at = more.iter().position(|more| *more == format!("{name}={value}"));
                        more.remove(at.unwrap_or_else(|| panic!("{line}: {name} of {object} in {row:?}")));
                    }
                }
            }
            assert!(more.iter().all(|more| more.is_empty()), "{line}: {row:?}");
        }
    }
}

#[test]
fn coverage_and_differences_are_those_of_json() {
    if !has_programs("coverage_and_differences_are_those_of_json", &["python3"]) {
        return;
    }
    let folder = Scratch::new("csv");
    let (capture, part) = (recorded(&folder, "hash", TIMED), folder.join("part"));
    let all = run!("coverage {capture} --json").ends(0).json();
    let told = read(&run!("coverage {capture} --format csv").good());
    let mut at = told.iter();
    for file in list(&all, "files") {
        for function in list(file, "functions_list") {
            let row = at.next().unwrap();
            assert_eq!(row["file"], cell(&file["file"]));
            assert_eq!(row["function"], cell(&function["function"]));
            assert_eq!(row["calls"], cell(&function["calls"]));
            for part in ["lines", "branches", "instructions"] {
                assert_eq!(row[part], cell(&function[part]["of"]), "{row:?}");
                assert_eq!(row[&format!("{part}_ran")], cell(&function[part]["ran"]), "{row:?}");
            }
        }
    }
    assert!(at.next().is_none() && told.len() > 5);

    let half = fs::metadata(format!("{capture}/trace.bin")).unwrap().len() / 2;
    run!("profile {capture} --format tracewright --to {half} -o {part}").ends(0);
    let all = run!("diff {part} {capture} --json").ends(0).json();
    let told = read(&run!("diff {part} {capture} --format csv").good());
    let expected = [("function", "functions", "instructions"), ("branch", "branches", "count")];
    let mut at = told.iter();
    for (kind, table, count) in expected {
        for of in list(&all, table) {
            let row = at.next().unwrap();
            assert_eq!((row["kind"].as_str(), &row["name"]), (kind, &cell(&of[kind])));
            for (side, name) in ["before", "after"].iter().enumerate() {
                assert_eq!(row[&format!("count_{name}")], cell(&of[count][side]));
                assert_eq!(row[&format!("taken_{name}")], cell(&of["taken"][side]));
                let share: f64 = row[&format!("share_{name}")].parse().unwrap();
                assert!((share - of["share"][side].as_f64().unwrap()).abs() < 1e-12);
            }
            let change: f64 = row["change"].parse().unwrap();
            assert!((change - of["change"].as_f64().unwrap()).abs() < 1e-12);
        }
    }
    assert!(at.next().is_none() && told.len() > 10);
}
