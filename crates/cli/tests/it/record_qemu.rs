//! `tracewright record --qemu`, as people and scripts use it: what goes wrong, and how it ends.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::book;
use crate::run::{Ran, command, compiled, number, ran, rows, run, string, text, value, values, wait_until};
use serde_json::Value;
use tracewright_testkit::Scratch;
use tracewright_testkit::qemu::{Guest, Variant, build};

fn record(line: &str) -> Command {
    let mut command = command(format_args!("record --qemu {line}"));
    command.env_remove("QEMU_LD_PREFIX").env_remove("TRACEWRIGHT_QEMU_PLUGIN");
    command
}

/// An ELF file with nothing but its head, for this processor.
fn elf(folder: &Scratch, name: &str, class: u8, machine: u8) -> String {
    let mut bytes = vec![0; 64];
    bytes[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1, 1]);
    bytes[16] = 2;
    bytes[18] = machine;
    bytes[24] = 1;
    text(&folder.write(name, &bytes)).to_owned()
}

#[test]
fn what_cannot_run_is_refused_with_a_reason() {
    let folder = Scratch::new("record-qemu");
    let arm = elf(&folder, "arm", 1, 40);
    let x86 = elf(&folder, "x86", 2, 62);
    let rv32 = elf(&folder, "rv32", 1, 243);
    let riscv = elf(&folder, "riscv", 2, 243);
    let arm64 = elf(&folder, "arm64", 2, 183);
    folder.write("script", b"#!/usr/bin/env python3\n");
    let [script, root, out] = ["script", "", "out"].map(|name| folder.join(name));
    let inside = format!("there is no program a, and no {}", folder.join("a"));
    for (line, expected) in [
        (x86, "x86: a program for x86-64: aarch64, arm and riscv64 can be recorded"),
        (rv32, "a 32-bit RISC-V program"),
        (script.clone(), "a script"),
        (script, "tracewright record python3 "),
        ("no/such/program".into(), "there is no program no/such/program"),
        (format!("--symfs {root} a"), &inside),
        (format!("--symfs /no/such/root {arm}"), "--symfs /no/such/root: cannot be read"),
        (
            format!("--protocol etrace -o {out} {arm}"),
            "--protocol etrace is for RISC-V programs; this one is for Arm: etm4",
        ),
        (
            format!("--protocol etm4 -o {out} {riscv}"),
            "--protocol etm4 is for Arm programs; this one is for RISC-V: etrace",
        ),
        (
            format!("--protocol ptm -o {out} {arm64}"),
            "--protocol ptm is for 32-bit Arm programs; this one is for 64-bit Arm: etm4",
        ),
        (
            format!("--protocol etm3 -o {out} {riscv}"),
            "--protocol etm3 is for 32-bit Arm programs; this one is for RISC-V: etrace",
        ),
        (format!("--protocol etm4 {arm}"), "say where the capture goes, with -o DIR"),
        (format!("--data addresses {riscv}"), "--data: say where it goes, with -o DIR or --log FILE"),
        (
            format!("--data addresses -o {out} {arm}"),
            "--data: ETMv4 of Arm's application processors has no data trace; add --log FILE",
        ),
    ] {
        ran(&mut record(&line)).ends(2).says(expected);
    }
    for option in ["--machine linux", "--timing tiny", "--listing -", "--root /", "--ram 0:1000", "--seed 1"]
    {
        let name = option.split(' ').next().unwrap_or_default();
        for qemu in ["--qemu ", ""] {
            let ran = run!("record {qemu}{option} {arm}").ends(2);
            ran.says(format!("{name} does not work with programs that run under QEMU"));
        }
    }
}

