//! `--when`, `--ring` and `--trigger`: what is decoded is what was asked for.

use std::path::{Path, PathBuf};

use crate::run::{command, root, stderr, stdout, text};
use tracewright_testkit::Scratch;
use tracewright_testkit::qemu::{Guest, Variant, build};

fn sample(name: &str) -> PathBuf {
    root().join("programs/bin").join(name)
}

/// Runs the command; what it says on standard error, and on standard output.
fn run(arguments: &[&str]) -> (String, String) {
    let output = command(arguments).env_remove("QEMU_LD_PREFIX").output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    (stderr(&output), stdout(&output))
}

/// An instruction: its address, and the symbol that it is in.
type Instruction = (u64, String);

fn instructions(dir: &Path) -> Vec<Instruction> {
    let (_, listed) = run(&["decode", "--instructions", "--json", text(dir)]);
    // There are many: they are not read as JSON.
    let value = |line: &str, name: &str| {
        let (_, rest) = line.split_once(&format!("\"{name}\":\""))?;
        rest.split('"').next().map(str::to_owned)
    };
    let lines = listed.lines().filter(|line| line.contains("\"kind\":\"instruction\""));
    lines
        .map(|line| {
            let pc = value(line, "pc").unwrap();
            (u64::from_str_radix(&pc[2..], 16).unwrap(), value(line, "symbol").unwrap_or_default())
        })
        .collect()
}

/// All instructions of a program, and those that qualify. They have to be among the first, in order.
fn record(name: &str, when: &str, more: &[&str]) -> (Vec<Instruction>, Vec<Instruction>, String) {
    let scratch = Scratch::new("control");
    let program = sample(name);
    let [all, some] = ["all", "some"].map(|name| scratch.path().join(name));
    run(&["record", "--protocol", "etrace", "-o", text(&all), "-q", text(&program), "--", "50"]);
    let mut arguments = vec!["record", "--protocol", "etrace", "-o", text(&some), "-q", "--when", when];
    arguments.extend(more);
    arguments.extend([text(&program), "--", "50"]);
    let (told, _) = run(&arguments);
    (instructions(&all), instructions(&some), told)
}

#[test]
fn a_function_alone() {
    let (all, some, told) = record("sort.elf", "pc in main..main_end", &[]);
    let expected: Vec<_> = all.into_iter().filter(|(_, symbol)| symbol == "main").collect();
    assert!(!expected.is_empty());
    assert_eq!(some, expected);
    assert_eq!(told, "");
}

#[test]
fn from_an_address_on_for_some_instructions() {
    let (all, some, _) = record("sort.elf", "start at main for 777 instructions", &[]);
    let main = all.iter().position(|(_, symbol)| symbol == "main").unwrap();
    assert_eq!(some, all[main..main + 777]);
}

#[test]
fn from_event_to_event() {
    let events =
        ["--event", "on@instruction=1000", "--event", "off@cycle=1501", "--event", "on@instruction=3000"];
    let (all, some, _) = record("sort.elf", "start on on; stop on off for 600 cycles", &events);
    // Without a model, the first instruction is in cycle 1.
    let expected = [&all[1000..1500], &all[3000..3600]].concat();
    assert_eq!(some, expected);
}

/// With a model of time, cycles are its own.
#[test]
fn cycles_are_those_of_the_model() {
    let (all, some, _) = record("sort.elf", "cycle in 1000..2000", &["--timing", "cva6_like"]);
    assert!(some.len() > 10 && some.len() < 1000, "{}", some.len());
    assert!(all.windows(some.len()).any(|part| part == some));
}

#[test]
fn what_never_qualifies_is_said() {
    let scratch = Scratch::new("control");
    let (dir, program) = (scratch.path().join("none"), sample("args.elf"));
    for (when, expected) in [
        ("priv = m", "--when \"priv = m\": nothing qualified: none of "),
        ("priv = u & priv = m", "--when \"priv = u & priv = m\": no instruction can ever be so"),
        ("start at 0x2", "--when \"start at 0x2\": tracing never started: nothing of "),
    ] {
        let (told, _) =
            run(&["record", "--protocol", "etrace", "-o", text(&dir), "-q", "--when", when, text(&program)]);
        assert!(told.contains(expected), "{told}");
    }
}

