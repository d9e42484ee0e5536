//! `tracewright record`, as people and scripts use it.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::run::{Ran, assert_fits, command, elf, number, root, run, text, value};
use tracewright_testkit::{Scratch, captures_for};

#[test]
fn the_status_is_the_programs_own() {
    let ran = run!("record --env LANG=C programs/bin/args.elf -- one two status=7 three").ends(7);
    ran.prints("args: checksum").says("args.elf: exit status 7;");
}

/// QEMU counts the system calls among the instructions: 21,502,953 and 5.
#[test]
fn the_summary_adds_up() {
    let folder = Scratch::new("record");
    let path = folder.join("summary.json");
    assert_eq!(run!("record -q --summary {path} programs/bin/sort.elf").ends(0).err, "");
    let summary = value(&path);
    assert_eq!(summary["instructions"], 21_502_948);
    assert_eq!(summary["system_calls"], 5);
    let count = |name: &str| number(&summary, name);
    assert_eq!(count("blocks"), count("branches") + count("calls") + count("returns") + count("jumps") + 5);
    assert!(count("branches_taken") < count("branches"));
}

#[test]
fn a_log_and_what_is_read_from_it_are_the_same_run() {
    let folder = Scratch::new("record");
    let [log, listed, again] = ["run.log", "listing", "again"].map(|name| folder.join(name));
    let [first, second] = ["first.json", "second.json"].map(|name| folder.join(name));
    let jumps = elf("jumps");
    run!("record -q --log {log} --details all --listing {listed} --summary {first} {jumps}").ends(0);
    run!("record -q --from {log} --listing {again} --summary {second}").ends(0);
    assert_eq!(fs::read(&listed).unwrap(), fs::read(&again).unwrap());
    let (first, second) = (value(&first), value(&second));
    let names = "instructions blocks branches branches_taken calls loads stored_bytes system_calls";
    for name in names.split(' ') {
        assert_eq!(first[name], second[name], "{name}");
    }
    let lines = fs::read_to_string(&listed).unwrap().lines().count() as u64;
    assert_eq!(lines, number(&first, "instructions") + number(&first, "system_calls"));
}

#[test]
fn programs_without_an_operating_system_run() {
    for (name, status, says) in [
        ("tasks", 0, "tasks: checksum 0xf1ad3424"),
        ("tasks32", 0, "checksum 0xf1ad3424"),
        ("timer", 0, "checksum 0x9ad93345"),
        ("timer32", 0, "checksum 0x9ad93345"),
        ("traps", 0, "checksum 0xf5804987"),
        ("traps32", 0, "checksum 0x0712eeff"),
        ("semihosting", 0, "checksum 0xdb2bef2a"),
        ("semihosting32", 0, "checksum 0xdb2bef2a"),
        ("semihosting-exit", 3, "checksum 0xdb2bef2a"),
    ] {
        run!("record -q {}", elf(name)).ends(status).prints(says);
    }
}

#[test]
fn cycles_come_from_a_model() {
    let folder = Scratch::new("record");
    let (path, model, bad) = (folder.join("summary.json"), folder.join("model.txt"), folder.join("bad.txt"));
    let recursion = run!("record --timing tiny --summary {path} programs/bin/recursion.elf").ends(0);
    recursion.says("an instruction");
    let summary = value(&path);
    assert!(number(&summary, "cycles") > number(&summary, "instructions"));
    fs::write(&model, run!("record --timing print").out).unwrap();
    run!("record -q --timing {model} programs/bin/args.elf").ends(0);
    fs::write(&bad, "retire_with = 2\n").unwrap();
    run!("record --timing {bad} programs/bin/args.elf").ends(2).says("retire_width");
}

/// What went wrong, where, and what was executed before.
#[test]
fn a_program_that_goes_wrong_says_where() {
    let Ran { err: said, .. } = run!("record --max-instructions 100000 programs/bin/sort.elf")
        .ends(1)
        .says("stopped after 100000 instructions (--max-instructions)")
        .says("next_random+0x0");
    let is_last = |line: &&str| line.contains(" instruction") && line.contains("0x");
    assert_eq!(said.lines().filter(is_last).count(), 16, "{said}");
    assert_fits(&said);

    let folder = Scratch::new("record");
    let cut = folder.write("cut.elf", &fs::read(root().join(elf("sort"))).unwrap()[..300]);
    run!("record {}", text(&cut)).says("cut.elf: ").says("cut short");

    for (file, says) in [
        ("README.md", "not ELF"),
        ("no-such-file", "No such file"),
        (env!("CARGO_BIN_EXE_tracewright"), "it is an"),
    ] {
        run!("record {file}").ends(2).says(says);
    }
}

#[test]
fn an_arm_program_is_told_where_to_go() {
    let Some(captures) = captures_for("record on an Arm program", "process/elf/branches") else { return };
    run!("record {}", text(&captures)).ends(2).says("tracewright decode");
}

#[test]
fn what_was_recorded_before_the_end_is_kept() {
    let folder = Scratch::new("record");
    let log = folder.join("run.log");
    run!("record -q --log {log} --max-instructions 1000 programs/bin/sort.elf").ends(1);
    run!("record --from {log}").ends(0).says("1 000");
    // A log that is cut or damaged says so, with the offset.
    let bytes = fs::read(&log).unwrap();
    fs::write(&log, &bytes[..bytes.len() - 5]).unwrap();
    run!("record --from {log}").ends(1).says("offset 0x");
}

/// Ctrl-C keeps what was recorded.
#[test]
#[cfg(unix)]
fn an_endless_program_can_be_stopped() {
    let folder = Scratch::new("record");
    let log = folder.join("run.log");
    let mut command = command(format_args!("record --log {log} programs/bin/jumps.elf -- 1000000000"));
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    // It is running when its log has begun.
    while fs::metadata(&log).map_or(0, |log| log.len()) == 0 {
        assert_eq!(child.try_wait().unwrap(), None);
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(300));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ran = Ran::new("record".into(), child.wait_with_output().unwrap());
    ran.ends(1).says("stopped by a signal (Ctrl-C)");
    run!("record -q --from {log}").ends(0);
}
