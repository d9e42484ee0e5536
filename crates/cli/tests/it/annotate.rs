//! `tracewright annotate`: every number beside those of a plain listing of all that ran, and of `stalls`.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::symlink;

use crate::run::{TIMED, assert_fits, number, recorded, root, rows, run, string, values};
use tracewright_testkit::Scratch;

#[test]
fn numbers_are_those_of_a_listing() {
    let folder = Scratch::new("annotate");
    let capture = recorded(&folder, "args", TIMED);
    // By address: how often it ran, was taken, and where it went.
    let mut ran: HashMap<String, (u64, u64)> = HashMap::new();
    let mut went: HashMap<String, BTreeMap<String, u64>> = HashMap::new();
    let mut calls = 0;
    let mut before: Option<String> = None;
    let listing = run!("decode {capture} --instructions --json").good();
    for row in values(&listing).filter(|row| row["kind"] == "instruction") {
        let address = string(&row, "address").to_owned();
        if let Some(before) = before.take() {
            *went.entry(before).or_default().entry(address.clone()).or_default() += 1;
        }
        calls += u64::from(row["function"] == "print_string" && row["function_offset"] == 0);
        let (count, taken) = ran.entry(address.clone()).or_default();
        *count += 1;
        if row["taken"] == true {
            *taken += 1;
            before = Some(address);
        }
    }
    let costs = run!("stalls {capture} --json").ends(0).json();
    let costs = rows(&costs, "code").iter();
    let costs: HashMap<&str, u64> =
        costs.map(|row| (string(row, "address"), number(row, "cycles"))).collect();
    let mut branches = 0;
    let mut targets = 0;
    for name in ["print_string", "main"] {
        let functions = run!("annotate {capture} {name} --json").ends(0).json();
        let [function] = rows(&functions, "functions") else { panic!("{functions}") };
        if name == "print_string" {
            assert!(calls > 3, "{calls}");
            assert_eq!(function["calls"], calls);
        }
        for row in rows(function, "code") {
            let address = string(row, "address");
            let (count, taken) = ran.get(address).copied().unwrap_or_default();
            assert_eq!(row["count"], count, "{row}");
            assert_eq!(row["cycles"], costs.get(address).copied().unwrap_or(0), "{row}");
            if !row["taken"].is_null() {
                branches += 1;
                assert_eq!((number(row, "taken"), number(row, "not_taken")), (taken, count - taken), "{row}");
            }
            targets += rows(row, "targets").len();
            for target in rows(row, "targets") {
                assert_eq!(target["count"], went[address][string(target, "address")], "{row}");
            }
        }
    }
    assert!(branches > 5 && targets > 1, "{branches} branches, {targets} targets");
}

#[test]
fn source_and_instructions_are_shown() {
    let folder = Scratch::new("annotate");
    let capture = recorded(&folder, "divides", TIMED);
    let source = "long rounds = argc > 1";
    let shown = run!("annotate {capture} main --src programs").ends(0).begins("main in divides.elf at 0x");
    let shown = shown.prints("\ndivides.c\n").prints(source).out;
    assert_fits(&shown);
    let bare = run!("annotate {capture} main --no-source").good();
    assert!(!bare.contains(source), "{bare}");
    let instructions = |text: &str| text.lines().filter(|line| line.contains("  +0x")).count();
    assert!(instructions(&bare) > 20);
    assert_eq!(instructions(&bare), instructions(&shown));
}

#[test]
fn unknown_functions_are_said() {
    let folder = Scratch::new("annotate");
    let capture = recorded(&folder, "args", TIMED);
    for (name, said) in [("mian", "do you mean main?"), ("print_str", "print_string"), ("zzzzzz", "symbols")]
    {
        run!("annotate {capture} {name}").ends(2).says(said);
    }
}

/// Debug information may name any file of the machine; here it is `./programs/args.c`, which is there.
#[test]
fn only_sources_in_folders_that_were_named_are_shown() {
    let folder = Scratch::new("annotate");
    let capture = recorded(&folder, "args", TIMED);
    let source = root().canonicalize().unwrap().join("programs/args.c");
    let shown = |options: &str| {
        let ran = run!("annotate {capture} main {options}").ends(0);
        let shown = ran.out.contains("u32 checksum = CHECKSUM_START");
        assert!(shown || ran.err.contains("--src FOLDER"), "{options}: {}", ran.err);
        shown
    };
    assert!(!shown(""));
    let sources = folder.join("src");
    let named = format!("--src {sources}");
    fs::create_dir_all(format!("{sources}/programs")).unwrap();
    assert!(!shown(&named));
    // A link leads out of the folder, whichever way it is found.
    symlink(&source, format!("{sources}/args.c")).unwrap();
    symlink(&source, format!("{capture}/args.c")).unwrap();
    assert!(!shown(&named));
    fs::copy(&source, format!("{sources}/programs/args.c")).unwrap();
    assert!(shown(&named));
    assert!(!shown(""));
    // Where it was compiled, if that is named.
    assert!(shown("--src ."));
    // What came with the capture may be shown.
    fs::create_dir(format!("{capture}/programs")).unwrap();
    fs::copy(&source, format!("{capture}/programs/args.c")).unwrap();
    assert!(shown(""));
}

#[test]
fn a_mistyped_source_folder_is_an_error() {
    let folder = Scratch::new("annotate");
    let capture = recorded(&folder, "args", TIMED);
    let refused = run!("annotate {capture} main --src /nowhere/src").ends(2);
    assert_eq!(refused.err, "tracewright: --src /nowhere/src: No such file or directory (os error 2)\n");
}

/// Only who asks for cycles is told what is wrong with them, and once.
#[test]
fn a_damaged_delta_trace_is_told_once_where_cycles_are_asked_for() {
    let folder = Scratch::new("annotate");
    let capture = recorded(&folder, "args", TIMED);
    let delta = format!("{capture}/delta.bin");
    let mut bytes = fs::read(&delta).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    fs::write(&delta, &bytes).unwrap();
    for (verb, status) in [
        ("profile {} --from 0x20", 0),
        ("profile {} --from-cycle 5", 1),
        ("profile {} --calls --from-cycle 5", 1),
        ("annotate {} main --from-cycle 5", 1),
        ("annotate {} main", 1),
    ] {
        let ran = run!("{}", verb.replace("{}", &capture)).ends(status);
        let told = ran.err.matches("cycles may be wrong").count();
        assert_eq!(told, status as usize, "{verb}: {}", ran.err);
    }
}
