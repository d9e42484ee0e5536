//! What `record` traces, `decode` tells on any number of threads, and `decode --check` proves or refutes; the demo.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::run::{Ran, assert_fits, forget_checksums, recorded, replace, root, run, string, text, values};
use tracewright_hart::linux::{Linux, Options, Streams};
use tracewright_hart::{Hart, Retired, Retirements};
use tracewright_isa::riscv::{Xlen, decode};
use tracewright_testkit::{Scratch, captures_for, skip, unpacked};

/// A recorded program.
struct Recorded {
    _scratch: Scratch,
    /// The capture.
    run: String,
    log: String,
}

/// Records a sample program with these options of the encoder.
fn record(program: &str, options: &str) -> Recorded {
    let scratch = Scratch::new(&format!("etrace-{program}"));
    let log = scratch.join("run.log");
    let options: String = options.split_whitespace().map(|option| format!(" --option {option}")).collect();
    let run = recorded(&scratch, program, &format!("--log {log}{options}"));
    Recorded { _scratch: scratch, run, log }
}

impl Recorded {
    /// A file of the capture.
    fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.run)
    }

    /// What `decode --check` says.
    fn check(&self, more: &str) -> Ran {
        run!("decode {} --check {} {more}", self.run, self.log)
    }

    #[track_caller]
    fn is_equal(&self, more: &str) {
        self.check(more).ends(0).begins("equal: ");
    }
}

/// All tables, none; each way to carry packets; synchronisation so often that there is much to take over.
const MIXES: &[&str] = &[
    "",
    "resync_max=0",
    "branch_prediction=off jump_target_cache=off implicit_return=off sijump=off full_address=on",
    "encapsulation=smi resync_max=1",
    "encapsulation=pulp implicit_return=off branch_prediction=off resync_max=2",
    "source_bits=6 id=33 timestamp_bytes=4 type_bits=2 notime=off resync_max=3",
];

#[test]
fn what_is_recorded_is_what_ran() {
    for program in ["traps", "timer32", "args"] {
        for mix in MIXES {
            let recorded = record(program, mix);
            recorded.is_equal("--jobs 1");
            recorded.is_equal("--jobs 7");
        }
    }
    for program in ["tasks", "recursion"] {
        record(program, "").is_equal("");
    }
}

/// What is printed does not depend on the number of threads.
#[test]
fn all_threads_tell_the_same() {
    let mut split = 0;
    for (program, mix) in [("tasks", MIXES[1]), ("recursion", MIXES[3]), ("traps32", MIXES[1])] {
        let capture = record(program, mix);
        // Segments have 4 KiB at least.
        split += fs::metadata(capture.file("trace.bin")).unwrap().len() / 4096;
        for options in ["--blocks", "--elements --json", "--summary", "--instructions --to 0x2000"] {
            let decode = |jobs: u32| run!("decode {} --jobs {jobs} {options}", capture.run);
            let one = decode(1).ends(0);
            for jobs in [2, 7] {
                let more = decode(jobs);
                let what = format!("{program} {options} --jobs {jobs}");
                assert_eq!((more.status, more.err), (one.status, one.err.clone()), "{what}");
                assert!(more.out == one.out, "{what}");
            }
        }
    }
    assert!(split > 10, "there is something to split: {split}");
}

