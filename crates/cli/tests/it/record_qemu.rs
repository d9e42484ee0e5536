//! `tracewright record --qemu`, as people and scripts use it: what goes wrong, and how it ends.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::run::{command, good, stderr, stdout, text, tracewright, value};
use serde_json::Value;
use tracewright_testkit::Scratch;
use tracewright_testkit::qemu::{Guest, Variant, build};

fn record(arguments: &[&str]) -> Command {
    let mut command = command(&["record", "--qemu"]);
    command.args(arguments);
    command.env_remove("QEMU_LD_PREFIX").env_remove("TRACEWRIGHT_QEMU_PLUGIN");
    command
}

/// It ends with status 2, and says all of this.
fn refused(mut command: Command, expected: &[&str]) {
    let output = command.output().unwrap();
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    for part in expected {
        assert!(told.contains(part), "{told}");
    }
}

/// An ELF file with nothing but its head, for this processor.
fn elf(folder: &Scratch, name: &str, class: u8, machine: u8) -> PathBuf {
    let mut bytes = vec![0; 64];
    bytes[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1, 1]);
    bytes[16] = 2;
    bytes[18] = machine;
    bytes[24] = 1;
    folder.write(name, &bytes)
}

#[test]
fn what_cannot_run_is_refused_with_a_reason() {
    let folder = Scratch::new("record-qemu");
    let arm = elf(&folder, "arm", 1, 40);
    let x86 = elf(&folder, "x86", 2, 62);
    let rv32 = elf(&folder, "rv32", 1, 243);
    let riscv = elf(&folder, "riscv", 2, 243);
    let script = folder.write("script", b"#!/usr/bin/env python3\n");
    refused(record(&[text(&x86)]), &["x86: a program for x86-64: aarch64, arm and riscv64 can be recorded"]);
    refused(record(&[text(&rv32)]), &["a 32-bit RISC-V program"]);
    refused(record(&[text(&script)]), &["a script", "tracewright record --qemu python3 -- "]);
    refused(record(&["no/such/program"]), &["there is no program no/such/program"]);
    let inside = format!("there is no program a, and no {}", folder.path().join("a").display());
    refused(record(&["--sysroot", text(folder.path()), "a"]), &[&inside]);
    refused(
        record(&["--sysroot", "/no/such/root", text(&arm)]),
        &["--sysroot /no/such/root: cannot be read"],
    );
    let out = folder.path().join("out");
    refused(
        record(&["--protocol", "etrace", "-o", text(&out), text(&arm)]),
        &["--protocol etrace is for RISC-V programs; this one is for Arm: etm4"],
    );
    refused(
        record(&["--protocol", "etm4", "-o", text(&out), text(&riscv)]),
        &["--protocol etm4 is for Arm programs; this one is for RISC-V: etrace"],
    );
    refused(record(&["--protocol", "etm4", text(&arm)]), &["say where the capture goes, with -o DIR"]);
    refused(
        record(&["--data", "addresses", text(&riscv)]),
        &["--data: say where it goes, with -o DIR or --log FILE"],
    );
    refused(
        record(&["--data", "addresses", "-o", text(&out), text(&arm)]),
        &["--data: ETMv4 of Arm's application processors has no data trace; add --log FILE"],
    );
    refused(record(&["--machine", "linux", text(&arm)]), &["--machine", "cannot be used with"]);
    refused(record(&["--timing", "tiny", text(&arm)]), &["--timing", "cannot be used with"]);
}

#[test]
fn what_is_missing_is_named_with_what_to_install() {
    let folder = Scratch::new("record-qemu");
    let arm = elf(&folder, "arm", 1, 40);
    let mut command = record(&[text(&arm)]);
    command.env("PATH", folder.path());
    refused(command, &["there is no qemu-arm in PATH: install Debian's package qemu-user"]);
    folder.write("qemu-arm-static", b"");
    let mut command = record(&[text(&arm)]);
    command.env("PATH", folder.path());
    refused(command, &["qemu-arm-static cannot load plugins", "install Debian's package qemu-user"]);
    refused(
        record(&["--qemu-path", "/no/qemu", text(&arm)]),
        &["--qemu-path /no/qemu: there is no such file"],
    );
    let mut command = record(&["--qemu-path", "/bin/true", text(&arm)]);
    command.env("TRACEWRIGHT_QEMU_PLUGIN", "/no/plugin.so");
    let build = "cargo build --release -p tracewright-qemu";
    refused(command, &["$TRACEWRIGHT_QEMU_PLUGIN is /no/plugin.so", build]);
}

