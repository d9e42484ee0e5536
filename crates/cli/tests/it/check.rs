//! What `record` traces, `decode` tells on any number of threads, and `decode --check` proves or refutes; the demo.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run::{root, stderr, stdout, text as name, tracewright};
use tracewright_hart::linux::{Linux, Options, Streams};
use tracewright_hart::{Hart, Retired, Retirements};
use tracewright_isa::riscv::{Xlen, decode};
use tracewright_testkit::{Scratch, captures_for, skip};

/// Records a sample program with these options of the encoder.
fn record(program: &str, options: &[&str]) -> Scratch {
    let scratch = Scratch::new(&format!("etrace-{program}"));
    let elf = format!("programs/bin/{program}.elf");
    let log = scratch.path().join("run.log");
    let mut arguments =
        vec!["record", "-q", "--protocol", "etrace", "-o", name(scratch.path()), "--log", name(&log)];
    for option in options {
        arguments.extend(["--option", option]);
    }
    arguments.push(&elf);
    let output = tracewright(&arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    scratch
}

/// What `decode --check` says, and its exit status.
fn check(capture: &Path, log: &Path, more: &[&str]) -> (Option<i32>, String, String) {
    let arguments = [&["decode", name(capture), "--check", name(log)], more].concat();
    let output = tracewright(&arguments);
    (output.status.code(), stdout(&output), stderr(&output))
}

#[track_caller]
fn is_equal(capture: &Path, more: &[&str]) {
    let (status, stdout, stderr) = check(capture, &capture.join("run.log"), more);
    assert!(status == Some(0) && stdout.starts_with("equal: "), "{capture:?} {more:?}: {stdout}{stderr}");
}

/// All tables, none; each way to carry packets; synchronisation so often that there is much to take over.
const MIXES: &[&[&str]] = &[
    &[],
    &["resync_max=0"],
    &[
        "branch_prediction=off",
        "jump_target_cache=off",
        "implicit_return=off",
        "sijump=off",
        "full_address=on",
    ],
    &["encapsulation=smi", "resync_max=1"],
    &["encapsulation=pulp", "implicit_return=off", "branch_prediction=off", "resync_max=2"],
    &["source_bits=6", "id=33", "timestamp_bytes=4", "type_bits=2", "notime=off", "resync_max=3"],
];

#[test]
fn what_is_recorded_is_what_ran() {
    for program in ["traps", "timer32", "args"] {
        for mix in MIXES {
            let capture = record(program, mix);
            for jobs in ["1", "7"] {
                is_equal(capture.path(), &["--jobs", jobs]);
            }
        }
    }
    for program in ["tasks", "recursion"] {
        is_equal(record(program, &[]).path(), &[]);
    }
}

/// What is printed does not depend on the number of threads.
#[test]
fn all_threads_tell_the_same() {
    let mut split = 0;
    for (program, mix) in [("tasks", &MIXES[1]), ("recursion", &MIXES[3]), ("traps32", &MIXES[1])] {
        let capture = record(program, mix);
        let trace = fs::metadata(capture.path().join("trace.bin")).unwrap().len();
        // Segments have 4 KiB at least.
        split += trace / 4096;
        for options in [
            &["--blocks"][..],
            &["--elements", "--json"],
            &["--summary"],
            &["--instructions", "--to", "0x2000"],
        ] {
            let decode =
                |jobs| tracewright(&[&["decode", name(capture.path()), "--jobs", jobs], options].concat());
            let one = decode("1");
            // How often the loop turned that some end in is not told, which is said.
            let status = i32::from(stderr(&one).contains(" lower bound"));
            assert_eq!(one.status.code(), Some(status), "{program} {options:?}: {}", stderr(&one));
            for jobs in ["2", "7"] {
                let more = decode(jobs);
                let what = format!("{program} {options:?} --jobs {jobs}");
                assert_eq!(more.status, one.status, "{what}");
                assert_eq!(stderr(&more), stderr(&one), "{what}");
                assert!(more.stdout == one.stdout, "{what}");
            }
        }
    }
    assert!(split > 10, "there is something to split: {split}");
}

/// Two harts in one stream, each with a lane of its own.
#[test]
fn several_harts_in_one_stream() {
    let options = |id| vec!["source_bits=1", id, "resync_max=1", "align=0"];
    let captures = [record("traps", &options("id=0")), record("timer", &options("id=1"))];
    let mut streams = captures.each_ref().map(|capture| fs::read(capture.path().join("trace.bin")).unwrap());
    let mut both = Vec::new();
    // A message of each in turn, until there is none.
    while streams.iter().any(|stream| !stream.is_empty()) {
        for stream in &mut streams {
            let len = stream.first().map_or(0, |header| 1 + usize::from(header & 0x1f));
            both.extend(stream.drain(..len));
        }
    }
    let scratch = Scratch::new("etrace-harts");
    fs::write(scratch.path().join("trace.bin"), both).unwrap();
    let description = |capture: &Scratch| fs::read_to_string(capture.path().join("capture.toml")).unwrap();
    let source = |capture: &Scratch, name: &str| {
        let description = description(capture);
        let from = description.find("[[source]]").unwrap();
        let to = description.find("[[buffer]]").unwrap();
        description[from..to].replace("hart0", name)
    };
    let image = |program: &str| format!("[[image]]\nfile = \"{program}.elf\"\n");
    for (program, capture) in [("traps", &captures[0]), ("timer", &captures[1])] {
        let elf = format!("{program}.elf");
        fs::copy(capture.path().join(&elf), scratch.path().join(&elf)).unwrap();
    }
    // Both programs lie at the same addresses, so each is looked at with its own image only.
    for (program, id, capture) in [("traps", "0", &captures[0]), ("timer", "1", &captures[1])] {
        let rest = description(capture);
        let code = rest.find("[[image]]").map_or("", |at| &rest[at..]);
        let code = code.replace("file = \"code.bin\"", "file = \"boot.bin\"");
        fs::copy(capture.path().join("code.bin"), scratch.path().join("boot.bin")).unwrap();
        let toml = format!(
            "format = 1\n{}\n{}\n[[buffer]]\nname = \"trace\"\nfile = \"trace.bin\"\nsources = [\"hart0\", \"hart1\"]\n\n{code}",
            source(&captures[0], "hart0"),
            source(&captures[1], "hart1"),
        );
        assert!(toml.contains(image(program).trim_end()), "{toml}");
        fs::write(scratch.path().join("capture.toml"), toml).unwrap();
        let log = capture.path().join("run.log");
        for jobs in ["1", "3"] {
            let (status, stdout, stderr) = check(scratch.path(), &log, &["--id", id, "--jobs", jobs]);
            assert!(status == Some(0) && stdout.starts_with("equal"), "{program}: {stdout}{stderr}");
        }
        let (status, _, stderr) = check(scratch.path(), &log, &[]);
        assert!(status == Some(2) && stderr.contains("say which with --id"), "{stderr}");
        let all = |jobs| tracewright(&["decode", name(scratch.path()), "--jobs", jobs]);
        let (one, three) = (all("1"), all("3"));
        assert!(one.stdout == three.stdout && one.stderr == three.stderr);
        // Messages of both are read once; each hart's are those that it has alone.
        let alone = tracewright(&["decode", name(scratch.path()), "--jobs", "1", "--id", id]);
        let of_it = |line: &&str| line.get(10..15) == Some(&*format!(" 0{id}  "));
        let (all, alone) = (stdout(&one), stdout(&alone));
        assert!(all.lines().filter(of_it).eq(alone.lines().filter(of_it)), "{program}");
        assert!(alone.lines().filter(of_it).count() > 100, "{program}: {alone}");
    }
}

/// A program's retirements as CSV, and how many rows are instructions.
fn csv() -> (Vec<String>, usize) {
    let mut rows = Vec::new();
    let program = root().join("programs/bin/args.elf");
    let options = Options {
        arguments: vec!["programs/bin/args.elf".into()],
        streams: Streams::none(),
        ..Options::default()
    };
    let (core, machine) = Linux::load(&program, options).unwrap();
    let mut instructions = 0;
    let mut hart = Hart::new(core, machine);
    hart.run(
        u64::MAX,
        &mut Retirements::new(|retired: &Retired| {
            let mut row = format!(
                "1,{:x},{:x},{},",
                retired.pc,
                retired.bits,
                retired.privilege.map_or(0, |p| p as u8)
            );
            let _ = match retired.trap {
                None => write!(row, "0,0,0,0"),
                Some(trap) => write!(row, "1,{:x},{:x},0", trap.cause, trap.value),
            };
            instructions += usize::from(retired.trap.is_none());
            rows.push(row);
        }),
    );
    (rows, instructions)
}

#[test]
fn a_single_instruction_that_differs_is_found() {
    let capture = record("args", &[]);
    let (rows, instructions) = csv();
    assert!(instructions > 1000, "{instructions}");
    let log = capture.path().join("log.csv");
    let checked = |rows: &[String], more: &[&str]| {
        let header = "VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT";
        fs::write(&log, format!("{header}\n{}\n", rows.join("\n"))).unwrap();
        check(capture.path(), &log, more)
    };
    let (status, stdout, _) = checked(&rows, &[]);
    assert_eq!(
        (status, stdout.starts_with(&format!("equal: {instructions} instructions, "))),
        (Some(0), true),
        "{stdout}"
    );
    let is_trap = |row: &String| row.split(',').nth(4) == Some("1");
    let is_plain = |row: &String| {
        let bits = u32::from_str_radix(row.split(',').nth(2).unwrap(), 16).unwrap();
        !is_trap(row) && !decode(Xlen::Rv64, bits).class().ends_block()
    };
    // What was equal before row `at`.
    let before = |at: usize| rows[..at].iter().filter(|row| !is_trap(row)).count();
    let says = |(status, stdout, stderr): (Option<i32>, String, String), equal: usize, what: &str| {
        let plural = if equal == 1 { "" } else { "s" };
        let head =
            format!("the trace and the log part after {equal} instruction{plural}, at trace offset 0x");
        assert!(
            status == Some(1) && stdout.starts_with(&head) && stdout.contains(what),
            "{head}.. {what}: {stdout}{stderr}"
        );
        stdout
    };
    for at in [0, 1, rows.len() / 3, rows.len() / 2] {
        // Neither it nor the one before decides where execution goes: what is missing would look like a branch.
        let at = (at..).find(|&at| (at.saturating_sub(1)..at + 2).all(|at| is_plain(&rows[at]))).unwrap();
        // An instruction is missing: the one after it is there instead.
        let mut missing = rows.clone();
        missing.remove(at);
        let address = |at: usize| format!("0x{}", rows[at].split(',').nth(1).unwrap());
        let words = format!("the trace goes on at {}, the log at {}\n", address(at), address(at + 1));
        let shown = says(checked(&missing, &[]), before(at), &words);
        assert!(shown.contains("\n  trace ") && shown.contains("\n  log   "), "{shown}");
        assert_eq!(at > 0, shown.contains("\n  both  "), "{shown}");
        // One too many.
        let mut twice = rows.clone();
        twice.insert(at, rows[at].clone());
        says(checked(&twice, &[]), before(at) + 1, &format!("the log at {}\n", address(at)));
    }
    // Traps: another cause, none, one too many.
    let trap = rows.iter().position(is_trap).unwrap();
    let mut other = rows.clone();
    other[trap] = other[trap].replace(",1,8,", ",1,2,");
    says(checked(&other, &[]), before(trap), "the traps differ\n");
    let mut none = rows.clone();
    none.remove(trap);
    says(checked(&none, &[]), before(trap), "only the trace has a trap: exception 8: environment call");
    let mut value = rows.clone();
    let end = value[trap].rfind(",0,0").unwrap();
    value[trap].replace_range(end.., ",77,0");
    says(checked(&value, &[]), before(trap), "value 0x77");
    let mut privilege = rows.clone();
    let at = (trap + 1..).find(|&at| !is_trap(&rows[at])).unwrap();
    privilege[at..].iter_mut().for_each(|row| {
        let fields: Vec<_> = row.split(',').collect();
        *row = [&fields[..3], &["3"], &fields[4..]].concat().join(",");
    });
    says(checked(&privilege, &[]), before(at), "in U mode in the trace, in M mode in the log\n");
    // One of them ends early.
    let half = rows.len() / 2;
    says(checked(&rows[..half], &[]), before(half), "the log ends, the trace goes on\n");
    assert_eq!(checked(&rows[..half], &["--check-prefix"]).0, Some(0));
    let more = [&rows[..], &rows[..4]].concat();
    assert_eq!(checked(&more, &[]).0, Some(1));
    // What is no log, and JSON.
    fs::write(&log, "banana\n").unwrap();
    assert_eq!(check(capture.path(), &log, &[]).0, Some(2));
    let (status, stdout, _) = checked(&rows[..half], &["--json"]);
    let object: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(
        (status, &object["equal"], &object["difference"]),
        (Some(1), &false.into(), &"log ends".into())
    );
    assert_eq!(object["instructions"], before(half));
}

/// QEMU tells addresses only, and counts ECALL among the instructions.
#[test]
fn qemus_log_of_the_same_program() {
    const NAME: &str = "qemus_log_of_the_same_program";
    let scratch = Scratch::new("etrace-qemu");
    let log = scratch.path().join("qemu.log");
    let ran = Command::new("qemu-riscv64")
        .args(["-singlestep", "-d", "exec,nochain", "-D", name(&log), "programs/bin/sort.elf", "200"])
        .current_dir(root())
        .output();
    if !ran.is_ok_and(|ran| ran.status.success()) {
        return skip(NAME, "no qemu-riscv64 that knows -singlestep");
    }
    let capture = scratch.path().join("capture");
    let arguments =
        ["record", "-q", "--protocol", "etrace", "-o", name(&capture), "programs/bin/sort.elf", "--", "200"];
    assert!(tracewright(&arguments).status.success());
    let (status, stdout, stderr) = check(&capture, &log, &[]);
    assert!(status == Some(0) && stdout.starts_with("equal: "), "{stdout}{stderr}");
    // A line is missing in the middle.
    let lines = fs::read_to_string(&log).unwrap();
    let mut lines: Vec<_> = lines.lines().collect();
    lines.remove(lines.len() / 2);
    fs::write(&log, lines.join("\n")).unwrap();
    let (status, stdout, _) = check(&capture, &log, &[]);
    assert!(status == Some(1) && stdout.starts_with("the trace and the log part after "), "{stdout}");
}

#[test]
fn another_programs_log_is_another_run() {
    let (tasks, timer) = (record("traps", &[]), record("timer", &["resync_max=4"]));
    let (status, stdout, _) = check(tasks.path(), &timer.path().join("run.log"), &[]);
    assert!(status == Some(1) && stdout.starts_with("the trace and the log part after "), "{stdout}");
    let timer32 = record("timer32", &["resync_max=4"]);
    let (status, _, stderr) = check(tasks.path(), &timer32.path().join("run.log"), &[]);
    assert!(status == Some(2) && stderr.contains("the trace is of RV64, the log is not"), "{stderr}");
}

#[test]
fn a_truncated_capture_is_a_prefix() {
    let capture = record("traps", &["resync_max=1"]);
    let trace = capture.path().join("trace.bin");
    let bytes = fs::read(&trace).unwrap();
    let log = capture.path().join("run.log");
    for len in [bytes.len() / 3, bytes.len() / 2 + 1, bytes.len() - 100] {
        fs::write(&trace, &bytes[..len]).unwrap();
        let (status, stdout, stderr) = check(capture.path(), &log, &[]);
        assert!(status == Some(1) && stdout.contains("the trace "), "{len}: {stdout}{stderr}");
        let (status, stdout, stderr) = check(capture.path(), &log, &["--check-prefix"]);
        // As far as it goes, it is right; that it was cut is told.
        assert!(status == Some(1) && stdout.starts_with("equal"), "{len}: {stdout}{stderr}");
        assert!(stderr.contains("it was cut short since"), "{len}: {stderr}");
    }
    fs::write(&trace, b"").unwrap();
    assert_eq!(check(capture.path(), &log, &[]).0, Some(1));
}

/// Bytes in the middle are wrong. E-Trace has no checksums, so that need not be seen; mostly it is. Whoever compares sees it always.
#[test]
fn damage_is_told() {
    let capture = record("traps", &["resync_max=3"]);
    // Nobody but the trace itself is to notice.
    let toml = capture.path().join("capture.toml");
    let without = fs::read_to_string(&toml).unwrap().replace("checksums = \"checksums.toml\"\n", "");
    fs::write(&toml, without).unwrap();
    let trace = capture.path().join("trace.bin");
    let bytes = fs::read(&trace).unwrap();
    let decode = |jobs| tracewright(&["decode", name(capture.path()), "--jobs", jobs]);
    let good = decode("1");
    let mut noticed = 0;
    for at in (1..13).map(|part| part * bytes.len() / 13) {
        let mut wrong = bytes.clone();
        wrong[at..at + 3].fill(0x7f);
        fs::write(&trace, &wrong).unwrap();
        let (one, seven) = (decode("1"), decode("7"));
        assert!(
            one.stdout == seven.stdout && one.stderr == seven.stderr && one.status == seven.status,
            "{at}"
        );
        // The loop that it ends in is told as one of which nobody knows how often it turned, whatever is damaged.
        assert_eq!(one.status.code(), Some(1), "{at}");
        let told = stdout(&one);
        noticed += usize::from(told.contains("gap 0x") || told.contains("mismatch"));
        let (status, stdout, _) = check(capture.path(), &capture.path().join("run.log"), &[]);
        let parted = status == Some(1) && stdout.starts_with("the trace and the log part");
        assert!(parted || one.stdout == good.stdout, "{at}: {stdout}");
    }
    assert!(noticed >= 4, "{noticed} of 12");
}

#[test]
fn the_wrong_program_is_noticed() {
    let capture = record("tasks", &[]);
    let output =
        tracewright(&["decode", name(capture.path()), "--image", "programs/bin/timer.elf", "--summary"]);
    let stderr = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("the program does not explain the trace"), "{stderr}");
}

