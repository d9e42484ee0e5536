//! `--when`, `--ring` and `--trigger`: what is decoded is what was asked for.

use std::fs;

use crate::run::{ETRACE, Ran, command, elf, hex, ran, run, text};
use tracewright_testkit::Scratch;
use tracewright_testkit::qemu::{Guest, Variant, build};

/// An instruction: its address, and the symbol that it is in.
type Instruction = (u64, String);

fn instructions(dir: &str) -> Vec<Instruction> {
    let listed = run!("decode --instructions --json {dir}").good();
    // There are many: they are not read as JSON.
    let value = |line: &str, name: &str| {
        let (_, rest) = line.split_once(&format!("\"{name}\":\""))?;
        rest.split('"').next().map(str::to_owned)
    };
    let lines = listed.lines().filter(|line| line.contains("\"kind\":\"instruction\""));
    lines
        .map(|line| (hex(&value(line, "address").unwrap()), value(line, "function").unwrap_or_default()))
        .collect()
}

/// All instructions of a program, and those that qualify.
fn record(when: &str, more: &str) -> (Vec<Instruction>, Vec<Instruction>, String) {
    let scratch = Scratch::new("control");
    let (all, some) = (scratch.join("all"), scratch.join("some"));
    run!("{ETRACE} {all} programs/bin/sort.elf -- 50").ends(0);
    let Ran { err, .. } = run!("{ETRACE} {some} --when '{when}' {more} programs/bin/sort.elf -- 50").ends(0);
    (instructions(&all), instructions(&some), err)
}

#[test]
fn a_function_alone() {
    let (all, some, told) = record("pc in main..main_end", "");
    let expected: Vec<_> = all.into_iter().filter(|(_, symbol)| symbol == "main").collect();
    assert!(!expected.is_empty());
    assert_eq!(some, expected);
    assert_eq!(told, "");
}

#[test]
fn from_an_address_on_for_some_instructions() {
    let (all, some, _) = record("start at main for 777 instructions", "");
    let main = all.iter().position(|(_, symbol)| symbol == "main").unwrap();
    assert_eq!(some, all[main..main + 777]);
}

#[test]
fn from_event_to_event() {
    let events =
        "--when-event on@instruction=1000 --when-event off@cycle=1501 --when-event on@instruction=3000";
    let (all, some, _) = record("start on on; stop on off for 600 cycles", events);
    // Without a model, the first instruction is in cycle 1.
    let expected = [&all[1000..1500], &all[3000..3600]].concat();
    assert_eq!(some, expected);
}

/// With a model of time, cycles are its own.
#[test]
fn cycles_are_those_of_the_model() {
    let (all, some, _) = record("cycle in 1000..2000", "--timing cva6_like");
    assert!(some.len() > 10 && some.len() < 1000, "{}", some.len());
    assert!(all.windows(some.len()).any(|part| part == some));
}

#[test]
fn what_never_qualifies_is_said() {
    let scratch = Scratch::new("control");
    for (when, expected) in [
        ("priv = m", "nothing qualified: none of "),
        ("priv = u & priv = m", "no instruction can ever be so"),
        ("start at 0x2", "tracing never started: nothing of "),
    ] {
        let ran = run!("{ETRACE} {} --when '{when}' programs/bin/args.elf", scratch.join("none")).ends(0);
        ran.says(format!("--when \"{when}\": {expected}"));
    }
}

/// What is traced while a program runs is what is traced from its log.
#[test]
fn logs_give_the_same_trace() {
    let scratch = Scratch::new("control");
    let [none, log, live, logged, from] =
        ["none", "run.log", "live", "logged", "from"].map(|name| scratch.join(name));
    let program = elf("tasks");
    for details in ["blocks", "all"] {
        run!("{ETRACE} {none} --log {log} --details {details} {program}").ends(0);
        for when in
            ["isr", "pc in main..main+0x13 | instruction in 1001..2003", "start when isr for 33 instructions"]
        {
            run!("{ETRACE} {live} --when '{when}' {program}").ends(0);
            run!("encode {log} --image {program} -o {logged} -q --when '{when}'").ends(0);
            run!("{ETRACE} {from} --from-log {log} --when '{when}' {program}").ends(0);
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
    let record = |name: &str, more: &str| {
        let dir = scratch.join(name);
        let sort = "programs/bin/sort.elf -- 300";
        let Ran { err, .. } = run!("record -o {dir} --option resync_max=0 {more} {sort}").ends(0);
        (fs::read(format!("{dir}/trace.bin")).unwrap(), instructions(&dir), err)
    };
    let (bytes, all, _) = record("all", "");
    let (end, some, _) = record("end", "--ring 1K");
    assert_eq!(end, bytes[bytes.len() - 1024..]);
    assert!(some.len() > 500 && all.ends_with(&some), "{}", some.len());
    // The program prints at its end only.
    for (position, name) in [("25", "early"), ("90", "late")] {
        let how = format!("--ring 1K --trigger exception --position {position}");
        let (around, some, told) = record(name, &how);
        assert!(around.len() <= 1024 && told.contains("came within the first "), "{told}");
        assert!(some.len() > 100 && all.windows(some.len()).any(|part| part == some), "{}", some.len());
    }
    let (never, _, told) = record("never", "--ring 1K --trigger 'cause = 5'");
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
        let (program, sysroot) = (text(&program), text(guest.libraries()));
        let scratch = Scratch::new("control");
        let [live, log, all, some] = ["live", "run.log", "all", "some"].map(|name| scratch.join(name));
        let how = format!("-q --symfs {sysroot} --log {log} -o {live} --when 'pc in main'");
        let mut record = command(format_args!("record --qemu {how} {program}"));
        ran(record.env_remove("QEMU_LD_PREFIX")).ends(0);
        run!("encode {log} -o {all} -q").ends(0);
        run!("encode {log} -o {some} -q --when 'pc in main'").ends(0);
        let expected: Vec<_> =
            instructions(&all).into_iter().filter(|(_, symbol)| symbol == "main").collect();
        assert!(!expected.is_empty());
        assert_eq!(instructions(&live), expected, "{guest:?}");
        assert_eq!(instructions(&some), expected, "{guest:?}");
    }
}
