//! `tracewright record`, as people and scripts use it.

use std::process::{Command, Output};

use crate::run::{command, root, stderr, stdout, tracewright, value};
use tracewright_testkit::{Scratch, captures_for};

fn record(arguments: &[&str]) -> Output {
    tracewright(&[&["record"], arguments].concat())
}

#[test]
fn the_status_is_the_programs_own() {
    let output =
        record(&["--env", "LANG=C", "programs/bin/args.elf", "--", "one", "two", "status=7", "three"]);
    assert_eq!(output.status.code(), Some(7));
    assert!(stdout(&output).contains("args: checksum"), "{}", stdout(&output));
    assert!(stderr(&output).contains("args.elf: exit status 7;"), "{}", stderr(&output));
}

/// QEMU counts the system calls among the instructions: 21,502,953 and 5.
#[test]
fn the_summary_adds_up() {
    let folder = Scratch::new("record");
    let path = folder.write("summary.json", b"");
    let output = record(&["-q", "--summary", path.to_str().unwrap(), "programs/bin/sort.elf"]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    let summary = value(&path);
    assert_eq!(summary["instructions"], 21_502_948);
    assert_eq!(summary["system_calls"], 5);
    let count = |name: &str| summary[name].as_u64().unwrap();
    assert_eq!(count("blocks"), count("branches") + count("calls") + count("returns") + count("jumps") + 5);
    assert!(count("branches_taken") < count("branches"));
}

#[test]
fn a_log_and_what_is_read_from_it_are_the_same_run() {
    let folder = Scratch::new("record");
    let file = |name: &str| folder.write(name, b"").to_str().unwrap().to_owned();
    let (log, listed, again) = (file("run.log"), file("listing"), file("again"));
    let (first, second) = (file("first.json"), file("second.json"));
    let program = ["programs/bin/jumps.elf"];
    let how = ["-q", "--log", &log, "--details", "all", "--listing", &listed, "--summary", &first];
    assert_eq!(record(&[&how[..], &program].concat()).status.code(), Some(0));
    assert_eq!(
        record(&["-q", "--from", &log, "--listing", &again, "--summary", &second]).status.code(),
        Some(0)
    );
    assert_eq!(std::fs::read(&listed).unwrap(), std::fs::read(&again).unwrap());
    let (first, second) = (value(&first), value(&second));
    for name in [
        "instructions",
        "blocks",
        "branches",
        "branches_taken",
        "calls",
        "loads",
        "stored_bytes",
        "system_calls",
    ] {
        assert_eq!(first[name], second[name], "{name}");
    }
    let lines = std::fs::read_to_string(&listed).unwrap().lines().count() as u64;
    assert_eq!(lines, first["instructions"].as_u64().unwrap() + first["system_calls"].as_u64().unwrap());
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
        let output = record(&["-q", &format!("programs/bin/{name}.elf")]);
        assert_eq!(output.status.code(), Some(status), "{name}: {}{}", stdout(&output), stderr(&output));
        assert!(stdout(&output).contains(says), "{name}: {}", stdout(&output));
    }
}

#[test]
fn cycles_come_from_a_model() {
    let folder = Scratch::new("record");
    let path = folder.write("summary.json", b"");
    let output =
        record(&["--timing", "tiny", "--summary", path.to_str().unwrap(), "programs/bin/recursion.elf"]);
    assert_eq!(output.status.code(), Some(0));
    let summary = value(&path);
    assert!(summary["cycles"].as_u64().unwrap() > summary["instructions"].as_u64().unwrap());
    assert!(stderr(&output).contains("an instruction"), "{}", stderr(&output));
    let settings = record(&["--timing", "print"]);
    let file = folder.write("model.txt", &settings.stdout);
    assert_eq!(
        record(&["-q", "--timing", file.to_str().unwrap(), "programs/bin/args.elf"]).status.code(),
        Some(0)
    );
    let bad = folder.write("bad.txt", b"retire_with = 2\n");
    let output = record(&["--timing", bad.to_str().unwrap(), "programs/bin/args.elf"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("retire_width"), "{}", stderr(&output));
}

/// What went wrong, where, and what was executed before.
#[test]
fn a_program_that_goes_wrong_says_where() {
    let output = record(&["--max-instructions", "100000", "programs/bin/sort.elf"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(text.contains("stopped after 100000 instructions (--max-instructions)"), "{text}");
    assert_eq!(
        text.lines().filter(|line| line.contains(" instruction") && line.contains("0x")).count(),
        16,
        "{text}"
    );
    assert!(text.contains("next_random+0x0"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");

    let elf = std::fs::read(root().join("programs/bin/sort.elf")).unwrap();
    let folder = Scratch::new("record");
    let cut = folder.write("cut.elf", &elf[..300]);
    let text = stderr(&record(&[cut.to_str().unwrap()]));
    assert!(text.contains("cut.elf: ") && text.contains("cut short"), "{text}");

    for (file, says) in [
        ("README.md", "not ELF"),
        ("no-such-file", "No such file"),
        (env!("CARGO_BIN_EXE_tracewright"), "it is an"),
    ] {
        let output = record(&[file]);
        assert_eq!(output.status.code(), Some(2), "{file}");
        assert!(stderr(&output).contains(says), "{file}: {}", stderr(&output));
    }
}

#[test]
fn an_arm_program_is_told_where_to_go() {
    let Some(captures) = captures_for("record on an Arm program", "") else { return };
    let path = captures.join("process/elf/branches");
    let output = record(&[path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("tracewright decode"), "{}", stderr(&output));
}

#[test]
fn what_was_recorded_before_the_end_is_kept() {
    let folder = Scratch::new("record");
    let log = folder.write("run.log", b"");
    let log = log.to_str().unwrap();
    let how = ["-q", "--log", log, "--max-instructions", "1000", "programs/bin/sort.elf"];
    assert_eq!(record(&how).status.code(), Some(1));
    let output = record(&["--from", log]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("1 000"), "{}", stderr(&output));
    // A log that is cut or damaged says so, with the offset.
    let bytes = std::fs::read(log).unwrap();
    std::fs::write(log, &bytes[..bytes.len() - 5]).unwrap();
    let output = record(&["--from", log]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("offset 0x"), "{}", stderr(&output));
}

/// Ctrl-C keeps what was recorded.
#[test]
#[cfg(unix)]
fn an_endless_program_can_be_stopped() {
    let folder = Scratch::new("record");
    let log = folder.write("run.log", b"");
    let log = log.to_str().unwrap();
    let mut child = command(&["record", "--log", log, "programs/bin/jumps.elf", "--", "1000000000"])
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // It is running when its log has begun.
    while std::fs::metadata(log).unwrap().len() == 0 {
        assert_eq!(child.try_wait().unwrap(), None);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("stopped by a signal (Ctrl-C)"), "{}", stderr(&output));
    assert_eq!(record(&["-q", "--from", log]).status.code(), Some(0));
}
