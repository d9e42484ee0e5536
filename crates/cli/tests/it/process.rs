//! Whole processes, from their first instruction to their last: how many ran is known.
//!
//! The captures are of two small programs with their dynamic linker and C library. OpenCSD 1.3.3 listed them; another
//! tool told the edges that the main function of one of them takes.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run::{command, text};
use tracewright_testkit::{Scratch, captures_for, skip};

/// A capture, its program, and how many instructions ran.
const CAPTURES: [(&str, &str, usize); 3] = [
    ("branches_trace1", "branches", 74_912),
    ("branches_trace2", "branches", 74_912),
    ("fib_trace1", "fib", 77_438),
];

/// Runs `decode`. Everything must be right.
fn decode(capture: &Path, options: &[String]) -> String {
    let output = command(&["decode", text(capture)]).args(options).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{capture:?} {options:?}: {errors}");
    assert_eq!(errors.lines().count(), 1, "{capture:?} {options:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn words(options: &[&str]) -> Vec<String> {
    options.iter().map(ToString::to_string).collect()
}

/// The string or number of a field in a line of JSON. Enough for what `decode` writes.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!("\"{name}\":"))?;
    match rest.strip_prefix('"') {
        Some(text) => text.split('"').next(),
        None => rest.split([',', '}']).next(),
    }
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.strip_prefix("0x").unwrap(), 16).unwrap()
}

/// Names and load addresses of what the process consisted of, the program first.
fn loaded(capture: &Path) -> Vec<(String, u64)> {
    let text = fs::read_to_string(capture.join("load_addresses.txt")).unwrap();
    // File, trace ID, number of images, then name, start and end of each.
    let words: Vec<_> = text.split_whitespace().skip(3).collect();
    words.chunks(3).map(|image| (image[0].to_owned(), hex(image[1]))).collect()
}

/// The options that give the process's ELF files.
fn images(process: &Path, capture: &Path) -> Vec<String> {
    let option = |(name, address): (String, u64)| {
        let file = process.join("elf").join(name);
        ["--image".to_owned(), format!("{}@{address:#x}", file.display())]
    };
    loaded(capture).into_iter().flat_map(option).collect()
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
fn each(test: &str, check: impl Fn(&Path, &Path, &str, usize)) {
    let Some(captures) = captures_for(test, "") else { return };
    let process = captures.join("process");
    for (name, program, instructions) in CAPTURES {
        check(&process, &process.join(name), program, instructions);
    }
}

#[test]
fn every_instruction_is_there() {
    each("every_instruction_is_there", |_, capture, _, instructions| {
        let json = decode(capture, &words(&["--json"]));
        let kind =
            |wanted: &'static str| json.lines().filter(move |line| field(line, "kind") == Some(wanted));
        let ran: usize =
            kind("block").map(|line| field(line, "count").unwrap().parse::<usize>().unwrap()).sum();
        assert_eq!(ran, instructions, "{capture:?}");
        assert_eq!(kind("no code").count() + kind("mismatch").count(), 0, "{capture:?}");
        // Bytes before the first A-Sync, in one of them.
        for gap in kind("gap") {
            assert_eq!(field(gap, "reason"), Some("not yet synchronised"), "{gap}");
            assert_eq!(json.lines().next(), Some(gap));
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
        let ours = decode(capture, &words(&["--style", "opencsd"]));
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
        let style = words(&["--elements", "--style", "opencsd"]);
        let expected = decode(capture, &style);
        let images = images(process, capture);
        assert_eq!(images.len(), 6);
        let bare = without_dumps(capture);
        assert!(
            decode(bare.path(), &[style.clone(), images.clone()].concat()) == expected,
            "{capture:?}: snapshot"
        );
        let raw = "--packing coresight --source \
            etm4,id=0x10,core=Cortex-A57,TRCCONFIGR=0x41,TRCIDR0=0x28000ea1,TRCIDR1=0x4100f402,TRCIDR2=0x488";
        let raw: Vec<_> = raw.split_whitespace().map(str::to_owned).collect();
        let trace = capture.join("cstrace.bin");
        assert!(decode(&trace, &[style, images, raw].concat()) == expected, "{capture:?}: raw file");
    });
}

#[test]
fn instructions_have_all_their_fields() {
    each("instructions_have_all_their_fields", |process, capture, program, instructions| {
        let options = [images(process, capture), words(&["--instructions", "--json"])].concat();
        let json = decode(capture, &options);
        let mut count = 0;
        let mut in_main = 0;
        let base = loaded(capture)[0].1;
        for line in json.lines().filter(|line| field(line, "kind") == Some("instruction")) {
            count += 1;
            let [pc, bytes, text, symbol, source] =
                ["pc", "bytes", "text", "symbol", "source"].map(|name| field(line, name).expect(line));
            assert_eq!(hex(pc) % 4, 0, "{line}");
            assert_eq!(bytes.len(), 8, "{line}");
            // All of it was in the disassembler's time.
            assert!(!text.is_empty() && !text.starts_with(".word"), "{line}");
            assert_eq!(source, "null", "{line}");
            if symbol.starts_with("main+") || symbol == "main" {
                in_main += 1;
                assert!(hex(pc) - base < 0x1000, "{line}");
            }
        }
        assert_eq!(count, instructions, "{capture:?}");
        assert!(in_main > 5, "{program}: {in_main} instructions of main");
        for symbol in ["_start", "__libc_csu_init", "main"] {
            let found =
                json.lines().any(|line| field(line, "symbol").is_some_and(|name| name.starts_with(symbol)));
            assert!(found, "{capture:?}: {symbol}");
        }
    });
}

/// Edges go from the start of a block to the start of the next: main and what it calls, without a break.
#[test]
fn the_expected_edges_are_taken() {
    each("the_expected_edges_are_taken", |process, capture, program, _| {
        if program != "branches" {
            return;
        }
        let expected = fs::read_to_string(process.join("elf/expected_edge_coverage.out")).unwrap();
        // `0x900 [0] -> 0x71c [0]`: offsets in image 0, the program.
        let edges: Vec<_> = expected
            .lines()
            .map(|line| {
                let (from, to) = line.split_once(" -> ").unwrap();
                [from, to].map(|end| hex(end.strip_suffix(" [0]").unwrap()))
            })
            .collect();
        assert_eq!(edges.len(), 42);
        let base = loaded(capture)[0].1;
        let json = decode(capture, &words(&["--json"]));
        let starts: Vec<_> = json
            .lines()
            .filter(|line| field(line, "kind") == Some("block"))
            .map(|line| hex(field(line, "start").unwrap()).wrapping_sub(base))
            .collect();
        let taken: Vec<_> = starts.windows(2).map(|pair| [pair[0], pair[1]]).collect();
        assert!(taken.windows(edges.len()).any(|taken| taken == edges), "{capture:?}");
    });
}
