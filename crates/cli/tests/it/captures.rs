//! Captures that are damaged, cut off, written twice, or read with another program than the one that ran: all of it is told.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::elf as made;
use crate::run::{ETRACE, command, elf, forget_checksums, hex, number, recorded, root, run, wait_until};
use tracewright_testkit::Scratch;

fn set_len(file: &str, len: u64) {
    File::options().write(true).open(file).unwrap().set_len(len).unwrap();
}

/// Changes a byte.
fn flip(file: &str, at: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[at] ^= 0x55;
    fs::write(file, bytes).unwrap();
}

const SMALL: &str = "sort -- 1000";

/// Verbs that read all of a capture, with what else they want.
const READERS: [&str; 9] = [
    "info {}",
    "packets {}",
    "stats {}",
    "decode {}",
    "decode {} --summary",
    "profile {}",
    "profile {} --format folded",
    "coverage {}",
    "annotate {} main",
];

/// All verbs that read a capture, on this one.
fn readers(capture: &str) -> impl Iterator<Item = String> {
    READERS.into_iter().map(move |verb| verb.replace("{}", capture))
}

#[test]
fn a_trace_that_was_cut_short_is_told_by_every_verb() {
    let scratch = Scratch::new("captures");
    let run = recorded(&scratch, SMALL, "");
    let file = format!("{run}/trace.bin");
    readers(&run).for_each(|verb| drop(run!("{verb}").ends(0)));
    let len = fs::metadata(&file).unwrap().len();
    set_len(&file, len / 2);
    let cut = format!("trace.bin: error: has {} bytes, and {len} were recorded: it was cut short", len / 2);
    readers(&run).for_each(|verb| drop(run!("{verb}").ends(1).says(&cut)));
    run!("timeline {run} -o {}", scratch.join("timeline.json")).ends(1).says(&cut);
    run!("merge {run} {run} -o {}", scratch.join("merged")).ends(1).says(&cut);
    run!("diff {run} {run}").ends(1).says(&cut);
}

#[test]
fn changed_bytes_are_told_by_who_reads_them() {
    let scratch = Scratch::new("captures");
    let run = recorded(&scratch, SMALL, "");
    flip(&format!("{run}/trace.bin"), 77);
    for verb in readers(&run).filter(|verb| !verb.starts_with("info")) {
        let changed = run!("{verb}").ends(1).says("trace: bytes 0x0..");
        changed.says("are not those that were recorded (checksum)");
    }
}

#[test]
fn rings_and_delta_traces_are_checked() {
    let scratch = Scratch::new("captures");
    let ring = recorded(&scratch, SMALL, "--ring 2K");
    run!("decode {ring} --summary").ends(0);
    flip(&format!("{ring}/trace.bin"), 1000);
    run!("decode {ring} --summary").ends(1).says("are not those that were recorded");
    let delta = recorded(&scratch, SMALL, "--timing rocket_like --delta");
    let file = format!("{delta}/delta.bin");
    run!("stalls {delta}").ends(0);
    flip(&file, 500);
    run!("stalls {delta}").ends(1).says("delta.bin").says("is not what was recorded");
    set_len(&file, 100);
    run!("profile {delta}").ends(1).says("delta.bin: error: has 100 bytes");
}

#[test]
fn captures_without_checksums_are_read_as_before() {
    let scratch = Scratch::new("captures");
    let run = recorded(&scratch, SMALL, "");
    // What names it and is gone is told.
    fs::remove_file(format!("{run}/checksums.toml")).unwrap();
    run!("decode {run} --summary").ends(1).says("checksums.toml: error: cannot read");
    forget_checksums(&run);
    flip(&format!("{run}/trace.bin"), 77);
    run!("decode {run} --summary").says_not("checksum");
}

