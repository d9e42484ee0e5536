//! `tracewright record`, as people and scripts use it.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::elf;
use crate::run::{Ran, address, assert_fits, command, elf, number, root, run, text, value, values};
use tracewright_isa::riscv::Register;
use tracewright_testkit::{Scratch, captures_for, unpacked};

/// Without any other option, what is recorded is a capture. What comes after the program is the program's, with or without `--`.
#[test]
fn a_recording_is_a_capture_and_arguments_are_the_programs() {
    let folder = Scratch::new("record");
    let run = folder.join("run");
    let mut printed = Vec::new();
    for arguments in ["one -o two --json", "-- one -o two --json"] {
        let ran = run!("record -o {run} programs/bin/args.elf {arguments}").ends(0).says("bytes in ");
        assert!(["one", "-o", "two", "--json"].iter().all(|word| ran.out.contains(word)), "{}", ran.out);
        run!("decode {run} --summary").ends(0);
        printed.push(ran.out);
    }
    assert_eq!(printed[0], printed[1]);
    run!("record programs/bin/args.elf -o run").ends(0).says("-o comes after the program");
    let misplaced = "warning: --max-instructions comes after the program, so it is the program's";
    for given in ["--max-instructions 5", "--max-instructions=5"] {
        run!("record programs/bin/args.elf {given}").ends(0).says(misplaced).prints("--max-instructions");
        run!("record programs/bin/args.elf -- {given}").ends(0).says_not("warning");
    }
    run!("record programs/bin/args.elf --color-of-the-sky").ends(0).says_not("warning");
    run!("record --symfs / programs/bin/args.elf")
        .ends(2)
        .says("--symfs is for programs that run under QEMU");
}

/// A script is refused with the name of the program that runs it.
#[test]
fn scripts_are_named() {
    let folder = Scratch::new("record");
    let script = folder.join("script");
    fs::write(&script, "#!/usr/bin/env python3\nprint()\n").unwrap();
    run!("record {script}").ends(2).says("it is a script for /usr/bin/env python3:");
}

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
    assert_eq!(run!("record -q --summary-json {path} programs/bin/sort.elf").ends(0).err, "");
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
    run!("record -q --log {log} --details all --listing {listed} --summary-json {first} {jumps}").ends(0);
    run!("record -q --from-log {log} --listing {again} --summary-json {second}").ends(0);
    // Logs do not tell registers.
    let listed_text = fs::read_to_string(&listed).unwrap();
    assert!(listed_text.lines().map(without_register).eq(fs::read_to_string(&again).unwrap().lines()));
    let (first, second) = (value(&first), value(&second));
    let names = "instructions blocks branches branches_taken calls loads stored_bytes system_calls";
    for name in names.split(' ') {
        assert_eq!(first[name], second[name], "{name}");
    }
    let lines = listed_text.lines().count() as u64;
    assert_eq!(lines, number(&first, "instructions") + number(&first, "system_calls"));
}

/// Returns a line of a listing without the register at its end.
fn without_register(line: &str) -> &str {
    match line.rsplit_once(' ') {
        Some((before, last)) if last.contains('=') => before.trim_end(),
        _ => line,
    }
}

/// Spike's logs of commits and our listings agree on every instruction: address, bits, address of the memory access, register and value.
#[test]
fn listings_have_the_registers_of_spike() {
    const NAME: &str = "listings_have_the_registers_of_spike";
    let Some(captures) = captures_for(NAME, "riscv") else { return };
    let folder = Scratch::new("record-registers");
    let listing = folder.join("listing");
    for (program, kind) in [
        ("median", "l_commits"),
        ("towers", "l_commits"),
        ("vvadd", "l_commits"),
        ("dhrystone", "commits"),
        ("qsort", "commits"),
        ("test_discon_branch_exception", "commits"),
    ] {
        let packed = captures.join(format!("spike_logs/{program}.{kind}.log.xz"));
        let Some(log) = unpacked(NAME, &packed) else { return };
        let elf = captures.join(format!("elf/{program}.riscv"));
        // The log ends there, or the program does.
        let limit = log.lines().count();
        run!("record -q --listing {listing} --max-instructions {limit} {}", elf.display()).ends_within(0..=1);
        let listed = fs::read_to_string(&listing).unwrap();
        let expected: Vec<_> = log.lines().filter_map(committed).collect();
        let ours: Vec<_> = listed.lines().filter_map(listed_commit).take(expected.len()).collect();
        let parts = expected.iter().zip(&ours).find(|(expected, ours)| expected != ours);
        assert_eq!(parts, None, "{program}");
        assert_eq!(expected.len(), ours.len(), "{program}");
        let has = |what: &str| expected.iter().any(|line| line.contains(what));
        assert!(has("a0=") && (has("[") && has("ft0=") || program.starts_with("test_")), "{program}");
    }
}

