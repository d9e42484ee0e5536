//! Programs do the same on the hart and under QEMU.

use crate::support;

use std::path::{Path, PathBuf};
use std::process::Output;

use support::{How, Lines, Ran, run};
use tracewright_hart::Stop;
use tracewright_testkit::qemu::{self, Guest};
use tracewright_testkit::riscv::{self, Program};
use tracewright_testkit::{Rng, Scratch};

/// A line of `programs/cases.txt`.
struct Case {
    name: String,
    elf: PathBuf,
    status: i32,
    arguments: Vec<String>,
    input: Vec<u8>,
    output: Vec<u8>,
}

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs").canonicalize().unwrap()
}

fn cases() -> Vec<Case> {
    let folder = programs();
    let text = std::fs::read_to_string(folder.join("cases.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let case = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let file = |kind: &str| folder.join("expected").join(format!("{}.{kind}", words[0]));
        Case {
            name: words[0].into(),
            elf: folder.join("bin").join(format!("{}.elf", words[1])),
            status: words[2].parse().unwrap(),
            arguments: words[3..].iter().map(|&word| word.into()).collect(),
            input: std::fs::read(file("in")).unwrap_or_default(),
            output: std::fs::read(file("txt")).unwrap(),
        }
    };
    lines.map(case).collect()
}

/// The expected files are what QEMU printed (`programs/build --check` compares).
#[test]
fn sample_programs_print_what_they_should() {
    let cases = cases();
    assert!(cases.len() >= 15);
    for case in cases {
        let arguments: Vec<_> = case.arguments.iter().map(String::as_str).collect();
        let how = How {
            arguments: &arguments,
            environment: &["LANG=C"],
            input: &case.input,
            folder: Some(&programs()),
        };
        let ran = run(&case.elf, &how, &mut ());
        let (output, expected) =
            (String::from_utf8_lossy(&ran.output), String::from_utf8_lossy(&case.output));
        assert_eq!(ran.stop, Stop::Exit { status: case.status }, "{}: {output}", case.name);
        assert_eq!(output, expected, "{}", case.name);
    }
}

#[test]
fn sample_programs_run_through_the_addresses_that_qemu_runs_through() {
    if !Guest::Riscv64.available("program counters") {
        return;
    }
    for (name, arguments) in [
        ("sort", &["300"][..]),
        ("hash", &["500"]),
        ("fft", &["6"]),
        ("matrix", &["12"]),
        ("interpreter", &["60"]),
        ("jumps", &[]),
        ("atomics", &[]),
    ] {
        let elf = programs().join("bin").join(format!("{name}.elf"));
        let mut ours = Lines::default();
        run(&elf, &How { arguments, ..How::default() }, &mut ours);
        let mut count = 0;
        let theirs = qemu::Program::new(Guest::Riscv64, &elf, arguments);
        for (i, theirs) in theirs.program_counters().unwrap().enumerate() {
            assert_eq!(ours.lines.get(i).map(|line| line.0), Some(theirs), "{name}: instruction {i}");
            count += 1;
        }
        assert_eq!(ours.lines.len(), count, "{name}");
        assert!(count > 10_000, "{name}: {count}");
    }
}

/// For more: `HART_SEEDS=1000-9000 cargo test --release -p tracewright-hart --test it qemu`.
#[test]
fn random_programs_end_in_the_state_that_qemu_says() {
    if !Guest::Riscv64.available("random programs") {
        return;
    }
    let seeds = std::env::var("HART_SEEDS").unwrap_or("0-500".into());
    let (from, to) = seeds.split_once('-').unwrap();
    let folder = Scratch::new("qemu");
    for seed in from.parse::<u64>().unwrap()..to.parse().unwrap() {
        let program = riscv::generate(&mut Rng::new(seed));
        let elf = folder.write(format!("{seed}.elf"), &program.elf());
        let qemu = qemu::Program::new(Guest::Riscv64, &elf, &[]);
        let theirs = qemu.run(&[]).unwrap();
        let mut lines = Lines::default();
        let ours = run(&elf, &How::default(), &mut lines);
        compare(seed, &program, &ours, &theirs);
        // For every tenth, compare the path too.
        if seed % 10 == 0 {
            let theirs: Vec<_> = qemu.program_counters().unwrap().collect();
            let differs = lines.lines.iter().zip(&theirs).position(|(ours, theirs)| ours.0 != *theirs);
            assert_eq!(differs, None, "seed {seed}");
            assert_eq!(lines.lines.len(), theirs.len(), "seed {seed}");
        }
    }
}

fn compare(seed: u64, program: &Program, ours: &Ran, theirs: &Output) {
    assert_eq!(ours.stop, Stop::Exit { status: theirs.status.code().unwrap() }, "seed {seed}");
    assert_eq!(theirs.stdout.len(), program.output_len(), "seed {seed}");
    let registers = |output: &[u8]| Program::registers(output).unwrap();
    for (i, (ours, theirs)) in registers(&ours.output).iter().zip(registers(&theirs.stdout)).enumerate() {
        assert_eq!(*ours, theirs, "seed {seed}: register {i}: {ours:#x}, QEMU has {theirs:#x}");
    }
    assert!(ours.output == theirs.stdout, "seed {seed}: memory differs");
}