#[test]
fn raw_files_that_end_inside_a_message_are_told_by_every_verb() {
    let scratch = Scratch::new("captures");
    let (run, raw) = (recorded(&scratch, SMALL, "--option encapsulation=smi"), scratch.join("raw.bin"));
    let bytes = fs::read(format!("{run}/trace.bin")).unwrap();
    // All that a capture says of its source.
    let toml = fs::read_to_string(format!("{run}/capture.toml")).unwrap();
    let params =
        toml.lines().skip_while(|line| *line != "[source.params]").take_while(|line| *line != "[[buffer]]");
    let params = params.filter_map(|line| line.split(" # ").next()?.split_once(" = "));
    // Some are a parameter and an option.
    let params: BTreeMap<_, _> = params.collect();
    let params: Vec<_> =
        params.iter().map(|(name, value)| format!("{name}={}", value.trim_matches('"'))).collect();
    let about = format!("--source etrace,isa=rv64,encapsulation=smi,{}", params.join(","));
    let all = format!("{about} --image programs/bin/sort.elf");
    fs::write(&raw, &bytes).unwrap();
    run!("decode {raw} --summary {all}").ends(0);
    // The last message has more than two bytes.
    let packets = run!("packets {raw} {about}").out;
    let offset = |line: &str| Some(hex(line.trim().split_once("  0x00  ")?.0));
    let last = packets.lines().filter_map(offset).next_back().unwrap();
    fs::write(&raw, &bytes[..last as usize + 2]).unwrap();
    for (verb, options) in [
        ("decode --summary", &all),
        ("decode", &all),
        ("profile", &all),
        ("packets", &about),
        ("stats", &about),
    ] {
        run!("{verb} {raw} {options}").ends(1).says("the file ends inside a message (2 bytes, from 0x");
    }
}

