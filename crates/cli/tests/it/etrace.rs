//! E-Trace captures, as people and scripts make and read them: recorded, encoded, listed, counted, and checked against what ran.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run::{good, json, root, stderr, stdout, tracewright, values};
use serde_json::Value;
use tracewright_testkit::{Scratch, captures_for};

/// Options that change what packets there are, and how they lie in the stream.
const MIXES: &[&[&str]] = &[
    &[],
    &["branch_prediction=off", "jump_target_cache=off", "implicit_return=off", "sijump=off"],
    &["implicit_return=off"],
    &["iret_ext=false", "return_stack_size=0", "call_counter_size=0"],
    &["branch_prediction=off"],
    &["jump_target_cache=off", "f0s_width=0", "cache_size=0"],
    &["full_address=on", "context_width=8"],
    &["itype_width=3"],
    &["nocontext=1", "iaddress_lsb=0", "privilege_width=3", "support=reference"],
    &["resync_mode=half_words", "resync_max=2"],
    &["resync_mode=cycles", "resync_max=6"],
    &["resync_mode=packets", "resync_max=0", "align=7"],
    &["notime=false", "time_width=32"],
    &["encapsulation=smi", "support=pulp"],
    &["encapsulation=pulp"],
    &["source_bits=11", "id=5", "timestamp_bytes=3", "type_bits=2", "align=0"],
    &["bpred_size=1", "cache_size=1", "return_stack_size=1", "call_counter_size=0"],
    &["data=address,value"],
    &["data=value", "full_data=true"],
    &["data=address", "resync_max=1"],
];

/// What was recorded is what ran, whatever the options: a Linux program, and a bare one for RV32.
#[test]
fn every_mix_of_options_tells_what_ran() {
    let place = Scratch::new("etrace");
    let (log, dir) = (place.join("run.log"), place.join("run"));
    for program in ["programs/bin/args.elf", "programs/bin/semihosting32.elf"] {
        for mix in MIXES {
            let mut arguments =
                vec!["record", "-q", "--protocol", "etrace", "-o", &dir, "--log", &log, program];
            arguments.extend(mix.iter().flat_map(|option| ["--option", option]));
            good(&arguments);
            let text = good(&["decode", &dir, "--check", &log]);
            assert!(text.starts_with("equal: "), "{program} {mix:?}: {text}");
        }
    }
}

/// Traps, interrupts and changes of privilege; the machine's own boot code is in the capture.
#[test]
fn bare_programs_bring_their_boot_code() {
    let place = Scratch::new("etrace");
    let (log, dir) = (place.join("run.log"), place.join("run"));
    for program in ["semihosting", "semihosting32", "tasks", "tasks32", "timer", "traps", "traps32"] {
        let elf = format!("programs/bin/{program}.elf");
        good(&["record", "-q", "--protocol", "etrace", "-o", &dir, "--log", &log, &elf]);
        let info = json(&["info", &dir, "--json"]);
        let isa = if program.ends_with("32") { "rv32" } else { "rv64" };
        assert_eq!(info["sources"][0]["etrace"]["isa"], isa);
        let memory = info["memory"].as_array().unwrap();
        assert!(
            memory.iter().any(|region| region["address"] == "0x1000" && region["kind"] == "raw"),
            "{memory:?}"
        );
        assert!(good(&["decode", &dir, "--check", &log]).starts_with("equal: "));
    }
}

/// The folder holds all that is needed: it may be moved, and the program be gone.
#[test]
fn a_capture_stands_alone() {
    let place = Scratch::new("etrace");
    let (program, log) = (place.join("args.elf"), place.join("run.log"));
    fs::copy(root().join("programs/bin/args.elf"), &program).unwrap();
    good(&["record", "-q", "--protocol", "etrace", "-o", &place.join("a"), "--log", &log, &program]);
    fs::remove_file(&program).unwrap();
    fs::rename(place.join("a"), place.join("b")).unwrap();
    assert!(good(&["decode", &place.join("b"), "--check", &log]).starts_with("equal: "));
    // Recorded again, from its own copy, into the same folder.
    let again = place.join("b/args.elf");
    good(&["record", "-q", "--protocol", "etrace", "-o", &place.join("b"), "--log", &log, &again]);
    assert!(good(&["decode", &place.join("b"), "--check", &log]).starts_with("equal: "));
}

