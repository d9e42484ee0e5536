//! Bare-metal programs retire what Spike retires.

use std::path::{Path, PathBuf};

use crate::support::{Line, Lines, Output, contents};
use tracewright_hart::bare::{Bare, Options};
use tracewright_hart::{Hart, HartSink, Stop};
use tracewright_testkit::captures_for;

fn expected(text: &str) -> Vec<Line> {
    let hex = |field: &str| u64::from_str_radix(field, 16).unwrap();
    let line = |line: &str| {
        let fields: Vec<_> = line.split(',').collect();
        let cause = (fields[4] == "1").then(|| (hex(fields[5]) & !(1 << 63), fields[7] == "1"));
        (hex(fields[1]), hex(fields[2]) as u32, fields[3].parse().unwrap(), cause)
    };
    text.lines().skip(1).map(line).collect()
}

fn run(elf: &Path, options: &Options, limit: u64, sink: &mut impl HartSink) -> (Stop, String) {
    let output = Output::default();
    let bytes = std::fs::read(elf).unwrap();
    let (core, machine) = Bare::new(&bytes, options, Box::new(output.clone())).unwrap();
    let stop = Hart::new(core, machine).run(limit, sink);
    (stop, String::from_utf8_lossy(&output.bytes()).into_owned())
}

#[test]
fn retirements_are_spikes() {
    let Some(captures) = captures_for("Spike", "") else { return };
    let folder = captures.join("riscv/etrace/spike_pc_trace");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut failed = Vec::new();
    let mut compared = 0;
    for path in paths {
        let name = path.file_name().unwrap().to_str().unwrap().split(".spike").next().unwrap();
        let Some(text) = contents("Spike", &path) else { return };
        let expected = expected(&text);
        let (elf, arguments) = match name {
            "hello_world" => ("pk.riscv".into(), vec!["pk".into(), "hello_world.pk".into()]),
            name => (format!("{name}.riscv"), Vec::new()),
        };
        // These two were recorded so.
        let pmp_regions = if name == "test_discon_branch_exception" { 0 } else { 16 };
        let more_memory = if name == "br_j_asm" { vec![(0x2001_0000, 0x1_0000)] } else { Vec::new() };
        let options = Options {
            arguments,
            pmp_regions,
            more_memory,
            delegates_misaligned_jumps: false,
            entry: (name == "xrle").then_some(0x2001_0522),
            ..Options::default()
        };
        let (elf, mut lines) = (captures.join("riscv/elf").join(elf), Lines::default());
        let (stop, output) = run(&elf, &options, expected.len() as u64 + 10, &mut lines);
        let lines = lines.lines;
        let same =
            |(a, b): &(&Line, &Line)| (a.0, a.2, a.3) == (b.0, b.2, b.3) && (a.1 == b.1 || a.3.is_some());
        let equal = lines.iter().zip(&expected).take_while(same).count();
        if equal != expected.len() {
            let around = equal.saturating_sub(3)..(equal + 3).min(expected.len());
            let lines: Vec<_> =
                around.map(|i| format!("  {:x?} expected {:x?}", lines.get(i), expected.get(i))).collect();
            failed.push(format!(
                "{name}: {equal} of {}; {stop:?}, {output:?}\n{}",
                expected.len(),
                lines.join("\n")
            ));
        }
        compared += equal;
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(compared > 13_700_000, "{compared} lines");
}

/// Also those without a trace of Spike: they check themselves.
#[test]
fn all_programs_run_to_their_end() {
    let Some(captures) = captures_for("bare-metal programs", "") else { return };
    let mut count = 0;
    for entry in std::fs::read_dir(captures.join("riscv/elf")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let (elf, arguments) = match name.as_str() {
            // The first runs the second.
            "pk.riscv" => continue,
            "hello_world.pk" => {
                let program = path.to_str().unwrap().to_owned();
                (path.with_file_name("pk.riscv"), vec!["pk".into(), program])
            }
            // Its start is for a particular board; its trace begins at main.
            "xrle.riscv" => continue,
            _ => (path, Vec::new()),
        };
        let more_memory = if name == "br_j_asm.riscv" { vec![(0x2001_0000, 0x1_0000)] } else { Vec::new() };
        let pmp_regions = if name.starts_with("test_discon") { 0 } else { 16 };
        let host_files = elf.parent().map(Path::to_path_buf);
        let options = Options { arguments, more_memory, pmp_regions, host_files, ..Options::default() };
        let (stop, output) = run(&elf, &options, 60_000_000, &mut ());
        assert_eq!(stop, Stop::Exit { status: 0 }, "{name}: {output}");
        assert!(name != "hello_world.pk" || output.contains("Hello world!"), "{output}");
        count += 1;
    }
    assert!(count >= 29, "{count}");
}