/// A QEMU that is none: what it says is there, and what came of it is said.
#[test]
fn a_qemu_that_fails_is_told() {
    let folder = Scratch::new("record-qemu");
    let arm = elf(&folder, "arm", 1, 40);
    let script =
        "#!/bin/sh\n[ $1 != --help ] || { echo \"$HELP\"; exit; }\necho \"not today: $2\" >&2\nexit 3\n";
    let qemu = folder.write("qemu", script.as_bytes());
    std::fs::set_permissions(&qemu, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = record(&["--qemu-path", text(&qemu), text(&arm)]);
    // Any file will do: this one is not loaded.
    command.env("TRACEWRIGHT_QEMU_PLUGIN", &arm).env("HELP", "-plugin file");
    refused(command, &["not today: /", ",socket=/", "ended (exit status 3) before it ran the program"]);
    let mut command = record(&["--qemu-path", text(&qemu), text(&arm)]);
    command.env("TRACEWRIGHT_QEMU_PLUGIN", &arm).env("HELP", "-cpu model");
    refused(command, &["qemu was built without plugins, as Debian 13's is"]);
    std::fs::set_permissions(&qemu, std::fs::Permissions::from_mode(0o644)).unwrap();
    let mut command = record(&["--qemu-path", text(&qemu), text(&arm)]);
    command.env("TRACEWRIGHT_QEMU_PLUGIN", &arm);
    refused(command, &["cannot be run: "]);
}

/// A program of ours, built for this processor.
fn program(test: &str, guest: Guest, name: &str) -> Option<PathBuf> {
    if !guest.available(test) {
        return None;
    }
    build(test, guest, name, Variant::Static)
}

/// Instructions that `decode` finds in a capture.
fn decoded(dir: &Path) -> u64 {
    let output = tracewright(&["decode", "--summary", "--json", text(dir)]);
    assert!(output.status.success(), "{}", stderr(&output));
    let told = String::from_utf8(output.stdout).unwrap();
    let lines = told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter_map(|line| line["instructions"].as_u64()).sum()
}

/// However a program ends, the capture has all that it did until then; the status is its own, as in a shell.
#[test]
fn captures_are_whole_however_programs_end() {
    for guest in [Guest::Aarch64, Guest::Riscv64] {
        let Some(crash) = program("captures_are_whole_however_programs_end", guest, "crash") else { return };
        let folder = Scratch::new("record-qemu");
        let (dir, json) = (folder.path().join("run"), folder.path().join("run.json"));
        let log = folder.path().join("run.log");
        let options = ["-o", text(&dir), "--log", text(&log), "--summary", text(&json)];
        let output = record(&[&options[..], &[text(&crash), "--", "null"]].concat()).output().unwrap();
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(139), "{told}");
        assert!(told.contains(": killed by SIGSEGV: "), "{told}");
        let summary = value(&json);
        assert_eq!(summary["signal"], "SIGSEGV");
        let instructions = summary["instructions"].as_u64().unwrap();
        assert!(instructions > 1000, "{summary}");
        assert_eq!(decoded(&dir), instructions);
        assert!(log.metadata().unwrap().len() > 4096);
    }
}