/// Programs for Arm run under QEMU, whether that is asked for or not, and their capture is ETMv4.
#[test]
fn arm_programs_need_no_option() {
    let Some(elf) = program("arm_programs_need_no_option", Guest::Aarch64, "unwind") else { return };
    let place = Place::new();
    let ran = run!("record -o {} --log {} --max-instructions 5000 {elf} -o --json", place.dir, place.log);
    ran.says("unwind-static: a program for aarch64: QEMU runs it");
    run!("info {}", place.dir).ends(0).prints("ETMv4");
    let instructions = |path: &str| {
        let summary = run!("decode {path} --summary --json").ends(0).out;
        let summary: Value = serde_json::from_str(&summary).unwrap();
        summary["instructions"].as_u64().unwrap()
    };
    assert_eq!(instructions(&place.log), 5000);
    // Nobody knows where a branch went that is the last of them: ETMv4 has no packet for it.
    let traced = instructions(&place.dir);
    assert!((4999..=5000).contains(&traced), "{traced}");
}

#[test]
fn what_is_missing_is_named_with_what_to_install() {
    let folder = Scratch::new("record-qemu");
    let arm = elf(&folder, "arm", 1, 40);
    let without = || ran(record(&arm).env("PATH", folder.path())).ends(2);
    without().says("there is no qemu-arm in PATH: install Debian's package qemu-user");
    let unasked = ran(command(format_args!("record {arm}")).env("PATH", folder.path())).ends(2);
    unasked.says("there is no qemu-arm in PATH: install Debian's package qemu-user");
    folder.write("qemu-arm-static", b"");
    without().says("qemu-arm-static cannot load plugins").says("install Debian's package qemu-user");
    let none = ran(&mut record(&format!("--qemu-path /no/qemu {arm}"))).ends(2);
    none.says("--qemu-path /no/qemu: there is no such file");
    let mut command = record(&format!("--qemu-path /bin/true {arm}"));
    let none = ran(command.env("TRACEWRIGHT_QEMU_PLUGIN", "/no/plugin.so")).ends(2);
    none.says("$TRACEWRIGHT_QEMU_PLUGIN is /no/plugin.so").says("cargo build --release -p tracewright-qemu");
}

/// A QEMU that is none: what it says is there, and what came of it is said.
#[test]
fn a_qemu_that_fails_is_told() {
    let folder = Scratch::new("record-qemu");
    let arm = elf(&folder, "arm", 1, 40);
    let script =
        "#!/bin/sh\n[ $1 != --help ] || { echo \"$HELP\"; exit; }\necho \"not today: $2\" >&2\nexit 3\n";
    let qemu = folder.write("qemu", script.as_bytes());
    let run = |help: &str, mode: u32| {
        fs::set_permissions(&qemu, Permissions::from_mode(mode)).unwrap();
        let mut command = record(&format!("--qemu-path {} {arm}", text(&qemu)));
        // Any file will do: this one is not loaded.
        ran(command.env("TRACEWRIGHT_QEMU_PLUGIN", &arm).env("HELP", help)).ends(2)
    };
    let failed = run("-plugin file", 0o755).says("not today: /").says(",socket=/");
    failed.says("ended (exit status 3) before it ran the program");
    run("-cpu model", 0o755).says("qemu was built without plugins, as Debian 13's is");
    run("", 0o644).says("cannot be run: ");
}

/// A program of ours, built for this processor.
fn program(test: &str, guest: Guest, name: &str) -> Option<String> {
    if !guest.available(test) {
        return None;
    }
    build(test, guest, name, Variant::Static).map(|path| text(&path).to_owned())
}

/// Where a recording goes: the capture, the summary and the log.
struct Place {
    folder: Scratch,
    dir: String,
    json: String,
    log: String,
}

impl Place {
    fn new() -> Self {
        let folder = Scratch::new("record-qemu");
        let [dir, json, log] = ["run", "run.json", "run.log"].map(|name| folder.join(name));
        Self { folder, dir, json, log }
    }

    /// The options that say so.
    fn options(&self) -> String {
        format!("-o {} --log {} --summary-json {}", self.dir, self.log, self.json)
    }