#[test]
fn wrong_parameters_are_diagnosed() {
    let capture = record("tasks", &[]);
    let file = capture.path().join("capture.toml");
    let toml = fs::read_to_string(&file).unwrap();
    for (right, wrong) in
        [("context_width = 32", "context_width = 24"), ("iaddress_lsb = 1", "iaddress_lsb = 0")]
    {
        assert!(toml.contains(right), "{toml}");
        fs::write(&file, toml.replace(right, wrong)).unwrap();
        let output = tracewright(&["decode", name(capture.path()), "--summary"]);
        let stderr = stderr(&output);
        let advice = "the first format-3 packet gives an address outside every image";
        assert!(stderr.contains(advice) && stderr.contains("check context_width"), "{wrong}: {stderr}");
        assert_ne!(output.status.code(), Some(0), "{wrong}: {stderr}");
        // Also where a comparison ends at the first difference.
        let (status, _, stderr) = check(capture.path(), &capture.path().join("run.log"), &[]);
        assert!(status == Some(1) && stderr.contains(advice), "{wrong}: {stderr}");
    }
    // What packets say themselves.
    fs::write(&file, toml.replace("bpred_size = 7", "bpred_size = 6")).unwrap();
    let (status, _, stderr) = check(capture.path(), &capture.path().join("run.log"), &[]);
    let why = "bpred_size is not what the parameters say";
    assert!(status == Some(1) && stderr.contains(why), "{stderr}");
    // A source that cannot be read does not make it an Arm core's.
    fs::write(&file, toml.replace("context_width = 32", "context_width = 0")).unwrap();
    let (status, _, stderr) = check(capture.path(), &capture.path().join("run.log"), &[]);
    assert!(status == Some(2) && stderr.contains("no source can be read"), "{stderr}");
    assert!(!stderr.contains("Arm"), "{stderr}");
}