/// Returns what a line of Spike's log of commits tells, CSRs left out, if it is one.
fn committed(line: &str) -> Option<String> {
    let hex = |word: &str| u64::from_str_radix(word.trim_matches(['(', ')']).strip_prefix("0x")?, 16).ok();
    let mut words = line.strip_prefix("core   0: 3 ")?.split_whitespace();
    let mut commit = format!("{:x} {:x}", hex(words.next()?)?, hex(words.next()?)?);
    let (mut access, mut register) = (String::new(), String::new());
    while let Some(word) = words.next() {
        let number = |kind| word.strip_prefix(kind).and_then(|number: &str| number.parse().ok());
        if word == "mem" {
            access = format!(" [{:x}]", hex(words.next()?)?);
        } else if let Some(name) = number('x').map(Register::X).or(number('f').map(Register::F)) {
            register = format!(" {name}={:x}", hex(words.next()?)?);
        }
    }
    commit += &access;
    Some(commit + &register)
}

/// Returns the same of a line of our listing, if it is not a trap.
fn listed_commit(line: &str) -> Option<String> {
    let words: Vec<_> = line.split_whitespace().collect();
    let bits = u32::from_str_radix(words.get(1)?, 16).ok()?;
    let rest = words[2..].iter().filter(|word| word.starts_with('[') || word.contains('='));
    Some(rest.fold(format!("{} {bits:x}", words[0]), |commit, word| commit + " " + word))
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
    let recursion = run!("record --timing tiny --summary-json {path} programs/bin/recursion.elf").ends(0);
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

    let packed = folder.write("sort.elf.gz", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0]);
    for (file, says) in [
        ("README.md", "not ELF"),
        ("--symfs / README.md", "not ELF"),
        ("--symfs / no-such-file", "no-such-file: No such file"),
        (text(&packed), "compressed"),
        ("no-such-file", "No such file"),
        (env!("CARGO_BIN_EXE_tracewright"), "a program for x86-64: aarch64, arm and riscv64 can be recorded"),
    ] {
        run!("record {file}").ends(2).says(says);
    }
}

/// The fault that ends a program is in the log and the trace, as the trap that the instruction took.
#[test]
fn the_fault_that_ends_a_program_is_in_the_trace() {
    const NOP: u32 = 0x13;
    let folder = Scratch::new("record");
    let at = 0x10000;
    for (name, words, cause, value, pc) in [
        ("load", [NOP, 0x0180_3503], 13, 0x18, at + 4),
        ("store", [NOP, 0x0000_3023], 15, 0, at + 4),
        ("illegal", [NOP, 0xffff_ffff], 2, 0xffff_ffff, at + 4),
        ("breakpoint", [NOP, 0x0010_0073], 3, at + 4, at + 4),
        // li t0, 0x40; jr t0
        ("jump", [0x0400_0293, 0x0002_8067], 12, 0x40, 0x40),
        // The first instruction.
        ("first", [0x0000_3003, NOP], 13, 0, at),
    ] {
        let program = folder.write(name, &elf::elf(false, at, &words.map(u32::to_le_bytes).concat()));
        let (capture, log) = (folder.join(&format!("{name}.run")), folder.join(&format!("{name}.log")));
        run!("record -o {capture} --log {log} {}", text(&program)).ends(1).says("exceptions");
        let again = folder.join(&format!("{name}.again"));
        run!("record -o {again} --from-log {log} {}", text(&program)).ends(0);
        for capture in [&capture, &again, &log] {
            let elements = run!("decode {capture} --elements --json").out;
            let traps: Vec<_> = values(&elements).filter(|element| element["kind"] == "exception").collect();
            let [trap] = &traps[..] else { panic!("{capture}: {elements}") };
            assert_eq!((number(trap, "number"), address(trap, "return_address")), (cause, pc), "{capture}");
            assert_eq!(address(trap, "value"), value, "{capture}");
        }
        // That the trace reports no instruction is said, too.
        let status = i32::from(name == "first");
        for capture in [&capture, &again] {
            run!("decode {capture} --check {log}").ends(status).begins("equal").prints("1 trap");
        }
    }
}

#[test]
fn what_was_recorded_before_the_end_is_kept() {
    let folder = Scratch::new("record");
    let log = folder.join("run.log");
    run!("record -q --log {log} --max-instructions 1000 programs/bin/sort.elf").ends(1);
    run!("record --from-log {log}").ends(0).says("1 000");
    // A log that is cut or damaged says so, with the offset.
    let bytes = fs::read(&log).unwrap();
    fs::write(&log, &bytes[..bytes.len() - 5]).unwrap();
    run!("record --from-log {log}").ends(1).says("offset 0x");
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
    let part = format!("{log}.{}.part", child.id());
    while fs::metadata(&part).map_or(0, |log| log.len()) == 0 {
        assert_eq!(child.try_wait().unwrap(), None);
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(300));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ran = Ran::new("record".into(), child.wait_with_output().unwrap());
    ran.ends(1).says("stopped by a signal (Ctrl-C, SIGTERM or SIGHUP)");
    run!("record -q --from-log {log}").ends(0);
}
