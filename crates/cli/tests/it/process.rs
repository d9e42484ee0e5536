//! Whole processes, from their first instruction to their last: how many ran is known.
//!
//! The captures are of two small programs with their dynamic linker and C library. OpenCSD 1.3.3 listed them; another
//! tool told the edges that the main function of one of them takes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run::{address, hex, number, run, string, text, values};
use serde_json::Value;
use tracewright_testkit::{Scratch, captures_for, skip};

/// A capture, its program, and how many instructions ran.
const CAPTURES: [(&str, &str, u64); 3] = [
    ("branches_trace1", "branches", 74_912),
    ("branches_trace2", "branches", 74_912),
    ("fib_trace1", "fib", 77_438),
];

/// Runs `decode`. Everything must be right.
fn decode(capture: &Path, options: &str) -> String {
    let ran = run!("decode {} {options}", text(capture)).ends(0);
    assert_eq!(ran.err.lines().count(), 1, "{capture:?} {options}: {}", ran.err);
    ran.out
}

/// Names and load addresses of what the process consisted of, the program first.
pub fn loaded(capture: &Path) -> Vec<(String, u64)> {
    let text = fs::read_to_string(capture.join("load_addresses.txt")).unwrap();
    // File, trace ID, number of images, then name, start and end of each.
    let words: Vec<_> = text.split_whitespace().skip(3).collect();
    words.chunks(3).map(|image| (image[0].to_owned(), hex(image[1]))).collect()
}

/// The options that give the process's ELF files.
pub fn images(process: &Path, capture: &Path) -> String {
    let elf = text(process).to_owned() + "/elf";
    let option = |(name, address): (String, u64)| format!(" --image {elf}/{name}@{address:#x}");
    loaded(capture).into_iter().map(option).collect()
}

/// Copies a capture without its memory dumps.
fn without_dumps(capture: &Path) -> Scratch {
    let scratch = Scratch::new("process");
    for file in ["snapshot.ini", "trace.ini", "device_1.ini", "cstrace.bin"] {
        scratch.write(file, &fs::read(capture.join(file)).unwrap());
    }
    let core = fs::read_to_string(capture.join("cpu_0.ini")).unwrap();
    scratch.write("cpu_0.ini", core.split("[dump").next().unwrap().as_bytes());
    scratch
}

/// Does something with each capture.
fn each(test: &str, check: impl Fn(&Path, &Path, &str, u64)) {
    let Some(captures) = captures_for(test, "") else { return };
    let process = captures.join("process");
    for (name, program, instructions) in CAPTURES {
        check(&process, &process.join(name), program, instructions);
    }
}

#[test]
fn every_instruction_is_there() {
    each("every_instruction_is_there", |_, capture, _, instructions| {
        let elements: Vec<_> = values(&decode(capture, "--json")).collect();
        let kind = |wanted: &'static str| elements.iter().filter(move |element| element["kind"] == wanted);
        let ran: u64 = kind("block").map(|block| number(block, "instructions")).sum();
        assert_eq!(ran, instructions, "{capture:?}");
        assert_eq!(kind("no code").count() + kind("mismatch").count(), 0, "{capture:?}");
        // Bytes before the first A-Sync, in one of them.
        for gap in kind("gap") {
            assert_eq!(gap["reason"], "not yet synchronised", "{gap}");
            assert_eq!(elements.first(), Some(gap));
        }
    });
}