/// What was recorded and what a log of it gives is the same trace, byte by byte.
#[test]
fn a_log_gives_the_trace_of_its_program() {
    let place = Scratch::new("etrace");
    let program = "programs/bin/semihosting.elf";
    let (log, dir) = (place.join("run.log"), place.join("run"));
    good(&["record", "-q", "--protocol", "etrace", "-o", &dir, "--log", &log, program]);
    let trace = fs::read(place.join("run/trace.bin")).unwrap();
    assert!(trace.len() > 1000);
    let (encoded, from) = (place.join("encoded"), place.join("from"));
    good(&["encode", "-q", &log, "-o", &encoded, "--image", program]);
    assert!(fs::read(place.join("encoded/trace.bin")).unwrap() == trace, "encode");
    good(&["record", "-q", "--from", &log, program, "--protocol", "etrace", "-o", &from]);
    assert!(fs::read(place.join("from/trace.bin")).unwrap() == trace, "record --from");
}

/// Logs of others, with the program and without it: a log that tells instructions is enough.
#[test]
fn logs_of_others_are_encoded() {
    let Some(captures) = captures_for("logs_of_others_are_encoded", "") else { return };
    let captures = captures.join("riscv");
    let place = Scratch::new("etrace");
    for (name, set) in [("median", "itype3_basic"), ("median", "itype4_basic"), ("br_j_asm", "itype3_basic")]
    {
        let elf = captures.join(format!("elf/{name}.riscv"));
        let elf = elf.to_str().unwrap();
        let log = place.join("log.csv");
        fs::write(&log, unxz(&captures.join(format!("etrace/spike_pc_trace/{name}.spike_pc_trace.xz"))))
            .unwrap();
        let (with, without) = (place.join("with"), place.join("without"));
        good(&["encode", "-q", &log, "-o", &with, "--image", elf]);
        good(&["encode", "-q", &log, "-o", &without]);
        for dir in [&with, &without] {
            let text = good(&["decode", dir, "--check", &log]);
            assert!(text.starts_with("equal: "), "{name} {dir}: {text}");
        }
        // The reference flow's own encoder inputs: what the hart tells an encoder.
        let input = place.join("input.csv");
        fs::write(&input, unxz(&captures.join(format!("etrace/{set}/{name}.encoder_input.xz")))).unwrap();
        let dir = place.join("input");
        good(&["encode", "-q", &input, "-o", &dir, "--image", elf]);
        let rom = format!("{without}/code.bin@1000");
        let text = good(&["decode", &dir, "--check", &log, "--image", &rom]);
        assert!(text.starts_with("equal: "), "{name} {set}: {text}");
    }
}

fn unxz(path: &Path) -> Vec<u8> {
    let output = Command::new("xz").arg("-dc").arg(path).output().unwrap();
    assert!(output.status.success(), "{path:?}");
    output.stdout
}

/// Files of others, described on the command line, and all their packets are some.
#[test]
fn raw_files_of_others_are_read() {
    let Some(captures) = captures_for("raw_files_of_others_are_read", "") else { return };
    let etrace = captures.join("riscv/etrace");
    for set in ["itype3_basic", "itype3_debug", "itype4_basic", "itype4_debug"] {
        let set = etrace.join(set);
        let raw = set.join("median.te_inst_raw");
        let scf = set.join("hardware_64.scf");
        let source = format!("etrace,isa=rv64,encapsulation=smi,params={}", scf.display());
        let (raw, source) = (raw.to_str().unwrap(), source.as_str());
        let stats = json(&["stats", raw, "--source", source, "--json"]);
        let packets = good(&["packets", raw, "--source", source, "--json"]);
        let packets: Vec<_> = values(&packets).collect();
        assert_eq!(stats["sources"][0]["packets"], packets.len());
        assert!(
            packets.iter().any(|packet| packet["kind"] == "Start (3.0)" && packet["address"] == "0x1000")
        );
        let bytes: u64 =
            packets.iter().map(|packet| packet["bytes"].as_str().unwrap().len() as u64 / 2).sum();
        assert_eq!(stats["bytes"], bytes);
    }
}

