//! E-Trace captures, as people and scripts make and read them: recorded, encoded, listed, counted, and checked against what ran.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run::{ETRACE, assert_fits, elf, number, ran, recorded, root, rows, run, string, text, values};
use tracewright_testkit::{Scratch, captures_for};

/// Options that change what packets there are, and how they lie in the stream.
const MIXES: &[&str] = &[
    "",
    "branch_prediction=off jump_target_cache=off implicit_return=off sijump=off",
    "implicit_return=off",
    "iret_ext=false return_stack_size=0 call_counter_size=0",
    "branch_prediction=off",
    "jump_target_cache=off f0s_width=0 cache_size=0",
    "full_address=on context_width=8",
    "itype_width=3",
    "nocontext=1 iaddress_lsb=0 privilege_width=3 support=reference",
    "resync_mode=half_words resync_max=2",
    "resync_mode=cycles resync_max=6",
    "resync_mode=packets resync_max=0 align=7",
    "notime=false time_width=32",
    "encapsulation=smi support=pulp",
    "encapsulation=pulp",
    "source_bits=11 id=5 timestamp_bytes=3 type_bits=2 align=0",
    "bpred_size=1 cache_size=1 return_stack_size=1 call_counter_size=0",
    "data=address,value",
    "data=value full_data=true",
    "data=address resync_max=1",
];

/// The log and the capture say the same.
#[track_caller]
fn assert_equal(capture: &str, log: &str, more: &str) {
    run!("decode {capture} --check {log} {more}").ends(0).begins("equal: ");
}

/// What was recorded is what ran, whatever the options: a Linux program, and a bare one for RV32.
#[test]
fn every_mix_of_options_tells_what_ran() {
    let place = Scratch::new("etrace");
    let log = place.join("run.log");
    for program in ["args", "semihosting32"] {
        for mix in MIXES {
            let options: String =
                mix.split_whitespace().map(|option| format!(" --option {option}")).collect();
            let dir = recorded(&place, program, &format!("--log {log}{options}"));
            assert_equal(&dir, &log, "");
        }
    }
}

/// Traps, interrupts and changes of privilege; the machine's own boot code is in the capture.
#[test]
fn bare_programs_bring_their_boot_code() {
    let place = Scratch::new("etrace");
    let log = place.join("run.log");
    for program in ["semihosting", "semihosting32", "tasks", "tasks32", "timer", "traps", "traps32"] {
        let dir = recorded(&place, program, &format!("--log {log}"));
        let info = run!("info {dir} --json").ends(0).json();
        let isa = if program.ends_with("32") { "rv32" } else { "rv64" };
        assert_eq!(info["sources"][0]["etrace"]["isa"], isa);
        let mut memory = rows(&info, "memory").iter();
        let is_boot = memory.any(|region| region["address"] == "0x1000" && region["kind"] == "raw");
        assert!(is_boot, "{info}");
        assert_equal(&dir, &log, "");
    }
}

/// The folder holds all that is needed: it may be moved, and the program be gone.
#[test]
fn a_capture_stands_alone() {
    let place = Scratch::new("etrace");
    let (program, log) = (place.join("args.elf"), place.join("run.log"));
    let (a, b) = (place.join("a"), place.join("b"));
    fs::copy(root().join(elf("args")), &program).unwrap();
    run!("{ETRACE} {a} --log {log} {program}").ends(0);
    fs::remove_file(&program).unwrap();
    fs::rename(a, &b).unwrap();
    assert_equal(&b, &log, "");
    // Recorded again, from its own copy, into the same folder.
    run!("{ETRACE} {b} --log {log} {b}/args.elf").ends(0);
    assert_equal(&b, &log, "");
}

/// What was recorded and what a log of it gives is the same trace, byte by byte.
#[test]
fn a_log_gives_the_trace_of_its_program() {
    let place = Scratch::new("etrace");
    let program = elf("semihosting");
    let [log, encoded, from] = ["run.log", "encoded", "from"].map(|name| place.join(name));
    let trace = |dir: &str| fs::read(format!("{dir}/trace.bin")).unwrap();
    let expected = trace(&recorded(&place, "semihosting", &format!("--log {log}")));
    assert!(expected.len() > 1000);
    run!("encode -q {log} -o {encoded} --image {program}").ends(0);
    assert!(trace(&encoded) == expected, "encode");
    run!("{ETRACE} {from} --from-log {log} {program}").ends(0);
    assert!(trace(&from) == expected, "record --from-log");
}

