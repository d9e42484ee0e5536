//! Golden tests of the command line: each file in `tests/cli` is a command and what it prints.
//!
//! The first line is `RUN: arguments`, run in the repository's root; after it come the expected exit status, standard
//! error and standard output. `BLESS=1 cargo test` rewrites the files; review the difference.

use std::fs;
use std::path::Path;
use std::process::Command;

use tracewright_testkit::{captures, skip};

#[test]
fn every_command_prints_what_its_file_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let bless = std::env::var_os("BLESS").is_some();
    let (mut tests, mut failures) = (0, Vec::new());
    for entry in root.join("tests/cli").read_dir().unwrap() {
        let path = entry.unwrap().path();
        let file = fs::read_to_string(&path).unwrap();
        let run = file.lines().next().and_then(|line| line.strip_prefix("RUN: "));
        let run = run.unwrap_or_else(|| panic!("{path:?} does not start with RUN:"));
        let output = Command::new(env!("CARGO_BIN_EXE_tracewright"))
            .args(run.split_whitespace())
            .current_dir(&root)
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let got = format!(
            "RUN: {run}\nEXIT: {}\n--- stderr\n{}--- stdout\n{}",
            output.status.code().unwrap(),
            text(&output.stderr),
            text(&output.stdout)
        );
        if bless {
            fs::write(&path, &got).unwrap();
        }
        if !bless && got != file {
            failures.push(format!("{}\n{}", path.display(), differences(&file, &got)));
        }
        tests += 1;
    }
    assert!(tests > 0);
    let count = failures.len();
    assert!(
        failures.is_empty(),
        "{count} of {tests} differ (BLESS=1 accepts them):\n{}",
        failures.join("\n")
    );
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
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let runs = [
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
    ];
    for run in runs {
        let output = Command::new(env!("CARGO_BIN_EXE_tracewright"))
            .args(run.split_whitespace())
            .current_dir(&root)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.is_empty());
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{run}: {line}");
        }
    }
}

#[test]
fn rows_fit_80_columns() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO_BIN_EXE_tracewright"))
        .args(["decode", "samples/two-cores", "--no-image"])
        .current_dir(&root)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().count() > 20);
    text.lines().for_each(|line| assert!(line.chars().count() <= 80, "{line}"));
}

/// ELF files of a real process: what they have, in 80 columns and as JSON.
#[test]
fn info_of_elf_files() {
    let Some(captures) = captures() else { return skip("info_of_elf_files", "no shared captures") };
    let process = captures.join("process");
    let run = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tracewright"));
        command.arg("info").arg(process.join("branches_trace1"));
        for (file, at) in [("branches", "aaaaceaa0000"), ("libc-2.31.so", "ffffbe873000")] {
            command.arg("--image").arg(format!("{}@{at}", process.join("elf").join(file).display()));
        }
        let output = command.args(options).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = run(&[]);
    assert!(text.contains("\nELF file branches\n  build ID  "), "{text}");
    assert!(text.contains("ELF code  libc-2.31.so\n"), "{text}");
    // The capture has them, too.
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("m0.bin at 0xaaaaceaa0000-0xaaaaceaa0c4c overlaps"), "{text}");
    let about_memory = text.split_once("\nmemory:").unwrap().1;
    let is_path = |line: &str| line.contains('/');
    for line in about_memory.lines().filter(|line| !is_path(line)) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let json: serde_json::Value = serde_json::from_str(&run(&["--json"])).unwrap();
    let first = &json["memory"][0];
    assert_eq!((&first["kind"], &first["address"]), (&"ELF".into(), &"0xaaaaceaa0000".into()));
    assert_eq!(first["elf"]["build_id"].as_str().map(str::len), Some(40));
    assert!(json["remarks"].as_array().is_some_and(|remarks| !remarks.is_empty()));
}
