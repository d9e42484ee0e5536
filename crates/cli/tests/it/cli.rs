//! Golden tests of the command line: each file in `tests/cli` is a command and what it prints.
//!
//! The first line is `RUN: arguments`, run in the repository's root; after it come the expected exit status, standard
//! error and standard output. `BLESS=1 cargo test` rewrites the files; review the difference.

use std::fs;

use crate::run::{Ran, assert_fits, root, rows, run, text};
use tracewright_testkit::captures_for;

#[test]
fn every_command_prints_what_its_file_says() {
    let bless = std::env::var_os("BLESS").is_some();
    let (mut tests, mut failures) = (0, Vec::new());
    for entry in root().join("tests/cli").read_dir().unwrap() {
        let path = entry.unwrap().path();
        let file = fs::read_to_string(&path).unwrap();
        let run = file.lines().next().and_then(|line| line.strip_prefix("RUN: "));
        let run = run.unwrap_or_else(|| panic!("{path:?} does not start with RUN:"));
        let Ran { status, out, err, .. } = run!("{run}");
        let got = format!("RUN: {run}\nEXIT: {}\n--- stderr\n{err}--- stdout\n{out}", status.unwrap());
        if bless {
            fs::write(&path, &got).unwrap();
        }
        if !bless && got != file {
            failures.push(format!("{}\n{}", path.display(), differences(&file, &got)));
        }
        tests += 1;
    }
    assert!(tests > 0);
    let (count, all) = (failures.len(), failures.join("\n"));
    assert!(failures.is_empty(), "{count} of {tests} differ (BLESS=1 accepts them):\n{all}");
}

/// The lines between the parts at the start and the end that are the same.
fn differences(expected: &str, got: &str) -> String {
    let (expected, got): (Vec<_>, Vec<_>) = (expected.lines().collect(), got.lines().collect());
    let before = expected.iter().zip(&got).take_while(|(a, b)| a == b).count();
    let rests = expected[before..].iter().rev().zip(got[before..].iter().rev());
    let after = rests.take_while(|(a, b)| a == b).count();
    let lines = |sign: char, all: &[&str]| -> String {
        all[before..all.len() - after].iter().map(|line| format!("{sign} {line}\n")).collect()
    };
    format!("from line {}\n{}{}", before + 1, lines('-', &expected), lines('+', &got))
}

/// Text for people fits a terminal of 80 columns.
#[test]
fn text_fits_80_columns() {
    for line in [
        "info samples/two-cores",
        "packets samples/two-cores",
        "stats samples/two-cores",
        "info samples/hello",
        "decode samples/hello --elements",
        "decode samples/hello --instructions --image samples/hello/hello.elf",
        "decode samples/two-cores --elements",
        "info samples/threads",
        "info samples/etrace",
        "info samples/retirement.log",
        "stats samples/retirement.log",
        "packets samples/etrace",
        "stats samples/etrace",
        "decode samples/etrace --elements",
        "decode samples/etrace --instructions",
        "profile samples/etrace",
        "profile samples/etrace --calls",
        "profile samples/etrace --paths",
        "profile samples/hello --image samples/hello/hello.elf --function square",
        "coverage samples/hello --image samples/hello/hello.elf",
        "annotate samples/hello main --image samples/hello/hello.elf",
        "demo",
        "record --option help",
    ] {
        let text = run!("{line}").out;
        assert!(!text.is_empty());
        assert_fits(&text);
    }
}

/// So does the help of every verb.
#[test]
fn help_fits_80_columns() {
    for verb in crate::shell::verbs() {
        let (short, long) = (run!("{verb} -h").ends(0).out, run!("{verb} --help").ends(0).out);
        assert_fits(&short);
        assert_fits(&long);
        assert!(long.contains("\nExamples:\n"), "{verb}");
        assert!(short.lines().count() <= long.lines().count(), "{verb}");
    }
}

#[test]
fn rows_fit_80_columns() {
    let text = run!("decode samples/two-cores --no-image").out;
    assert!(text.lines().count() > 20);
    assert_fits(&text);
}

/// ELF files of a real process: what they have, in 80 columns and as JSON.
#[test]
fn info_of_elf_files() {
    let Some(process) = captures_for("info_of_elf_files", "process") else { return };
    let (process, libc) = (text(&process), "libc-2.31.so@ffffbe873000");
    let images = format!("--image {process}/elf/branches@aaaaceaa0000 --image {process}/elf/{libc}");
    let told = run!("info {process}/branches_trace1 {images}").ends(0);
    let told = told.prints("\nELF file branches\n  build ID  ").prints("ELF code  libc-2.31.so\n").out;
    // The capture has them, too.
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("m0.bin at 0xaaaaceaa0000-0xaaaaceaa0c4c overlaps"), "{told}");
    let about_memory = told.split_once("\nmemory:").unwrap().1;
    about_memory.lines().filter(|line| !line.contains('/')).for_each(assert_fits);
    let json = run!("info {process}/branches_trace1 {images} --json").ends(0).json();
    let first = &json["memory"][0];
    assert_eq!((&first["kind"], &first["address"]), (&"ELF".into(), &"0xaaaaceaa0000".into()));
    assert_eq!(first["elf"]["build_id"].as_str().map(str::len), Some(40));
    assert!(!rows(&json, "remarks").is_empty());
}