/// Logs of others, with the program and without it: a log that tells instructions is enough.
#[test]
fn logs_of_others_are_encoded() {
    let Some(captures) = captures_for("logs_of_others_are_encoded", "riscv") else { return };
    let place = Scratch::new("etrace");
    let [log, input, dir] = ["log.csv", "input.csv", "input"].map(|name| place.join(name));
    let (with, without) = (place.join("with"), place.join("without"));
    for (name, set) in [("median", "itype3_basic"), ("median", "itype4_basic"), ("br_j_asm", "itype3_basic")]
    {
        let elf = captures.join(format!("elf/{name}.riscv"));
        let elf = text(&elf);
        unxz(&captures.join(format!("etrace/spike_pc_trace/{name}.spike_pc_trace.xz")), &log);
        run!("encode -q {log} -o {with} --image {elf}").ends(0);
        run!("encode -q {log} -o {without}").ends(0);
        assert_equal(&with, &log, "");
        assert_equal(&without, &log, "");
        // The reference flow's own encoder inputs: what the hart tells an encoder.
        unxz(&captures.join(format!("etrace/{set}/{name}.encoder_input.xz")), &input);
        run!("encode -q {input} -o {dir} --image {elf}").ends(0);
        assert_equal(&dir, &log, &format!("--image {without}/code.bin@1000"));
    }
}

fn unxz(path: &Path, to: &str) {
    let unpacked = ran(Command::new("xz").arg("-dc").arg(path)).good();
    fs::write(to, unpacked).unwrap();
}

/// Files of others, described on the command line, and all their packets are some.
#[test]
fn raw_files_of_others_are_read() {
    let Some(etrace) = captures_for("raw_files_of_others_are_read", "riscv/etrace") else { return };
    for set in ["itype3_basic", "itype3_debug", "itype4_basic", "itype4_debug"] {
        let set = text(&etrace).to_owned() + "/" + set;
        let source = format!("etrace,isa=rv64,encapsulation=smi,params={set}/hardware_64.scf");
        let raw = format!("{set}/median.te_inst_raw --source {source}");
        let stats = run!("stats {raw} --json").ends(0).json();
        let packets: Vec<_> = values(&run!("packets {raw} --json").good()).collect();
        assert_eq!(stats["sources"][0]["packets"], packets.len());
        assert!(
            packets.iter().any(|packet| packet["kind"] == "Start (3.0)" && packet["address"] == "0x1000")
        );
        let bytes: usize = packets.iter().map(|packet| string(packet, "hex").len() / 2).sum();
        assert_eq!(stats["bytes"], bytes);
    }
}

/// `packets`, `stats` and `info` tell one story, in 80 columns.
#[test]
fn lists_and_counts_agree() {
    let place = Scratch::new("etrace");
    let dir = recorded(&place, "args", "--option data=address,value");
    let packets = run!("packets {dir} --json").good();
    let stats = run!("stats {dir} --json").ends(0).json();
    let kinds = stats["sources"][0]["kinds"].as_object().unwrap();
    assert!(kinds.len() > 5, "{kinds:?}");
    for (kind, count) in kinds {
        let packets = values(&packets).filter(|packet| packet["kind"] == **kind).count();
        assert_eq!(count["packets"], packets, "{kind}");
    }
    for verb in ["packets", "stats", "info"] {
        let told = run!("{verb} {dir}").good();
        told.lines().filter(|line| !line.contains(&dir)).for_each(assert_fits);
    }
}

/// The sample in the repository is what `record` writes today.
#[test]
fn the_sample_is_up_to_date() {
    let place = Scratch::new("etrace");
    let dir = recorded(&place, "args", "--env LANG=C");
    let sample = fs::read(root().join("samples/etrace/trace.bin")).unwrap();
    assert!(fs::read(format!("{dir}/trace.bin")).unwrap() == sample, "record samples/etrace anew");
}

/// What cannot be written is said, with its name; no capture is left that looks whole.
#[test]
fn what_cannot_be_written_is_said() {
    let place = Scratch::new("etrace");
    let (file, dir) = (place.join("file"), place.join("full"));
    fs::write(&file, "").unwrap();
    let below = run!("{ETRACE} {file}/below programs/bin/args.elf").ends(2);
    below.says("file/below: error: cannot write here: ");
    // No file may have more than 32 KiB, so the trace ends there.
    let record = format!(
        "ulimit -f 64; trap '' XFSZ; exec {} {ETRACE} {dir} programs/bin/sort.elf",
        env!("CARGO_BIN_EXE_tracewright")
    );
    let full = ran(Command::new("sh").args(["-c", &record]).current_dir(root())).ends(2);
    full.says("full.part/trace.bin: cannot write: File too large");
    run!("decode {dir} --summary").ends(1).says("the recording was not finished");
}

/// A port that is too slow loses packets: the trace has gaps, says so, and tells nothing that did not run.
#[test]
fn losses_are_gaps() {
    let place = Scratch::new("etrace");
    let dir = place.join("run");
    let slow = "--port 2 --port-buffer 400bits --when-full drop";
    let options = "--option branch_prediction=off --option full_address=on programs/bin/args.elf";
    let recorded = run!("record --protocol etrace -o {dir} {slow} {options}").ends(0);
    recorded.says("times the buffer was full");
    let summary = run!("decode {dir} --summary --json").json();
    assert!(number(&summary, "gaps") > 0, "{summary}");
    assert_eq!(summary["mismatches"], 0, "{summary}");
    assert!((3000..3505).contains(&number(&summary, "instructions")), "{summary}");
}

