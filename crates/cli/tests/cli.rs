//! Golden tests of the command line: each file in `tests/cli` is a command and what it prints.
//!
//! The first line is `RUN: arguments`, run in the repository's root; after it come the expected exit status, standard
//! error and standard output. `BLESS=1 cargo test` rewrites the files; review the difference.

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn every_command_prints_what_its_file_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let bless = std::env::var_os("BLESS").is_some();
    let mut tests = 0;
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
        assert!(bless || got == file, "{path:?} differs; this is what came out (BLESS=1 accepts it):\n{got}");
        tests += 1;
    }
    assert!(tests > 0);
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