/// Two harts in one stream, each with a lane of its own.
#[test]
fn several_harts_in_one_stream() {
    let captures = [("traps", 0), ("timer", 1)]
        .map(|(program, id)| record(program, &format!("source_bits=1 id={id} resync_max=1 align=0")));
    let mut streams = captures.each_ref().map(|capture| fs::read(capture.file("trace.bin")).unwrap());
    let mut both = Vec::new();
    // A message of each in turn, until there is none.
    while streams.iter().any(|stream| !stream.is_empty()) {
        for stream in &mut streams {
            let len = stream.first().map_or(0, |header| 1 + usize::from(header & 0x1f));
            both.extend(stream.drain(..len));
        }
    }
    let scratch = Scratch::new("etrace-harts");
    let dir = scratch.join("");
    scratch.write("trace.bin", &both);
    let described =
        captures.each_ref().map(|capture| fs::read_to_string(capture.file("capture.toml")).unwrap());
    let source = |number: usize| {
        let description = &described[number];
        let (from, to) = (description.find("[[source]]").unwrap(), description.find("[[buffer]]").unwrap());
        description[from..to].replace("hart0", &format!("hart{number}"))
    };
    // Both programs lie at the same addresses, so each is looked at with its own image only.
    for (id, (program, capture)) in ["traps", "timer"].iter().zip(&captures).enumerate() {
        let elf = format!("{program}.elf");
        fs::copy(capture.file(&elf), scratch.join(&elf)).unwrap();
        let code = described[id].find("[[image]]").map_or("", |at| &described[id][at..]);
        let code = code.replace("file = \"code.bin\"", "file = \"boot.bin\"");
        fs::copy(capture.file("code.bin"), scratch.join("boot.bin")).unwrap();
        let buffer = "[[buffer]]\nname = \"trace\"\nfile = \"trace.bin\"\nsources = [\"hart0\", \"hart1\"]\n";
        let toml = format!("format = 1\n{}\n{}\n{buffer}\n{code}", source(0), source(1));
        assert!(toml.contains(&format!("[[image]]\nfile = \"{elf}\"")), "{toml}");
        fs::write(scratch.join("capture.toml"), toml).unwrap();
        let check = |more: &str| run!("decode {dir} --check {} {more}", capture.log);
        for jobs in [1, 3] {
            check(&format!("--id {id} --jobs {jobs}")).ends(0).begins("equal");
        }
        check("").ends(2).says("say which with --id");
        let [one, three] = [1, 3].map(|jobs| run!("decode {dir} --jobs {jobs}"));
        assert!(one.out == three.out && one.err == three.err);
        // Messages of both are read once; each hart's are those that it has alone.
        let alone = run!("decode {dir} --jobs 1 --id {id}").out;
        let of_it = |line: &&str| line.get(10..15) == Some(&*format!(" 0x0{id}"));
        assert!(one.out.lines().filter(of_it).eq(alone.lines().filter(of_it)), "{program}");
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
    let capture = record("args", "");
    let (rows, instructions) = csv();
    assert!(instructions > 1000, "{instructions}");
    let log = capture.file("log.csv");
    let check = |more: &str| run!("decode {} --check {log} {more}", capture.run);
    let checked = |rows: &[String], more: &str| {
        let header = "VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT";
        fs::write(&log, format!("{header}\n{}\n", rows.join("\n"))).unwrap();
        check(more)
    };
    checked(&rows, "").ends(0).begins(format!("equal: {instructions} instructions, "));
    let is_trap = |row: &String| row.split(',').nth(4) == Some("1");
    let is_plain = |row: &String| {
        let bits = u32::from_str_radix(row.split(',').nth(2).unwrap(), 16).unwrap();
        !is_trap(row) && !decode(Xlen::Rv64, bits).class().ends_block()
    };
    // What was equal before row `at`.
    let before = |at: usize| rows[..at].iter().filter(|row| !is_trap(row)).count();
    let differ = |rows: &[String], equal: usize, what: &str| {
        let plural = if equal == 1 { "" } else { "s" };
        let head =
            format!("the trace and the log part after {equal} instruction{plural}, at trace offset 0x");
        checked(rows, "").ends(1).begins(head).prints(what).out
    };
    for at in [0, 1, rows.len() / 3, rows.len() / 2] {
        // Neither it nor the one before decides where execution goes: what is missing would look like a branch.
        let at = (at..).find(|&at| (at.saturating_sub(1)..at + 2).all(|at| is_plain(&rows[at]))).unwrap();
        // An instruction is missing: the one after it is there instead.
        let mut missing = rows.clone();
        missing.remove(at);
        let address = |at: usize| format!("0x{}", rows[at].split(',').nth(1).unwrap());
        let words = format!("the trace goes on at {}, the log at {}\n", address(at), address(at + 1));
        let shown = differ(&missing, before(at), &words);
        assert!(shown.contains("\n  trace ") && shown.contains("\n  log   "), "{shown}");
        assert_eq!(at > 0, shown.contains("\n  both  "), "{shown}");
        // One too many.
        let mut twice = rows.clone();
        twice.insert(at, rows[at].clone());
        differ(&twice, before(at) + 1, &format!("the log at {}\n", address(at)));
    }
    // Traps: another cause, none, one too many.
    let trap = rows.iter().position(is_trap).unwrap();
    let mut other = rows.clone();
    other[trap] = other[trap].replace(",1,8,", ",1,2,");
    differ(&other, before(trap), "the traps differ\n");
    let mut none = rows.clone();
    none.remove(trap);
    differ(&none, before(trap), "only the trace has a trap: exception 8: environment call");
    let mut value = rows.clone();
    let end = value[trap].rfind(",0,0").unwrap();
    value[trap].replace_range(end.., ",77,0");
    differ(&value, before(trap), "value 0x77");
    let mut privilege = rows.clone();
    let at = (trap + 1..).find(|&at| !is_trap(&rows[at])).unwrap();
    privilege[at..].iter_mut().for_each(|row| {
        let fields: Vec<_> = row.split(',').collect();
        *row = [&fields[..3], &["3"], &fields[4..]].concat().join(",");
    });
    differ(&privilege, before(at), "in U mode in the trace, in M mode in the log\n");
    // One of them ends early.
    let half = rows.len() / 2;
    differ(&rows[..half], before(half), "the log ends, the trace goes on\n");
    checked(&rows[..half], "--check-prefix").ends(0);
    checked(&[&rows[..], &rows[..4]].concat(), "").ends(1);
    // What is no log, and JSON.
    fs::write(&log, "banana\n").unwrap();
    check("").ends(2);
    let object = checked(&rows[..half], "--json").ends(1).json();
    assert_eq!((&object["equal"], &object["difference"]), (&false.into(), &"log ends".into()));
    assert_eq!(object["instructions"], before(half));
}

/// QEMU tells addresses only, and counts ECALL among the instructions.
#[test]
fn qemus_log_of_the_same_program() {
    const NAME: &str = "qemus_log_of_the_same_program";
    let scratch = Scratch::new("etrace-qemu");
    let log = scratch.join("qemu.log");
    let ran = Command::new("qemu-riscv64")
        .args(["-singlestep", "-d", "exec,nochain", "-D", &log, "programs/bin/sort.elf", "200"])
        .current_dir(root())
        .output();
    if !ran.is_ok_and(|ran| ran.status.success()) {
        return skip(NAME, "no qemu-riscv64 that knows -singlestep");
    }
    let capture = recorded(&scratch, "sort -- 200", "");
    run!("decode {capture} --check {log}").ends(0).begins("equal: ");
    // A line is missing in the middle.
    let lines = fs::read_to_string(&log).unwrap();
    let mut lines: Vec<_> = lines.lines().collect();
    lines.remove(lines.len() / 2);
    fs::write(&log, lines.join("\n")).unwrap();
    run!("decode {capture} --check {log}").ends(1).begins("the trace and the log part after ");
}

#[test]
fn another_programs_log_is_another_run() {
    let [traps, timer, timer32] = [("traps", ""), ("timer", "resync_max=4"), ("timer32", "resync_max=4")]
        .map(|(program, options)| record(program, options));
    let checked = run!("decode {} --check {}", traps.run, timer.log).ends(1);
    checked.begins("the trace and the log part after ");
    let checked = run!("decode {} --check {}", traps.run, timer32.log).ends(2);
    checked.says("the trace is of RV64, the log is not");
}

#[test]
fn a_truncated_capture_is_a_prefix() {
    let capture = record("traps", "resync_max=1");
    let trace = capture.file("trace.bin");
    let bytes = fs::read(&trace).unwrap();
    for len in [bytes.len() / 3, bytes.len() / 2 + 1, bytes.len() - 100] {
        fs::write(&trace, &bytes[..len]).unwrap();
        capture.check("").ends(1).prints("the trace ");
        // As far as it goes, it is right; that it was cut is told.
        capture.check("--check-prefix").ends(1).begins("equal").says("it was cut short since");
    }
    fs::write(&trace, b"").unwrap();
    capture.check("").ends(2).says("nothing could be read: there is no trace");
}

/// Bytes in the middle are wrong. E-Trace has no checksums, so that need not be seen; mostly it is. Whoever compares sees it always.
#[test]
fn damage_is_told() {
    let capture = record("traps", "resync_max=3");
    // Nobody but the trace itself is to notice.
    forget_checksums(&capture.run);
    let trace = capture.file("trace.bin");
    let bytes = fs::read(&trace).unwrap();
    let decode = |jobs: u32| run!("decode {} --jobs {jobs}", capture.run);
    let good = decode(1);
    let mut noticed = 0;
    for at in (1..13).map(|part| part * bytes.len() / 13) {
        let mut wrong = bytes.clone();
        wrong[at..at + 3].fill(0x7f);
        fs::write(&trace, &wrong).unwrap();
        let (one, seven) = (decode(1), decode(7));
        assert!(one.out == seven.out && one.err == seven.err && one.status == seven.status, "{at}");
        let is_noticed = one.out.contains("gap 0x") || one.out.contains("mismatch");
        assert!(!is_noticed || one.status == Some(1), "{at}: {}", one.err);
        noticed += usize::from(is_noticed);
        let checked = capture.check("");
        let parted = checked.status == Some(1) && checked.out.starts_with("the trace and the log part");
        assert!(parted || one.out == good.out, "{at}: {}", checked.out);
    }
    assert!(noticed >= 4, "{noticed} of 12");
}

#[test]
fn the_wrong_program_is_noticed() {
    let capture = record("tasks", "");
    let wrong = run!("decode {} --image programs/bin/timer.elf --summary", capture.run).ends(2);
    wrong.says("the program does not explain the trace");
}

#[test]
fn wrong_parameters_are_diagnosed() {
    let capture = record("tasks", "");
    let file = capture.file("capture.toml");
    let toml = fs::read_to_string(&file).unwrap();
    let advice = "the first format-3 packet gives an address outside every image";
    for (right, wrong) in
        [("context_width = 32", "context_width = 24"), ("iaddress_lsb = 1", "iaddress_lsb = 0")]
    {
        replace(&file, right, wrong);
        let decoded = run!("decode {} --summary", capture.run).says(advice).says("check context_width");
        assert_ne!(decoded.status, Some(0), "{wrong}: {}", decoded.err);
        // Also where a comparison ends at the first difference.
        capture.check("").ends(1).says(advice);
        fs::write(&file, &toml).unwrap();
    }
    // What packets say themselves.
    fs::write(&file, toml.replace("bpred_size = 7", "bpred_size = 6")).unwrap();
    capture.check("").ends(1).says("bpred_size is not what the parameters say");
    // A source that cannot be read does not make it an Arm core's.
    fs::write(&file, toml.replace("context_width = 32", "context_width = 0")).unwrap();
    capture.check("").ends(2).says("no source can be read").says_not("Arm");
}

/// Packets leave out where the handler is: whoever decodes must know, from the capture or from people.
#[test]
fn implicit_exceptions_need_their_handlers() {
    let (told, implicit) = (record("timer", ""), record("timer", "implicit_exception=on"));
    // The block after the first trap is its handler's.
    let lines = run!("decode {} --json --jobs 1", told.run).out;
    let mut after = values(&lines).skip_while(|line| line["kind"] != "exception");
    let block = after.find(|line| line["kind"] == "block").expect("the timer traps");
    let handler = format!("--handler M:{}", string(&block, "address"));
    implicit.is_equal("");
    let toml = implicit.file("capture.toml");
    let text = fs::read_to_string(&toml).unwrap();
    let without: Vec<_> = text.lines().filter(|line| !line.starts_with("handlers = ")).collect();
    fs::write(&toml, without.join("\n")).unwrap();
    for jobs in [1, 5] {
        implicit.is_equal(&format!("{handler} --jobs {jobs}"));
    }
    implicit.check("").ends(1).prints("a gap: trace is missing");
}

#[test]
fn options_that_are_not_for_it_are_refused() {
    let Recorded { _scratch, run, log } = record("traps", "");
    run!("decode {run} --style opencsd").ends(2).says("--style opencsd is for Arm's");
    run!("decode {run} --no-image").ends(2).says("--no-image is for Arm's");
    run!("decode samples/hello --check {log}").ends(2).says("the trace is of an Arm core, the log is not");
}

#[test]
fn the_demo_can_be_kept() {
    let scratch = Scratch::new("etrace-demo");
    let dir = scratch.join("demo");
    let told = run!("demo --json --keep {dir}").ends(0).json();
    assert_eq!(told["equal"], true);
    assert_eq!(told["instructions"], told["compared_instructions"]);
    assert_eq!(told["instructions"], told["decoded_instructions"]);
    run!("decode {dir} --check {dir}/run.log").ends(0).begins("equal: ");
    // It is what `record` makes of the same program.
    let recorded = record("recursion", "");
    let read = |path: &str| fs::read(path).unwrap();
    assert!(read(&format!("{dir}/trace.bin")) == read(&recorded.file("trace.bin")), "trace.bin");
    assert!(read(&format!("{dir}/run.log")) == read(&recorded.log), "run.log");
    let story = run!("demo").out;
    assert!(story.lines().count() < 40, "{story}");
    assert_fits(&story);
}

/// The proxy kernel pages: at the end, what ran is not where it ran.
#[test]
fn code_behind_page_tables_is_kept() {
    let Some(kernel) = captures_for("code_behind_page_tables_is_kept", "riscv/elf/pk.riscv") else { return };
    let folder = Scratch::new("pages");
    let (capture, log) = (folder.join("capture"), folder.join("run.log"));
    run!("record -q --protocol etrace -o {capture} --log {log} {}", text(&kernel)).says_not("lacks code");
    run!("decode {capture} --check {log}").ends(0).begins("equal: 139");
}

/// The reference model's captures are Spike's retirements, to the last instruction.
#[test]
fn captures_of_the_reference_model() {
    const NAME: &str = "captures_of_the_reference_model";
    let Some(captures) = captures_for(NAME, "riscv") else { return };
    let captures = text(&captures);
    for (program, width) in
        [("dhrystone", 64), ("median", 64), ("test_discon_branch_exception", 64), ("xrle", 32)]
    {
        for set in ["itype3_basic", "itype4_basic"] {
            let log = format!("{captures}/etrace/spike_pc_trace/{program}.spike_pc_trace");
            let checked = run!("decode {} --check {log}", reference(captures, set, program, width)).ends(0);
            // Spike's boot ROM is in no file. The run of the program for RV32 begins in the program.
            assert_eq!(checked.out.contains(BOOT_CODE), width == 64, "{}", checked.out);
            checked.begins("equal: ");
        }
    }
}

const BOOT_CODE: &str = "  code of 5 instructions at 0x1000..0x1014 is taken from the log\n";

/// A capture of the reference model, with its source and its program, as arguments.
fn reference(captures: &str, set: &str, program: &str, width: u8) -> String {
    let set = format!("{captures}/etrace/{set}");
    let source = format!("etrace,isa=rv{width},encapsulation=smi,params={set}/hardware_{width}.scf");
    format!("{set}/{program}.te_inst_raw --source {source} --image {captures}/elf/{program}.riscv")
}

/// Every kind of log that has bits gives the code of the boot ROM. A log without them does not, and the message says what to do. In a pipe,
/// the beginning is skipped.
#[test]
fn code_of_logs_is_used() {
    const NAME: &str = "code_of_logs_is_used";
    let Some(captures) = captures_for(NAME, "riscv") else { return };
    let (captures, scratch) = (text(&captures), Scratch::new("code-of-logs"));
    let capture = reference(captures, "itype3_basic", "median", 64);
    let csv = format!("{captures}/etrace/spike_pc_trace/median.spike_pc_trace.xz");
    let spike = format!("{captures}/spike_logs/median.l_commits.log.xz");
    run!("decode {capture} --check {spike} --check-prefix").ends(0).prints(BOOT_CODE);

    let object = run!("decode {capture} --check {csv} --json").ends(0).json();
    let code = &object["code_from_log"];
    assert_eq!((&code["instructions"], &code["is_cut"]), (&5.into(), &false.into()));
    assert_eq!((&code["places"][0]["address"], &code["places"][0]["bytes"]), (&"0x1000".into(), &20.into()));
    assert!(code["places"][1].is_null() && code["changed"].is_null(), "{object}");

    let (with, without) = (scratch.join("with.log"), scratch.join("without.log"));
    run!("record -q --from-log {csv} --log {with} --details all").ends(0);
    run!("record -q --from-log {csv} --log {without}").ends(0);
    run!("decode {capture} --check {with}").ends(0).begins("equal: 15016 instructions").prints(BOOT_CODE);
    let lacks = run!("decode {capture} --check {without}").ends(1);
    lacks.prints("the log has no bits of its instructions").prints("--image FILE@ADDRESS");

    let Some(log) = unpacked(NAME, csv.as_ref()) else { return };
    let args = format!("decode {capture} --check /dev/stdin");
    let mut child = Command::new(env!("CARGO_BIN_EXE_tracewright"))
        .args(args.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(log.as_ref()).unwrap();
    let piped = child.wait_with_output().unwrap();
    let said = String::from_utf8(piped.stdout).unwrap();
    assert!(said.starts_with("equal after the log's beginning: 15011 instructions"), "{said}");
    assert!(said.contains("not compared: the log's first instructions (5)"), "{said}");
    assert_eq!(piped.status.code(), Some(1));
}

/// Of code that changed, the log gives the first version.
#[test]
fn first_version_of_code_is_used() {
    let scratch = Scratch::new("changed-code");
    let head = "VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT\n";
    let lines = |second: &str| {
        let once = |bits: &str| format!("1,1000,{bits},3,0,0,0,0\n1,1004,ffdff06f,3,0,0,0,0\n");
        format!("{head}{}{}", once("00000013"), once(second))
    };
    let (log, other) = (scratch.join("log.csv"), scratch.join("other.csv"));
    fs::write(&log, lines("00000013")).unwrap();
    fs::write(&other, lines("00100093")).unwrap();
    let run = scratch.join("run");
    run!("encode -q {log} -o {run}").ends(0);
    fs::remove_file(format!("{run}/code.bin")).unwrap();
    let same = run!("decode {run} --check {log}")
        .begins("equal: 2 ")
        .prints("code of 2 instructions at 0x1000..0x1008");
    assert!(!same.out.contains("changed"), "{}", same.out);
    run!("decode {run} --check {other}").prints("it changed at 0x1000, and the first version is used");
    crate::book::json::check("decode --check", &run!("decode {run} --check {other} --json").json());
}

/// Recordings on our own machine are what Spike ran, for each kind of its logs, but for loops that wait for the host.
#[test]
fn recordings_agree_with_spike_but_for_waits() {
    const NAME: &str = "recordings_agree_with_spike_but_for_waits";
    let Some(captures) = captures_for(NAME, "riscv") else { return };
    for (program, kind, limit, waits) in [
        ("vvadd", "l_commits", "", "passed over 1 wait: 1143 rounds"),
        ("dhrystone", "commits", "", "passed over 3 waits: 6058 rounds"),
        // The log ends after 20,000 instructions, before the program waits.
        ("test_discon_branch_exception", "commits", "--max-instructions 30000", ""),
    ] {
        let packed = captures.join(format!("spike_logs/{program}.{kind}.log.xz"));
        let Some(text) = unpacked(NAME, &packed) else { return };
        let scratch = Scratch::new("check-spike");
        let (run, log) = (scratch.join("run"), scratch.join("spike.log"));
        fs::write(&log, text).unwrap();
        let elf = captures.join(format!("elf/{program}.riscv"));
        run!("record -q {limit} -o {run} {}", elf.display()).ends_within(0..=1);
        let check = format!("decode {run} --check {log} --check-prefix");
        if waits.is_empty() {
            run!("{check}").ends(0).prints("equal: 20000 instructions");
            continue;
        }
        run!("{check}").ends(1).prints("was taken in the log only");
        let passed = run!("{check} --pass-waits").ends(0).begins("equal: ").prints(waits);
        assert_fits(&passed.out);
        let object = run!("{check} --pass-waits --json").ends(0).json();
        assert!(object["waits"].as_u64() > Some(0) && object["wait_rounds"].as_u64() > Some(100), "{object}");
    }
}

/// A log that cannot be read to its end is not equal, and does not look so.
#[test]
fn a_bad_line_of_a_log_is_not_passed_over() {
    let place = Scratch::new("check-bad-line");
    let header = "VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT\n";
    let run = recorded(&place, "args", "");
    let listing = place.join("listing");
    run!("record -q --listing {listing} programs/bin/args.elf").ends(0);
    let instructions = fs::read_to_string(&listing).unwrap();
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        Some(format!("1,{},{},0,0,0,0,0\n", words.next()?, words.next()?))
    };
    let lines: String = instructions.lines().take(20).filter_map(line).collect();
    let log = place.write("bad.csv", format!("{header}{lines}1,zz,{}\n", "0,".repeat(40)).as_bytes());
    let ran = run!("decode {run} --check {} --check-prefix", text(&log)).ends(1);
    let ran = ran.begins("equal as far as the log could be read: 20 instructions");
    // Of the line, only the field that is wrong is shown.
    ran.says("line 22: expected a hexadecimal number (ADDRESS), found \"zz\"\n");
}