#[test]
fn a_wrong_program_is_refused_and_nothing_of_it_is_counted() {
    let scratch = Scratch::new("captures");
    let run = recorded(&scratch, SMALL, "");
    fs::copy(root().join(elf("hash")), format!("{run}/sort.elf")).unwrap();
    let left_out = run!("profile {run} --json").ends(1).says("sort.elf: error: has ");
    left_out.says("it is left out, since it may not be what ran").prints(r#""instructions":0"#);
    let unexplained = "the program does not explain the trace";
    run!("profile {run} --accept-mismatch").ends(1).says("it is used, as asked for").says(unexplained);
    // The capture does not know what ran: the trace does.
    forget_checksums(&run);
    refuses_to_count(&scratch, &run, "");
    run!("profile {run} --accept-mismatch").ends(1).says(unexplained);
    // What lists, lists: each mismatch is in it.
    run!("decode {run}").ends(1).says(unexplained).prints("mismatch");
    let right = recorded(&scratch, SMALL, "");
    refuses_to_count(&scratch, &right, "--image programs/bin/hash.elf");
}

/// No verb counts anything.
#[track_caller]
fn refuses_to_count(scratch: &Scratch, capture: &str, more: &str) {
    let out = scratch.join("out");
    let formats = "folded flamegraph pprof callgrind llvm autofdo csv tracewright table";
    let profiles = formats.split(' ').map(|format| format!("profile {capture} --format {format}"));
    let verbs = [
        format!("decode {capture} --summary"),
        format!("decode {capture} --summary --json"),
        format!("profile {capture} --calls"),
        format!("coverage {capture}"),
        format!("annotate {capture} main"),
        format!("timeline {capture} -o {out}"),
        format!("merge {capture} -o {out}"),
        format!("diff {capture} {capture}"),
    ];
    for verb in profiles.chain(verbs) {
        let ran = run!("{verb} {more}").ends(2).says("the program does not explain the trace");
        let ran = ran.says("; the first at 0x").says("nothing is counted").says("--accept-mismatch");
        assert_eq!(ran.out, "", "{verb}");
        assert!(!Path::new(&out).exists(), "{verb}");
    }
}

/// Sample programs, and how they are run so that they end soon.
const PROGRAMS: [&str; 20] = [
    "args -- one two",
    "atomics",
    "bits",
    "divides -- 1",
    "fft -- 8",
    "floats",
    "hash -- 1000",
    "interpreter -- 100",
    "jumps",
    "machine",
    "matrix -- 20",
    "misses -- 1",
    "recursion",
    "search",
    "sort -- 1000",
    "tasks",
    "tasks32",
    "timer",
    "traps",
    "traps32",
];

/// A log holds all that an encoder wants to know: what is encoded from it is what is encoded while the program runs.
#[test]
fn logs_give_the_same_bytes_as_programs() {
    let mixes = [
        "",
        "--option nocontext=1",
        "--option context_width=12 --option branch_prediction=off --option resync_max=2",
    ];
    let scratch = Scratch::new("captures");
    for program in PROGRAMS {
        let (name, arguments) = program.split_once(' ').unwrap_or((program, ""));
        let (log, elf) = (scratch.join("run.log"), elf(name));
        // Those that run long, with the usual options only.
        let is_short = matches!(name, "args" | "sort" | "recursion" | "timer" | "traps" | "traps32");
        for options in mixes.into_iter().take(if is_short { 3 } else { 1 }) {
            let (live, later) = (scratch.join("live"), scratch.join("later"));
            run!("{ETRACE} {live} --log {log} {options} {elf} {arguments}");
            run!("encode -q {log} -o {later} --image {elf} {options}").ends(0);
            let bytes = |folder: &str| fs::read(Path::new(folder).join("trace.bin")).unwrap();
            assert!(bytes(&live) == bytes(&later), "{program} {options}");
            run!("decode {live} --check {log}").ends(0);
        }
    }
}

#[test]
fn traces_of_other_contexts_are_not_equal() {
    let scratch = Scratch::new("captures");
    let (log, other) = (scratch.join("run.log"), scratch.join("other.log"));
    let run = recorded(&scratch, SMALL, &format!("--log {log}"));
    run!("decode {run} --check {log}").ends(0);
    // A log without contexts, as others have them, is as good as it was.
    let elements = run!("decode {run} --json --elements").out;
    let is_traced = elements.contains("0x3e8") || elements.contains("1000");
    assert!(is_traced, "the context of the first thread is traced");
    fs::write(&other, with_context(&fs::read(&log).unwrap(), 0x3e9)).unwrap();
    let differs = "ran in context 0x3e8 in the trace, in context 0x3e9 in the log";
    run!("decode {run} --check {other}").ends(1).prints(differs);
}

#[test]
fn accesses_are_compared_where_both_have_them() {
    let scratch = Scratch::new("captures");
    let traced = |name: &str, program: &str| {
        let (run, log) = (scratch.join(name), scratch.join(&format!("{name}.log")));
        run!("{ETRACE} {run} --option data=address,value --details all --log {log} {program}").ends(0);
        (run, log)
    };
    for program in ["args", "atomics", "recursion", "traps", "floats"] {
        let (run, log) = traced(program, &elf(program));
        let told = run!("decode {run} --check {log} --json").ends(0).json();
        assert!(number(&told, "accesses") > 100, "{program}: {told}");
    }
    // The same path through the program, with another byte in memory.
    let (run, _) = traced("one", "programs/bin/args.elf -- one");
    let (_, log) = traced("two", "programs/bin/args.elf -- two");
    run!("decode {run} --check {log}").ends(1).prints("accesses to memory differ: load of 1 byte at");
}

/// A log with another context.
fn with_context(log: &[u8], context: u64) -> Vec<u8> {
    use tracewright_core::Block;
    use tracewright_hart::log::own::{Reader, Writer};
    use tracewright_hart::{HartSink, Privilege, Trap};
    use tracewright_isa::riscv::Xlen;

    struct Other(Writer<Vec<u8>, false, false>, u64);

    impl HartSink for Other {
        fn block(&mut self, block: &Block) {
            self.0.block(block);
        }

        fn trap(&mut self, trap: &Trap) {
            self.0.trap(trap);
        }

        fn privilege(&mut self, privilege: Privilege) {
            self.0.privilege(privilege);
        }

        fn context(&mut self, _: u64) {
            self.0.context(self.1);
        }
    }

    let mut other = Other(Writer::new(Vec::new(), Xlen::Rv64).unwrap(), context);
    Reader::new(log).unwrap().read(&mut other).unwrap();
    other.0.finish().unwrap()
}

/// A recording that goes on for long; killed at the end.
struct Recording(Child);

impl Recording {
    /// Starts it, waits until there is some trace, and stops it there.
    fn start(folder: &str) -> Self {
        // Without tables there is much trace, and with a model it takes long.
        let options = "--timing cva6_like --option branch_prediction=off --option jump_target_cache=off programs/bin/sort.elf";
        let mut command = command(format_args!("{ETRACE} {folder} {options}"));
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("it traces", || trace_len(folder) >= 100_000);
        // It neither ends nor lets go of anything.
        let stopped = Command::new("sh").args(["-c", &format!("kill -STOP {}", child.id())]).status();
        assert!(stopped.unwrap().success());
        Self(child)
    }

    /// Kills it as nobody can prevent.
    fn kill(mut self) {
        self.0.kill().unwrap();
        assert_eq!(self.0.wait().unwrap().code(), None, "it was killed before its end");
    }
}

/// How much trace there is so far, of a recording that goes on.
fn trace_len(capture: &str) -> u64 {
    fs::metadata(format!("{capture}.part/trace.bin")).map_or(0, |file| file.len())
}

#[test]
fn a_killed_recording_can_be_read_and_says_so() {
    let scratch = Scratch::new("captures");
    let run = scratch.join("sort.run");
    Recording::start(&run).kill();
    let cut = "the recording was not finished";
    run!("info {run}.part").ends(1).says(cut);
    let summary = run!("decode {run}.part --summary --json").ends(1).says(cut).json();
    assert!(number(&summary, "instructions") > 100_000, "{summary}");
    assert_eq!(summary["mismatches"], 0, "{summary}");
    run!("profile {run}.part").ends(1).says(cut);
    // It is ours: the next recording may take its place.
    assert_eq!(recorded(&scratch, SMALL, ""), run);
    assert!(!Path::new(&format!("{run}.part")).exists());
    run!("decode {run} --summary").ends(0);
}

/// A loop of which there is next to no trace: what there is, is written long before it is much.
#[test]
fn a_killed_recording_of_a_loop_keeps_its_beginning() {
    let scratch = Scratch::new("captures");
    let (run, program) = (scratch.join("run"), scratch.join("loop.elf"));
    // lui t0, 0x80; again: addi t0, t0, -1; bnez t0, again; j .
    let words = [0x0008_02b7_u32, 0xfff2_8293, 0xfe02_9ee3, 0x0000_006f];
    fs::write(&program, made::elf(false, 0x8000_0000, &words.map(u32::to_le_bytes).concat())).unwrap();
    let mut command = command(format_args!("{ETRACE} {run} --entry 80000000 {program}"));
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    wait_until("it traces", || trace_len(&run) > 0);
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = run!("decode {run}.part --summary --json").ends(1).says("the recording was not finished");
    assert!(number(&ran.json(), "instructions") > 0, "{}", ran.out);
}

#[test]
fn a_folder_takes_one_recording_at_a_time() {
    let scratch = Scratch::new("captures");
    let (run, log) = (scratch.join("run"), scratch.join("run.log"));
    run!("record -q --log {log} programs/bin/sort.elf -- 1000").ends(0);
    let first = Recording::start(&run);
    for verb in [
        "record --protocol etrace -o {} programs/bin/recursion.elf",
        "record -o {} programs/bin/recursion.elf",
        "encode LOG -o {} --image programs/bin/sort.elf",
        "demo --keep {}",
    ] {
        let verb = verb.replace("{}", &run).replace("LOG", &log);
        run!("{verb}").ends(2).says("another recording is writing to this folder");
    }
    first.kill();
    run!("encode -q {log} -o {run} --image programs/bin/sort.elf").ends(0);
    run!("decode {run} --check {log}").ends(0);
}

#[test]
fn folders_of_others_and_links_are_not_written_to() {
    let scratch = Scratch::new("captures");
    let (theirs, link, run) = (scratch.join("theirs"), scratch.join("link"), scratch.join("run"));
    let file = scratch.join("theirs/trace.bin");
    fs::create_dir(&theirs).unwrap();
    fs::write(&file, "theirs").unwrap();
    let verbs = ["record -o {} programs/bin/recursion.elf", "demo --keep {}"];
    symlink(&theirs, &link).unwrap();
    for (folder, why) in [
        (&theirs, "is not empty and holds no capture"),
        (&link, "is a symbolic link"),
        (&format!("{link}/"), "is a symbolic link"),
    ] {
        verbs.iter().for_each(|verb| drop(run!("{}", verb.replace("{}", folder)).ends(2).says(why)));
    }
    let inside: Vec<_> = fs::read_dir(&theirs).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(inside, ["trace.bin"]);
    assert_eq!(fs::read(&file).unwrap(), b"theirs");
    // Links in a capture of ours are replaced, and what they point to stays.
    for verb in verbs {
        run!("{}", verb.replace("{}", &run)).ends(0);
        let names: Vec<_> = fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().path()).collect();
        for name in names.iter().filter(|name| !name.ends_with("capture.toml") && !name.ends_with("run.log"))
        {
            fs::remove_file(name).unwrap();
            symlink(&file, name).unwrap();
        }
        run!("{}", verb.replace("{}", &run)).ends(0);
        assert_eq!(fs::read(&file).unwrap(), b"theirs", "{verb}");
        fs::remove_dir_all(&run).unwrap();
    }
}

#[test]
fn captures_know_where_traps_go() {
    for program in ["timer", "tasks", "traps", "recursion"] {
        let scratch = Scratch::new("captures");
        let log = scratch.join("run.log");
        let run = recorded(&scratch, program, &format!("--option implicit_exception=on --log {log}"));
        let text = fs::read_to_string(format!("{run}/capture.toml")).unwrap();
        let handlers = text.lines().find(|line| line.starts_with("handlers = ")).expect(program);
        run!("decode {run} --check {log}").ends(0);
        // A wrong one that is named counts.
        let privilege = if program == "recursion" { "U" } else { "M" };
        assert!(handlers.contains(&format!("\"{privilege}:")), "{handlers}");
        run!("decode {run} --check {log} --handler {privilege}:10").ends(1);
    }
}