/// Somebody kills QEMU: what was recorded until then is a capture.
#[test]
fn a_killed_qemu_leaves_a_capture() {
    let Some(forever) = program("a_killed_qemu_leaves_a_capture", Guest::Aarch64, "crash") else { return };
    let folder = Scratch::new("record-qemu");
    let (dir, json) = (folder.path().join("run"), folder.path().join("run.json"));
    let log = folder.path().join("run.log");
    let options =
        ["-o", text(&dir), "--log", text(&log), "--summary", text(&json), text(&forever), "--", "forever"];
    let child = record(&options).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    // QEMU is the only child.
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let qemu = std::fs::read_to_string(children).unwrap();
    let killed = Command::new("sh").args(["-c", &format!("kill -9 {}", qemu.trim())]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(137), "{told}");
    assert!(told.contains("killed by SIGKILL: "), "{told}");
    let instructions = value(&json)["instructions"].as_u64().unwrap();
    assert_eq!(decoded(&dir), instructions);
    let told = good(&["decode", text(&dir), "--check", text(&log)]);
    assert!(told.contains(&format!("equal: {instructions} instructions")), "{told}");
}

/// Somebody kills us: QEMU does not live on, what it recorded for us is removed by the next recording, and what was traced can be read.
#[test]
fn a_killed_recorder_takes_qemu_with_it() {
    let test = "a_killed_recorder_takes_qemu_with_it";
    let Some(forever) = program(test, Guest::Riscv64, "crash") else { return };
    let folder = Scratch::new("record-qemu");
    let (dir, memory) = (folder.path().join("run"), folder.path().join("memory"));
    std::fs::create_dir(&memory).unwrap();
    let options = ["-o", text(&dir), text(&forever), "--", "forever"];
    let mut command = record(&options);
    command.env("XDG_RUNTIME_DIR", &memory).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let trace = dir.join("thread0.bin");
    let start = std::time::Instant::now();
    while trace.metadata().map_or(0, |file| file.len()) < 100_000 {
        assert!(start.elapsed() < Duration::from_secs(120), "it traces");
        std::thread::sleep(Duration::from_millis(20));
    }
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let qemu = std::fs::read_to_string(children).unwrap().trim().to_owned();
    assert!(Path::new(&format!("/proc/{qemu}")).exists(), "{qemu:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    let start = std::time::Instant::now();
    let is_there = || {
        let state = std::fs::read_to_string(format!("/proc/{qemu}/stat")).unwrap_or_default();
        !state.is_empty() && !state.contains(") Z ")
    };
    while is_there() {
        assert!(start.elapsed() < Duration::from_secs(20), "QEMU lives on as {qemu}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let left = || std::fs::read_dir(&memory).unwrap().count();
    assert_eq!(left(), 1, "the folder of the one that was killed");
    let output = tracewright(&["decode", text(&dir), "--summary", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("the recording was not finished"), "{}", stderr(&output));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(told["instructions"].as_u64().unwrap() > 1000, "{told}");
    let options = ["--max-instructions", "5000", "-o", text(&dir), text(&forever), "--", "forever"];
    record(&options).env("XDG_RUNTIME_DIR", &memory).output().unwrap();
    assert_eq!(left(), 0, "what was left is removed by the next recording");
}

/// Code of a stripped program is shown with the program's name, and the offset in it.
#[test]
fn stripped_programs_are_named() {
    const TEST: &str = "stripped_programs_are_named";
    let guest = Guest::Aarch64;
    let Some(elf) = build(TEST, guest, "unwind", Variant::Stripped).filter(|_| guest.available(TEST)) else {
        return;
    };
    let folder = Scratch::new("record-qemu");
    let dir = folder.path().join("run");
    let options = ["-q", "--sysroot", text(guest.libraries()), "-o", text(&dir), text(&elf)];
    let output = record(&options).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let told = stdout(&tracewright(&["decode", text(&dir)]));
    assert!(told.contains(" unwind-stripped[0x"), "{}", &told[..told.len().min(2000)]);
    assert!(told.contains(" ld-linux-aarch64.so.1[0x"));
    assert!(!told.contains("memory_"));
}

#[test]
fn a_symbol_that_is_nowhere_is_told_once() {
    let Some(unwind) = program("a_symbol_that_is_nowhere_is_told_once", Guest::Riscv64, "unwind") else {
        return;
    };
    let output = record(&["--start", "no_such_symbol", text(&unwind)]).output().unwrap();
    let told = stderr(&output);
    assert_eq!(
        told.matches("start=no_such_symbol: no program or library that ran has a symbol").count(),
        1,
        "{told}"
    );
}

/// Whoever only has our number can stop it: what was recorded is kept.
#[test]
fn a_signal_to_us_stops_it() {
    let Some(forever) = program("a_signal_to_us_stops_it", Guest::Riscv64, "crash") else { return };
    let folder = Scratch::new("record-qemu");
    let dir = folder.path().join("run");
    let options = ["-o", text(&dir), text(&forever), "--", "forever"];
    let child =
        record(&options).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let told = Command::new("sh").args(["-c", &format!("kill -TERM {}", child.id())]).status().unwrap();
    assert!(told.success());
    let output = child.wait_with_output().unwrap();
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(143), "{told}");
    assert!(told.contains("stopped by a signal (Ctrl-C) after "), "{told}");
    assert!(decoded(&dir) > 1000);
}

/// A full disk stops QEMU, and is told.
#[test]
fn a_full_disk_is_told() {
    let Some(cpu) = program("a_full_disk_is_told", Guest::Aarch64, "cpu") else { return };
    let output = record(&["--log", "/dev/full", text(&cpu)]).output().unwrap();
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("/dev/full: cannot write: No space left on device"), "{told}");
}

#[test]
fn only_as_many_instructions_as_asked_for() {
    let Some(cpu) = program("only_as_many_instructions_as_asked_for", Guest::Arm, "cpu") else { return };
    let folder = Scratch::new("record-qemu");
    let (dir, json) = (folder.path().join("run"), folder.path().join("run.json"));
    let options = ["--max-instructions", "5000", "-o", text(&dir), "--summary", text(&json), text(&cpu)];
    let output = record(&options).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(value(&json)["instructions"], 5000);
    // If the last is a branch, nobody knows where it led, and the trace leaves it out.
    let left_out = u64::from(stderr(&output).contains("branches that are not in the trace: 1;"));
    assert_eq!(decoded(&dir), 5000 - left_out, "{}", stderr(&output));
}

/// Both protocols go through the trace port, while the program runs and from its log: the smallest buffer is the same, and what a smaller one
/// loses is what decoders do not find.
#[test]
fn traces_go_through_ports() {
    for guest in [Guest::Aarch64, Guest::Riscv64] {
        let Some(crash) = program("traces_go_through_ports", guest, "crash") else { return };
        let folder = Scratch::new("record-qemu");
        let (dir, json) = (folder.path().join("run"), folder.path().join("run.json"));
        let log = folder.path().join("run.log");
        let options = ["--port", "1/8", "-o", text(&dir), "--log", text(&log), "--summary", text(&json)];
        let output = record(&[&options[..], &[text(&crash), "--", "null"]].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(139), "{}", stderr(&output));
        let recorded = value(&json)["port"].clone();
        assert_eq!(recorded["cycles_are_instructions"], true);
        let encode = |more: &[&str]| {
            let encode = ["encode", text(&log), "-o", text(&dir), "--summary", text(&json), "--port", "1/8"];
            good(&[&encode, more].concat());
            value(&json)["port"].clone()
        };
        let encoded = encode(&[]);
        assert_eq!(encoded, recorded);
        let smallest = encoded["smallest_buffer_bits"].as_u64().unwrap();
        let limited = |bits: u64, when_full: &str| {
            encode(&["--buffer", &format!("{bits}bits"), "--when-full", when_full])["buffer"].clone()
        };
        for when_full in ["stall", "drop"] {
            let enough = limited(smallest, when_full);
            assert_eq!((&enough["losses"], &enough["stall_cycles"]), (&0.into(), &0.into()), "{enough}");
            let less = limited(smallest - 1, when_full);
            assert!(less["losses"] != 0 || less["stall_cycles"] != 0, "{less}");
        }
        let buffer = limited(768, "drop");
        let lost = buffer["lost_instructions"].as_u64().unwrap();
        assert!(lost > 0, "{buffer}");
        assert_eq!(Some(decoded(&dir) + lost), encoded["instructions"].as_u64(), "{buffer}");
    }
}