#[test]
fn opencsd_lists_the_same() {
    each("opencsd_lists_the_same", |_, capture, _, _| {
        let Ok(listing) = Command::new("gzip").arg("-dc").arg(capture.join("out.ppl.gz")).output() else {
            return skip("opencsd_lists_the_same", "no gzip program");
        };
        let listing = String::from_utf8(listing.stdout).unwrap();
        let ours = decode(capture, "--style opencsd");
        let elements = |text: &str| {
            let lines = text.lines().filter(|line| line.contains("OCSD_GEN_TRC_ELEM_"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let (ours, listed) = (elements(&ours), elements(&listing));
        assert!(listed.len() > 15_000, "{capture:?}: too little compared");
        for (i, (ours, listed)) in ours.iter().zip(&listed).enumerate() {
            assert_eq!(ours, listed, "{capture:?}: element {i}");
        }
        assert_eq!(ours.len(), listed.len(), "{capture:?}");
    });
}

#[test]
fn elf_files_are_as_good_as_dumps() {
    each("elf_files_are_as_good_as_dumps", |process, capture, _, _| {
        let style = "--elements --style opencsd";
        let expected = decode(capture, style);
        let images = images(process, capture);
        assert_eq!(images.matches("--image").count(), 3);
        let (bare, how) = (without_dumps(capture), format!("{style} {images}"));
        assert!(decode(bare.path(), &how) == expected, "{capture:?}: snapshot");
        let raw = "--packing coresight --source \
            etm4,id=0x10,core=Cortex-A57,TRCCONFIGR=0x41,TRCIDR0=0x28000ea1,TRCIDR1=0x4100f402,TRCIDR2=0x488";
        let trace = capture.join("cstrace.bin");
        assert!(decode(&trace, &format!("{how} {raw}")) == expected, "{capture:?}: raw file");
    });
}

#[test]
fn instructions_have_all_their_fields() {
    each("instructions_have_all_their_fields", |process, capture, program, instructions| {
        let json = decode(capture, &format!("--instructions --json {}", images(process, capture)));
        let mut count = 0;
        let mut in_main = 0;
        let base = loaded(capture)[0].1;
        let mut missing: BTreeSet<_> = ["_start", "__libc_csu_init", "main"].into();
        for line in values(&json).filter(|line| line["kind"] == "instruction") {
            count += 1;
            let pc = address(&line, "address");
            let symbol = line.get("function").expect("a field").as_str().unwrap_or_default();
            assert_eq!(pc % 4, 0, "{line}");
            assert_eq!(string(&line, "hex").len(), 8, "{line}");
            // All of it was in the disassembler's time.
            let text = string(&line, "text");
            assert!(!text.is_empty() && !text.starts_with(".word"), "{line}");
            assert!(line.get("file").is_some_and(Value::is_null), "{line}");
            if symbol.starts_with("main+") || symbol == "main" {
                in_main += 1;
                assert!(pc - base < 0x1000, "{line}");
            }
            missing.retain(|name| !symbol.starts_with(name));
        }
        assert_eq!(count, instructions, "{capture:?}");
        assert!(in_main > 5, "{program}: {in_main} instructions of main");
        assert!(missing.is_empty(), "{capture:?}: {missing:?}");
    });
}

/// Edges go from the start of a block to the start of the next: main and what it calls, without a break.
#[test]
fn the_expected_edges_are_taken() {
    each("the_expected_edges_are_taken", |process, capture, program, _| {
        if program != "branches" {
            return;
        }
        let edges = expected_edges(process);
        let base = loaded(capture)[0].1;
        let json = decode(capture, "--json");
        let blocks = values(&json).filter(|element| element["kind"] == "block");
        let starts: Vec<_> = blocks.map(|block| address(&block, "address").wrapping_sub(base)).collect();
        let taken: Vec<_> = starts.windows(2).map(|pair| [pair[0], pair[1]]).collect();
        assert!(taken.windows(edges.len()).any(|taken| taken == edges), "{capture:?}");
    });
}

/// The edges that another tool told.
pub fn expected_edges(process: &Path) -> Vec<[u64; 2]> {
    let told = fs::read_to_string(process.join("elf/expected_edge_coverage.out")).unwrap();
    // `0x900 [0] -> 0x71c [0]`: offsets in image 0, the program.
    let edge = |line: &str| {
        let (from, to) = line.split_once(" -> ").unwrap();
        [from, to].map(|end| hex(end.strip_suffix(" [0]").unwrap()))
    };
    let edges: Vec<_> = told.lines().map(edge).collect();
    assert_eq!(edges.len(), 42);
    edges
}