/// Programs that are missing or were built anew are told; packets can be listed without them.
#[test]
fn wrong_programs_are_told() {
    let place = Scratch::new("etrace");
    let dir = recorded(&place, "args", "");
    let elf = format!("{dir}/args.elf");
    fs::remove_file(&elf).unwrap();
    run!("packets {dir}").ends(0);
    run!("info {dir}").ends(1).says("\"args.elf\": no such file");
    fs::copy(root().join("samples/hello/hello.elf"), &elf).unwrap();
    run!("info {dir}").says("it is left out");
    run!("decode {dir} --accept-mismatch").says("a program for Arm: the trace is a RISC-V hart's");
}

/// The options that the book names give the bytes of the reference encoder.
#[test]
fn encode_writes_what_the_reference_encoder_writes() {
    const NAME: &str = "encode_writes_what_the_reference_encoder_writes";
    let Some(captures) = captures_for(NAME, "riscv/etrace") else { return };
    let place = Scratch::new("etrace");
    let out = place.join("out");
    for (set, inputs, more) in [
        ("itype3_basic", "itype3_basic", "--option resync_max=0"),
        ("itype3_debug", "itype3_basic", "--option resync_max=1 --option full_address=on"),
        ("itype4_basic", "itype4_basic", "--option resync_max=0"),
        ("itype4_debug", "itype4_basic", "--option resync_max=1 --option full_address=on"),
        ("itype4_fake_scf", "itype4_basic", ""),
    ] {
        for program in ["br_j_asm", "median", "qsort", "test_discon_branch_exception"] {
            let input = captures.join(inputs).join(format!("{program}.encoder_input.xz"));
            let scf = captures.join(set).join("hardware_64.scf");
            let (input, scf) = (text(&input), text(&scf));
            run!("encode -q {input} -o {out} --option model=reference --option params={scf} {more}").ends(0);
            let written = fs::read(format!("{out}/trace.bin")).unwrap();
            let theirs = fs::read(captures.join(set).join(format!("{program}.te_inst_raw"))).unwrap();
            assert!(written == theirs, "{set} {program}");
        }
    }
}

/// A log has the code of a bare machine's boot ROM, and so has the capture that is made of it.
#[test]
fn a_log_brings_the_boot_code() {
    let place = Scratch::new("etrace");
    let [log, copy, out] = ["run.log", "copy.log", "out"].map(|name| place.join(name));
    for (program, details) in [("semihosting", "blocks"), ("semihosting32", "blocks"), ("tasks", "all")] {
        let program = elf(program);
        run!("record -q --log {log} --details {details} --max-instructions 100000 {program}")
            .ends_within(0..=1);
        run!("record -q --from-log {log} --log {copy} {program}").ends(0);
        for log in [&log, &copy] {
            run!("encode {log} --image {program} -o {out}").ends(0).says_not("lacks code");
            run!("decode {out} --check {log}").ends(0).begins("equal: ");
            run!("decode {out} --instructions").ends(0).prints("0x1000  00000297  auipc t0,0x0");
            run!("decode {log} --image {program} --instructions")
                .ends(0)
                .prints("0x1000  00000297  auipc t0,0x0");
        }
    }
}

/// Messages of a source that nobody described are not passed over in silence.
#[test]
fn sources_that_are_not_described_are_told() {
    let folder = Scratch::new("etrace-strangers");
    let mut both = Vec::new();
    for id in [1, 2] {
        let run = folder.join(&format!("run{id}"));
        run!("record -q -o {run} --option source_bits=4 --option id={id} programs/bin/args.elf").ends(0);
        both.extend(fs::read(format!("{run}/trace.bin")).unwrap());
    }
    let raw = folder.write("both.bin", &both);
    let raw = text(&raw);
    let source = "--source etrace,isa=rv64,encapsulation=standard,source_bits=4,nocontext=false,ecause_width=6,bpred_size=7,\
                  cache_size=7,call_counter_size=4,return_stack_size=5,sijump_p=true,iret_ext=true,support=standard";
    let line = format!("{raw} --image programs/bin/args.elf {source},id=1");
    let told = "bytes not read: no source of this buffer has ID 0x02 (there are 0x01)";
    for verb in ["decode", "profile", "stats", "packets"] {
        let line = if ["decode", "profile"].contains(&verb) {
            line.clone()
        } else {
            line.replace("--image programs/bin/args.elf", "")
        };
        run!("{verb} {line}").ends(1).says(told);
        run!("{verb} {line} --id 1").ends(0).says_not("not read");
        run!("{verb} {line} {source},id=2").ends(0).says_not("not read");
    }
    // Of several that are described, too.
    run!("decode {line} {source},id=3").ends(1).says("has ID 0x02 (there are 0x01, 0x03)");
}
