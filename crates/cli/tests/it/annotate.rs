//! `tracewright annotate`: every number beside those of a plain listing of all that ran, and of `stalls`.

use std::collections::{BTreeMap, HashMap};

use crate::run::{TIMED, good, json, recorded, root, text, tracewright, values};
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
    let listing = good(&["decode", text(&capture), "--instructions", "--json"]);
    for row in values(&listing).filter(|row| row["kind"] == "instruction") {
        let address = row["pc"].as_str().unwrap().to_owned();
        if let Some(before) = before.take() {
            *went.entry(before).or_default().entry(address.clone()).or_default() += 1;
        }
        calls += u64::from(row["symbol"] == "print_string" && row["symbol_offset"] == 0);
        let (count, taken) = ran.entry(address.clone()).or_default();
        *count += 1;
        if row["taken"] == true {
            *taken += 1;
            before = Some(address);
        }
    }
    let costs = json(&["stalls", text(&capture), "--json"]);
    let costs: HashMap<&str, u64> = costs["instructions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["address"].as_str().unwrap(), row["cycles"].as_u64().unwrap()))
        .collect();
    let mut branches = 0;
    let mut targets = 0;
    for name in ["print_string", "main"] {
        let functions = json(&["annotate", text(&capture), name, "--json"]);
        let [function] = &functions.as_array().unwrap()[..] else { panic!("{functions}") };
        if name == "print_string" {
            assert!(calls > 3, "{calls}");
            assert_eq!(function["calls"], calls);
        }
        for row in function["instructions"].as_array().unwrap() {
            let address = row["address"].as_str().unwrap();
            let (count, taken) = ran.get(address).copied().unwrap_or_default();
            assert_eq!(row["count"], count, "{row}");
            assert_eq!(row["cycles"], costs.get(address).copied().unwrap_or(0), "{row}");
            if !row["taken"].is_null() {
                branches += 1;
                assert_eq!(
                    (&row["taken"], &row["not_taken"]),
                    (&taken.into(), &(count - taken).into()),
                    "{row}"
                );
            }
            let told = row["targets"].as_array().unwrap();
            targets += told.len();
            for target in told {
                assert_eq!(target["count"], went[address][target["address"].as_str().unwrap()], "{row}");
            }
        }
    }
    assert!(branches > 5 && targets > 1, "{branches} branches, {targets} targets");
}

#[test]
fn source_and_instructions_are_shown() {
    let folder = Scratch::new("annotate");
    let capture = recorded(&folder, "divides", TIMED);
    let shown = good(&["annotate", text(&capture), "main", "--src", "programs"]);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert!(shown.starts_with("main in divides.elf at 0x"), "{shown}");
    assert!(shown.contains("\ndivides.c\n") && shown.contains("long rounds = argc > 1"), "{shown}");
    let bare = good(&["annotate", text(&capture), "main", "--no-source"]);
    assert!(!bare.contains("long rounds = argc > 1"), "{bare}");
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
        let output = tracewright(&["annotate", text(&capture), name]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2));
        assert!(errors.contains(said), "{name}: {errors}");
    }
}

/// Debug information may name any file of the machine; here it is `./programs/args.c`, which is there.
#[test]
fn only_sources_in_folders_that_were_named_are_shown() {
    let folder = Scratch::new("annotate");
    let capture = recorded(&folder, "args", TIMED);
    let root = root().canonicalize().unwrap();
    let source = root.join("programs/args.c");
    let shown = |arguments: &[&str]| {
        let output = tracewright(&[&["annotate", text(&capture), "main"], arguments].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let shown = String::from_utf8_lossy(&output.stdout).contains("u32 checksum = CHECKSUM_START");
        assert!(shown || errors.contains("--src FOLDER"), "{arguments:?}: {errors}");
        shown
    };
    assert!(!shown(&[]));
    let sources = folder.path().join("src");
    std::fs::create_dir_all(sources.join("programs")).unwrap();
    assert!(!shown(&["--src", text(&sources)]));
    // A link leads out of the folder, whichever way it is found.
    std::os::unix::fs::symlink(&source, sources.join("args.c")).unwrap();
    std::os::unix::fs::symlink(&source, capture.join("args.c")).unwrap();
    assert!(!shown(&["--src", text(&sources)]));
    std::fs::copy(&source, sources.join("programs/args.c")).unwrap();
    assert!(shown(&["--src", text(&sources)]));
    assert!(!shown(&[]));
    // Where it was compiled, if that is named.
    assert!(shown(&["--src", "."]));
    // What came with the capture may be shown.
    std::fs::create_dir(capture.join("programs")).unwrap();
    std::fs::copy(&source, capture.join("programs/args.c")).unwrap();
    assert!(shown(&[]));
}

#[test]
fn a_mistyped_source_folder_is_an_error() {
    let folder = Scratch::new("annotate");
    let capture = recorded(&folder, "args", TIMED);
    let output = tracewright(&["annotate", text(&capture), "main", "--src", "/nowhere/src"]);
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors, "tracewright: --src /nowhere/src: No such file or directory (os error 2)\n");
}

/// Only who asks for cycles is told what is wrong with them, and once.
#[test]
fn a_damaged_delta_trace_is_told_once_where_cycles_are_asked_for() {
    let folder = Scratch::new("annotate");
    let capture = recorded(&folder, "args", TIMED);
    let delta = capture.join("delta.bin");
    let mut bytes = std::fs::read(&delta).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    std::fs::write(&delta, &bytes).unwrap();
    let told = |more: &[&str]| {
        let output = tracewright(&[&[more[0], text(&capture)], &more[1..]].concat());
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), errors.matches("cycles may be wrong").count(), errors)
    };
    for (verb, expected) in [
        (&["profile", "--from", "0x20"][..], (Some(0), 0)),
        (&["profile", "--from-cycle", "5"], (Some(1), 1)),
        (&["profile", "--calls", "--from-cycle", "5"], (Some(1), 1)),
        (&["annotate", "main", "--from-cycle", "5"], (Some(1), 1)),
        (&["annotate", "main"], (Some(1), 1)),
    ] {
        let (status, count, errors) = told(verb);
        assert_eq!((status, count), expected, "{verb:?}: {errors}");
    }
}