/// Packets leave out where the handler is: whoever decodes must know, from the capture or from people.
#[test]
fn implicit_exceptions_need_their_handlers() {
    let (told, implicit) = (record("timer", &[]), record("timer", &["implicit_exception=on"]));
    // The block after the first trap is its handler's.
    let output = tracewright(&["decode", name(told.path()), "--json", "--jobs", "1"]);
    let lines = stdout(&output);
    let mut after = lines.lines().skip_while(|line| !line.contains(r#""kind":"exception""#));
    let block = after.find(|line| line.contains(r#""kind":"block""#)).expect("the timer traps");
    let block: serde_json::Value = serde_json::from_str(block).unwrap();
    let handler = format!("M:{}", block["start"].as_str().unwrap());
    is_equal(implicit.path(), &[]);
    let toml = implicit.path().join("capture.toml");
    let text = fs::read_to_string(&toml).unwrap();
    let without: Vec<_> = text.lines().filter(|line| !line.starts_with("handlers = ")).collect();
    fs::write(&toml, without.join("\n")).unwrap();
    for jobs in ["1", "5"] {
        is_equal(implicit.path(), &["--handler", &handler, "--jobs", jobs]);
    }
    let (status, stdout, stderr) = check(implicit.path(), &implicit.path().join("run.log"), &[]);
    assert!(status == Some(1) && stdout.contains("a gap: trace is missing"), "{stdout}{stderr}");
}

#[test]
fn options_that_are_not_for_it_are_refused() {
    let capture = record("traps", &[]);
    let path = name(capture.path());
    let log = capture.path().join("run.log");
    for (arguments, expected) in [
        (&["decode", path, "--style", "opencsd"][..], "--style opencsd is for Arm's"),
        (&["decode", path, "--no-image"], "--no-image is for Arm's"),
        (&["decode", "samples/hello", "--check", name(&log)], "the trace is of an Arm core, the log is not"),
    ] {
        let output = tracewright(arguments);
        let stderr = stderr(&output);
        assert!(output.status.code() == Some(2) && stderr.contains(expected), "{arguments:?}: {stderr}");
    }
}

#[test]
fn the_demo_can_be_kept() {
    let scratch = Scratch::new("etrace-demo");
    let dir = scratch.path().join("demo");
    let output = tracewright(&["demo", "--json", "--keep", name(&dir)]);
    assert!(output.status.success(), "{}", stderr(&output));
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["equal"], true);
    assert_eq!(told["instructions"], told["compared_instructions"]);
    assert_eq!(told["instructions"], told["decoded_instructions"]);
    is_equal(&dir, &[]);
    // It is what `record` makes of the same program.
    let recorded = record("recursion", &[]);
    for name in ["trace.bin", "run.log"] {
        let [kept, recorded] = [&dir, recorded.path()].map(|dir| fs::read(dir.join(name)).unwrap());
        assert!(kept == recorded, "{name}");
    }
    let story = stdout(&tracewright(&["demo"]));
    assert!(story.lines().count() < 40 && story.lines().all(|line| line.len() <= 80), "{story}");
}

/// The proxy kernel pages: at the end, what ran is not where it ran.
#[test]
fn code_behind_page_tables_is_kept() {
    let Some(captures) = captures_for("code_behind_page_tables_is_kept", "") else { return };
    let folder = Scratch::new("pages");
    let (capture, log) = (folder.path().join("capture"), folder.path().join("run.log"));
    let kernel = captures.join("riscv/elf/pk.riscv");
    let (dir, log_name) = (name(&capture), name(&log));
    let recorded =
        tracewright(&["record", "-q", "--protocol", "etrace", "-o", dir, "--log", log_name, name(&kernel)]);
    assert!(!stderr(&recorded).contains("lacks code"), "{}", stderr(&recorded));
    let (status, stdout, stderr) = check(&capture, &log, &[]);
    assert!(status == Some(0) && stdout.starts_with("equal: 139"), "{stdout}{stderr}");
}

/// The reference model's captures are Spike's retirements, to the last instruction.
#[test]
fn captures_of_the_reference_model() {
    const NAME: &str = "captures_of_the_reference_model";
    let Some(captures) = captures_for(NAME, "riscv") else { return };
    let scratch = Scratch::new("etrace-reference");
    // Spike's boot code: what its retirements begin with.
    let words = [0x297_u32, 0x202_8593, 0xf140_2573, 0x182_b283, 0x2_8067];
    let boot = scratch.path().join("boot.bin");
    fs::write(&boot, words.map(u32::to_le_bytes).concat()).unwrap();
    let boot = format!("{}@1000", name(&boot));
    for (program, width) in
        [("dhrystone", 64), ("median", 64), ("test_discon_branch_exception", 64), ("xrle", 32)]
    {
        let log = scratch.path().join("log.csv");
        let packed = captures.join(format!("etrace/spike_pc_trace/{program}.spike_pc_trace.xz"));
        if packed.exists() {
            let Ok(unpacked) = Command::new("xz").arg("-dc").arg(&packed).output() else {
                return skip(NAME, "no xz");
            };
            fs::write(&log, unpacked.stdout).unwrap();
        } else {
            fs::copy(packed.with_extension(""), &log).unwrap();
        }
        for set in ["itype3_basic", "itype4_basic"] {
            let set = captures.join("etrace").join(set);
            let trace = set.join(format!("{program}.te_inst_raw"));
            let params = set.join(format!("hardware_{width}.scf"));
            let source = format!("etrace,isa=rv{width},encapsulation=smi,params={}", name(&params));
            let elf = captures.join(format!("elf/{program}.riscv"));
            let more = ["--source", &source, "--image", name(&elf), "--image", &boot];
            let (status, stdout, stderr) = check(&trace, &log, &more);
            assert!(status == Some(0) && stdout.starts_with("equal: "), "{trace:?}: {stdout}{stderr}");
        }
    }
}