    /// Starts a recording of a program that never ends.
    fn start(&self, forever: &str) -> Child {
        let mut command = record(&format!("{} {forever} -- forever", self.options()));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Instructions that `decode` finds in the capture.
    fn decoded(&self) -> u64 {
        // A port that is too slow loses trace.
        let told = run!("decode --summary --json {}", self.dir);
        let told = if told.err.contains("overflow") { told.ends(1).out } else { told.good() };
        values(&told).map(|line| number(&line, "instructions")).sum()
    }

    /// The summary.
    fn summary(&self) -> Value {
        let summary = value(&self.json);
        book::json::check(if summary["verb"] == "record" { "record --qemu" } else { "encode" }, &summary);
        summary
    }
}

/// Sends a signal to a process.
fn signal(name: &str, process: &str) {
    let sent = Command::new("sh").args(["-c", &format!("kill -{name} {process}")]).status();
    assert!(sent.unwrap().success());
}

/// The only child of a recording.
fn qemu(recorder: &Child) -> String {
    let children = format!("/proc/{0}/task/{0}/children", recorder.id());
    fs::read_to_string(children).unwrap().trim().to_owned()
}

fn ended(child: Child) -> Ran {
    Ran::new("record".into(), child.wait_with_output().unwrap())
}

/// However a program ends, the capture has all that it did until then; the status is its own, as in a shell.
#[test]
fn captures_are_whole_however_programs_end() {
    for guest in [Guest::Aarch64, Guest::Riscv64] {
        let Some(crash) = program("captures_are_whole_however_programs_end", guest, "crash") else { return };
        let place = Place::new();
        let crashed = ran(&mut record(&format!("{} {crash} -- null", place.options()))).ends(139);
        crashed.says(": killed by SIGSEGV: ");
        let summary = place.summary();
        assert_eq!(summary["signal"], "SIGSEGV");
        let instructions = number(&summary, "instructions");
        assert!(instructions > 1000, "{summary}");
        assert_eq!(place.decoded(), instructions);
        assert!(fs::metadata(&place.log).unwrap().len() > 4096);
    }
}

/// Timelines name the threads of a recording by its process.
#[test]
fn threads_are_named_by_their_process() {
    for guest in [Guest::Aarch64, Guest::Riscv64] {
        let Some(threads) = program("threads_are_named_by_their_process", guest, "threads") else { return };
        let place = Place::new();
        ran(&mut record(&format!("{} {threads}", place.options()))).ends(0);
        let file = place.folder.join("threads.json");
        run!("timeline {} -o {file} --most 1000", place.dir).ends_within(0..=1);
        let events = value(&file);
        let names = rows(&events, "traceEvents").iter().filter(|event| event["name"] == "thread_name");
        let names: BTreeSet<_> = names.map(|event| string(&event["args"], "name").to_owned()).collect();
        let summary = place.summary();
        let process = &rows(&summary, "processes")[0];
        let command = Path::new(&threads).file_name().unwrap().to_string_lossy();
        let main = format!("{command} {}", process["pid"]);
        let expected = rows(process, "threads").iter().map(|thread| match &thread["tid"] {
            tid if *tid == process["pid"] => main.clone(),
            tid => format!("{main}, thread {tid}"),
        });
        let expected: BTreeSet<_> = expected.collect();
        assert!(expected.len() > 1);
        assert_eq!(names, expected, "{guest:?}");
    }
}

/// Somebody kills QEMU: what was recorded until then is a capture.
#[test]
fn a_killed_qemu_leaves_a_capture() {
    let Some(forever) = program("a_killed_qemu_leaves_a_capture", Guest::Aarch64, "crash") else { return };
    let place = Place::new();
    let child = place.start(&forever);
    std::thread::sleep(Duration::from_secs(1));
    signal("9", &qemu(&child));
    ended(child).ends(137).says("killed by SIGKILL: ");
    let instructions = number(&place.summary(), "instructions");
    assert_eq!(place.decoded(), instructions);
    let checked = run!("decode {} --check {}", place.dir, place.log).ends(0);
    checked.prints(format!("equal: {instructions} instructions"));
}

/// Somebody kills us: QEMU does not live on, what it recorded for us is removed by the next recording, and what was traced can be read.
#[test]
fn a_killed_recorder_takes_qemu_with_it() {
    let test = "a_killed_recorder_takes_qemu_with_it";
    let Some(forever) = program(test, Guest::Riscv64, "crash") else { return };
    let place = Place::new();
    let (dir, memory) = (&place.dir, place.folder.join("memory"));
    fs::create_dir(&memory).unwrap();
    let start = |more: &str| {
        let mut command = record(&format!("-o {dir} {more} {forever} -- forever"));
        command.env("XDG_RUNTIME_DIR", &memory).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut child = start("");
    let trace = format!("{dir}.part/thread0.bin");
    wait_until("it traces", || fs::metadata(&trace).is_ok_and(|file| file.len() >= 100_000));
    let qemu = qemu(&child);
    assert!(Path::new(&format!("/proc/{qemu}")).exists(), "{qemu:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until(&format!("QEMU lives on as {qemu}"), || {
        let state = fs::read_to_string(format!("/proc/{qemu}/stat")).unwrap_or_default();
        state.is_empty() || state.contains(") Z ")
    });
    let left = || fs::read_dir(&memory).unwrap().count();
    assert_eq!(left(), 1, "the folder of the one that was killed");
    let decoded = run!("decode {dir}.part --summary --json").ends(1).says("the recording was not finished");
    assert!(number(&decoded.json(), "instructions") > 1000, "{}", decoded.out);
    start("--max-instructions 5000").wait().unwrap();
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
    let Place { folder: _folder, dir, .. } = Place::new();
    let how = format!("-q --symfs {} -o {dir} {}", text(guest.libraries()), text(&elf));
    ran(&mut record(&how)).ends(0);
    let decoded = run!("decode {dir}").prints(" unwind-stripped+0x").prints(".so.1+0x");
    assert!(!decoded.out.contains("memory_"));
}

/// Calls through linkage tables and the dynamic loader are followed without symbols: all that ran hangs from one root, and the functions of
/// the program call each other as they do with symbols.
#[test]
fn stripped_programs_have_one_tree() {
    const TEST: &str = "stripped_programs_have_one_tree";
    let guest = Guest::Aarch64;
    let built = [Variant::Pie, Variant::Stripped].map(|variant| build(TEST, guest, "unwind", variant));
    let [Some(whole), Some(stripped)] = built.map(|elf| elf.filter(|_| guest.available(TEST))) else {
        return;
    };
    let trees = [whole, stripped].map(|elf| {
        let Place { folder: _folder, dir, .. } = Place::new();
        ran(&mut record(&format!("-q --symfs {} -o {dir} {}", text(guest.libraries()), text(&elf)))).ends(0);
        let tree = run!("profile {dir} --format tree --no-inline --json").ends_within(0..=1).json();
        let nodes = tree["nodes"].as_array().unwrap().clone();
        let heaviest = nodes[0]["inclusive_instructions"].as_u64().unwrap();
        let all = tree["instructions"].as_u64().unwrap();
        assert!(heaviest * 10 > all * 9, "{heaviest} of {all}");
        // The program, and not the loader, which ran more.
        let bolt = run!("profile {dir} --format profgen").ends_within(0..=1);
        bolt.says(format!("this is the profile of {}", text(&elf)));
        nodes.iter().filter(|node| node["parent"].is_null()).count()
    });
    assert!(trees[0] <= 2 && trees[1] <= 2, "{trees:?}");
}

/// Iterates over the names of the functions on the way to each node of `profile --format tree` of this function.
fn ways_to(tree: &Value, function: &str) -> Vec<Vec<String>> {
    let nodes = rows(tree, "nodes");
    let way = |node: &Value| {
        let above = |node: &&Value| node["parent"].as_u64().map(|parent| &nodes[parent as usize]);
        let names = std::iter::successors(Some(node), above).map(|node| string(node, "function").to_owned());
        names.skip(1).collect()
    };
    // Compilers give copies of a function a name with a dot.
    let is_it = |name: &str| name.split('.').next() == Some(function);
    nodes.iter().filter(|node| node["function"].as_str().is_some_and(is_it)).map(way).collect()
}

/// Handlers of signals leave nothing of what they interrupt, whatever the processor and the code they return to: what runs after them is
/// called by `main`, and handlers are called as often as signals came.
#[test]
fn signals_leave_the_call_stack() {
    const TEST: &str = "signals_leave_the_call_stack";
    for guest in Guest::ALL {
        let Some(signals) = program(TEST, guest, "signals") else { continue };
        let Place { folder: _folder, dir, .. } = Place::new();
        ran(&mut record(&format!("-q -o {dir} {signals}"))).ends(0).prints("8 mended");
        let profile = run!("profile {dir} --calls --no-inline --json").ends_within(0..=1).json();
        let calls = |name: &str| {
            let found = rows(&profile, "functions").iter().find(|row| row["function"] == name);
            number(found.unwrap_or_else(|| panic!("{guest:?}: no {name}")), "calls")
        };
        // What signals.c does: `raise` and `kill`, eight pages, five long jumps, and ten alarms, which may come late.
        for (name, expected) in [("outer", 2), ("inner", 2), ("mend", 8), ("leave", 5)] {
            assert_eq!(calls(name), expected, "{guest:?}: {name}");
        }
        assert!(calls("on_alarm") >= 10);
        let tree =
            run!("profile {dir} --format tree --min-share 0 --no-inline --json").ends_within(0..=1).json();
        for name in ["step", "fault"] {
            let ways = ways_to(&tree, name);
            assert!(!ways.is_empty(), "{guest:?}: {name}");
            let is_right = |way: &Vec<String>| way.iter().any(|above| above == "main");
            assert!(ways.iter().all(is_right), "{guest:?}: {name}: {ways:?}");
        }
    }
}

/// On our own machine signals come at system calls: nothing is lost, and there is one call tree.
#[test]
fn signals_here_leave_the_call_stack() {
    let folder = Scratch::new("signals-here");
    let source = folder.write("raise.c", b"#include <signal.h>\n#define APART __attribute__((noinline, noipa))\n\
        volatile int seen;\nAPART void handler(int s) { seen += s; }\nAPART void after(int n) { while (n--) seen++; }\n\
        APART void inner(void) { raise(SIGUSR1); after(1000); }\nAPART void outer(void) { inner(); after(500); }\n\
        int main() { signal(SIGUSR1, handler); for (int i = 0; i < 4; i++) outer(); return 0; }\n");
    let Some(program) = compiled("signals_here_leave_the_call_stack", &source, "") else { return };
    let dir = folder.join("run");
    run!("record -q -o {dir} {program}").ends(0);
    let tree = run!("profile {dir} --format tree --min-share 0 --no-inline --json").ends_within(0..=1).json();
    assert_eq!(rows(&tree, "nodes").iter().filter(|node| node["parent"].is_null()).count(), 1);
    let ways = ways_to(&tree, "after");
    assert!(ways.len() == 2 && ways.iter().all(|way| way.contains(&"main".into())), "{ways:?}");
    let calls = run!("profile {dir} --calls --json").ends_within(0..=1).json();
    let calls_of = |name: &str| {
        number(rows(&calls, "functions").iter().find(|row| row["function"] == name).unwrap(), "calls")
    };
    assert_eq!(["handler", "inner", "after", "main"].map(calls_of), [4, 4, 8, 1]);
    assert_eq!(calls["returns_elsewhere"], 0);
}

#[test]
fn a_symbol_that_is_nowhere_is_told_once() {
    let Some(unwind) = program("a_symbol_that_is_nowhere_is_told_once", Guest::Riscv64, "unwind") else {
        return;
    };
    let Ran { err, .. } = ran(&mut record(&format!("--start no_such_symbol {unwind}")));
    let told = "start=no_such_symbol: no program or library that ran has a symbol";
    assert_eq!(err.matches(told).count(), 1, "{err}");
}

/// Whoever only has our number can stop it: what was recorded is kept.
#[test]
fn a_signal_to_us_stops_it() {
    let Some(forever) = program("a_signal_to_us_stops_it", Guest::Riscv64, "crash") else { return };
    let place = Place::new();
    let child = place.start(&forever);
    std::thread::sleep(Duration::from_secs(1));
    signal("TERM", &child.id().to_string());
    ended(child).ends(143).says("stopped by a signal (Ctrl-C, SIGTERM or SIGHUP) after ");
    assert!(place.decoded() > 1000);
}

/// A full disk stops QEMU, and is told.
#[test]
fn a_full_disk_is_told() {
    let Some(cpu) = program("a_full_disk_is_told", Guest::Aarch64, "cpu") else { return };
    let full = ran(&mut record(&format!("--log /dev/full {cpu}"))).ends(2);
    full.says("/dev/full: cannot write: No space left on device");
}

#[test]
fn only_as_many_instructions_as_asked_for() {
    let Some(cpu) = program("only_as_many_instructions_as_asked_for", Guest::Arm, "cpu") else { return };
    let place = Place::new();
    let limited = format!("--max-instructions 5000 -o {} --summary-json {} {cpu}", place.dir, place.json);
    let Ran { err, .. } = ran(&mut record(&limited)).ends(1);
    assert_eq!(place.summary()["instructions"], 5000);
    // If the last is a branch, nobody knows where it led, and the trace leaves it out.
    let left_out = u64::from(err.contains("branches that are not in the trace: 1;"));
    assert_eq!(place.decoded(), 5000 - left_out, "{err}");
}

/// Both protocols go through the trace port, while the program runs and from its log: the smallest buffer is the same, and what a smaller one
/// loses is what decoders do not find.
#[test]
fn traces_go_through_ports() {
    for guest in [Guest::Aarch64, Guest::Riscv64] {
        let Some(crash) = program("traces_go_through_ports", guest, "crash") else { return };
        let place = Place::new();
        ran(&mut record(&format!("--port 1/8 {} {crash} -- null", place.options()))).ends(139);
        let recorded = place.summary()["port"].clone();
        assert_eq!(recorded["cycles_are_instructions"], true);
        let encode = |more: &str| {
            let Place { dir, json, log, .. } = &place;
            run!("encode {log} -o {dir} --summary-json {json} --port 1/8 {more}").ends(0);
            place.summary()["port"].clone()
        };
        let encoded = encode("");
        assert_eq!(encoded, recorded);
        let smallest = number(&encoded, "smallest_buffer_bits");
        let limited = |bits: u64, when_full: &str| {
            encode(&format!("--port-buffer {bits}bits --when-full {when_full}"))["buffer"].clone()
        };
        for when_full in ["stall", "drop"] {
            let enough = limited(smallest, when_full);
            assert_eq!((&enough["losses"], &enough["stall_cycles"]), (&0.into(), &0.into()), "{enough}");
            let less = limited(smallest - 1, when_full);
            assert!(less["losses"] != 0 || less["stall_cycles"] != 0, "{less}");
        }
        let buffer = limited(768, "drop");
        let lost = number(&buffer, "lost_instructions");
        assert!(lost > 0, "{buffer}");
        assert_eq!(place.decoded() + lost, number(&encoded, "instructions"), "{buffer}");
    }
}