/// `packets`, `stats` and `info` tell one story, in 80 columns.
#[test]
fn lists_and_counts_agree() {
    let place = Scratch::new("etrace");
    let dir = place.join("run");
    good(&[
        "record",
        "-q",
        "--protocol",
        "etrace",
        "-o",
        &dir,
        "--option",
        "data=address,value",
        "programs/bin/args.elf",
    ]);
    let packets = good(&["packets", &dir, "--json"]);
    let stats = json(&["stats", &dir, "--json"]);
    let kinds = stats["sources"][0]["kinds"].as_object().unwrap();
    assert!(kinds.len() > 5, "{kinds:?}");
    for (kind, count) in kinds {
        let is_it = |line: &&str| serde_json::from_str::<Value>(line).unwrap()["kind"] == **kind;
        assert_eq!(count["packets"], packets.lines().filter(is_it).count(), "{kind}");
    }
    for run in [&["packets", &dir][..], &["stats", &dir], &["info", &dir]] {
        for line in good(run).lines().filter(|line| !line.contains(&dir)) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

/// The sample in the repository is what `record` writes today.
#[test]
fn the_sample_is_up_to_date() {
    let place = Scratch::new("etrace");
    let dir = place.join("run");
    good(&["record", "-q", "--protocol", "etrace", "-o", &dir, "--env", "LANG=C", "programs/bin/args.elf"]);
    let sample = fs::read(root().join("samples/etrace/trace.bin")).unwrap();
    assert!(fs::read(place.join("run/trace.bin")).unwrap() == sample, "record samples/etrace anew");
}

/// What cannot be written is said, with its name; no capture is left that looks whole.
#[test]
fn what_cannot_be_written_is_said() {
    let place = Scratch::new("etrace");
    let file = place.join("file");
    fs::write(&file, "").unwrap();
    let record = |dir: &str| {
        let output =
            tracewright(&["record", "-q", "--protocol", "etrace", "-o", dir, "programs/bin/args.elf"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        stderr(&output)
    };
    let text = record(&format!("{file}/below"));
    assert!(text.contains("file/below: error: cannot write here: "), "{text}");
    // No file may have more than 32 KiB, so the trace ends there.
    let dir = place.join("full");
    let record = format!(
        "ulimit -f 64; trap '' XFSZ; exec {} record -q --protocol etrace -o {dir} programs/bin/sort.elf",
        env!("CARGO_BIN_EXE_tracewright")
    );
    let output = Command::new("sh").args(["-c", &record]).current_dir(root()).output().unwrap();
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("full/trace.bin: cannot write: File too large"), "{text}");
    let output = tracewright(&["decode", &dir, "--summary"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("the recording was not finished"), "{}", stderr(&output));
}

/// A port that is too slow loses packets: the trace has gaps, says so, and tells nothing that did not run.
#[test]
fn losses_are_gaps() {
    let place = Scratch::new("etrace");
    let dir = place.join("run");
    let mut arguments = vec!["record", "--protocol", "etrace", "-o", &dir, "programs/bin/args.elf"];
    arguments.extend(["--port", "2", "--buffer", "400bits", "--when-full", "drop"]);
    let options = ["branch_prediction=off", "full_address=on"];
    arguments.extend(options.iter().flat_map(|option| ["--option", option]));
    let output = tracewright(&arguments);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("times the buffer was full"), "{}", stderr(&output));
    let output = tracewright(&["decode", &dir, "--summary", "--json"]);
    let summary: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(summary["gaps"].as_u64().unwrap() > 0, "{summary}");
    assert_eq!(summary["mismatches"], 0, "{summary}");
    let instructions = summary["instructions"].as_u64().unwrap();
    assert!((3000..3505).contains(&instructions), "{summary}");
}

/// Programs that are missing or were built anew are told; packets can be listed without them.
#[test]
fn wrong_programs_are_told() {
    let place = Scratch::new("etrace");
    let dir = place.join("run");
    good(&["record", "-q", "--protocol", "etrace", "-o", &dir, "programs/bin/args.elf"]);
    fs::remove_file(place.join("run/args.elf")).unwrap();
    good(&["packets", &dir]);
    let output = tracewright(&["info", &dir]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("\"args.elf\": no such file"), "{}", stderr(&output));
    fs::copy(root().join("samples/hello/hello.elf"), place.join("run/args.elf")).unwrap();
    let output = tracewright(&["info", &dir]);
    assert!(stderr(&output).contains("it is left out"), "{}", stderr(&output));
    let output = tracewright(&["decode", &dir, "--accept-mismatch"]);
    assert!(
        stderr(&output).contains("a program for Arm: the trace is a RISC-V hart's"),
        "{}",
        stderr(&output)
    );
}