/// What is traced while a program runs is what is traced from its log.
#[test]
fn logs_give_the_same_trace() {
    let scratch = Scratch::new("control");
    let program = sample("tasks.elf");
    let path = |name: &str| scratch.path().join(name);
    for details in ["blocks", "all"] {
        let log = path("run.log");
        run(&[
            "record",
            "--protocol",
            "etrace",
            "-o",
            text(&path("none")),
            "--log",
            text(&log),
            "--details",
            details,
            "-q",
            text(&program),
        ]);
        for when in
            ["isr", "pc in main..main+0x13 | instruction in 1001..2003", "start when isr for 33 instructions"]
        {
            let [live, logged, from] = ["live", "logged", "from"].map(path);
            run(&["record", "--protocol", "etrace", "-o", text(&live), "-q", "--when", when, text(&program)]);
            run(&[
                "encode",
                text(&log),
                "--image",
                text(&program),
                "-o",
                text(&logged),
                "-q",
                "--when",
                when,
            ]);
            run(&[
                "record",
                "--from",
                text(&log),
                "--protocol",
                "etrace",
                "-o",
                text(&from),
                "-q",
                "--when",
                when,
                text(&program),
            ]);
            let expected = instructions(&live);
            assert!(!expected.is_empty());
            assert_eq!(instructions(&logged), expected, "{details}, {when}");
            assert_eq!(instructions(&from), expected, "{details}, {when}");
        }
    }
}

/// The ring has the bytes that the whole trace ends with, and where the trigger is.
#[test]
fn a_ring_keeps_what_is_around_the_trigger() {
    let scratch = Scratch::new("control");
    let program = sample("sort.elf");
    let path = |name: &str| scratch.path().join(name);
    let record = |name: &str, more: &[&str]| {
        let dir = path(name);
        let mut arguments =
            vec!["record", "--protocol", "etrace", "-o", text(&dir), "-q", "--option", "resync_max=0"];
        arguments.extend(more);
        arguments.extend([text(&program), "--", "300"]);
        let (told, _) = run(&arguments);
        (std::fs::read(dir.join("trace.bin")).unwrap(), instructions(&dir), told)
    };
    let (bytes, all, _) = record("all", &[]);
    let (end, some, _) = record("end", &["--ring", "1K"]);
    assert_eq!(end, bytes[bytes.len() - 1024..]);
    assert!(some.len() > 500 && all.ends_with(&some), "{}", some.len());
    // The program prints at its end only.
    let trigger = ["--ring", "1K", "--trigger", "exception", "--position"];
    for (position, name) in [("25", "early"), ("90", "late")] {
        let (around, some, told) = record(name, &[&trigger[..], &[position]].concat());
        assert!(around.len() <= 1024 && told.contains("came within the first "), "{told}");
        assert!(some.len() > 100 && all.windows(some.len()).any(|part| part == some), "{}", some.len());
    }
    let (never, _, told) = record("never", &["--ring", "1K", "--trigger", "cause = 5"]);
    assert_eq!(never, end);
    assert!(told.contains("--trigger \"cause = 5\": it never came"), "{told}");
}

/// Programs under QEMU: ETMv4 and E-Trace, live and from the log.
#[test]
fn programs_under_qemu() {
    const TEST: &str = "programs_under_qemu";
    for guest in [Guest::Aarch64, Guest::Arm, Guest::Riscv64] {
        if !guest.available(TEST) {
            continue;
        }
        let Some(program) = build(TEST, guest, "unwind", Variant::Pie) else { continue };
        let scratch = Scratch::new("control");
        let path = |name: &str| scratch.path().join(name);
        let [live, log, all, some] = ["live", "run.log", "all", "some"].map(path);
        let when = "pc in main";
        let sysroot = guest.libraries();
        run(&[
            "record",
            "--qemu",
            "--sysroot",
            text(sysroot),
            "--log",
            text(&log),
            "-o",
            text(&live),
            "-q",
            "--when",
            when,
            text(&program),
        ]);
        run(&["encode", text(&log), "-o", text(&all), "-q"]);
        run(&["encode", text(&log), "-o", text(&some), "-q", "--when", when]);
        let expected: Vec<_> =
            instructions(&all).into_iter().filter(|(_, symbol)| symbol == "main").collect();
        assert!(!expected.is_empty());
        assert_eq!(instructions(&live), expected, "{guest:?}");
        assert_eq!(instructions(&some), expected, "{guest:?}");
    }
}
