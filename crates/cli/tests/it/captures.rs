//! Captures that are damaged, cut off, written twice, or read with another program than the one that ran: all of it is told.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::elf;
use crate::run::{command, root, stderr, tracewright};
use tracewright_testkit::Scratch;

/// Runs it; it ends with this status, and says all of this.
#[track_caller]
fn says(status: i32, arguments: &[&str], expected: &[&str]) -> Output {
    let output = tracewright(arguments);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {told}");
    for part in expected {
        assert!(told.contains(part), "{arguments:?}: no {part:?} in: {told}");
    }
    output
}

/// Records a program, with these options of `record`, into a folder.
#[track_caller]
fn record(folder: &str, more: &[&str], program: &[&str]) {
    let elf = format!("programs/bin/{}.elf", program[0]);
    let mut arguments = vec!["record", "-q", "--protocol", "etrace", "-o", folder];
    arguments.extend(more);
    arguments.extend([elf.as_str(), "--"]);
    arguments.extend(&program[1..]);
    says(0, &arguments, &[]);
}

fn set_len(file: &str, len: u64) {
    File::options().write(true).open(file).unwrap().set_len(len).unwrap();
}

/// Changes a byte.
fn flip(file: &str, at: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[at] ^= 0x55;
    fs::write(file, bytes).unwrap();
}

const SMALL: [&str; 2] = ["sort", "1000"];

/// Verbs that read all of a capture, with what else they want.
const READERS: [&[&str]; 9] = [
    &["info"],
    &["packets"],
    &["stats"],
    &["decode"],
    &["decode", "--summary"],
    &["profile"],
    &["profile", "--format", "folded"],
    &["coverage"],
    &["annotate", "main"],
];

/// All verbs that read a capture, on this one.
fn readers(capture: &str) -> impl Iterator<Item = Vec<&str>> {
    READERS.into_iter().map(move |verb| [&verb[..1], &[capture], &verb[1..]].concat())
}

#[test]
fn a_trace_that_was_cut_short_is_told_by_every_verb() {
    let scratch = Scratch::new("captures");
    let (run, file) = (scratch.join("run"), scratch.join("run/trace.bin"));
    record(&run, &[], &SMALL);
    readers(&run).for_each(|verb| drop(says(0, &verb, &[])));
    let len = fs::metadata(&file).unwrap().len();
    set_len(&file, len / 2);
    let cut = format!("trace.bin: error: has {} bytes, and {len} were recorded: it was cut short", len / 2);
    readers(&run).for_each(|verb| drop(says(1, &verb, &[&cut])));
    says(1, &["timeline", &run, "-o", &scratch.join("timeline.json")], &[&cut]);
    says(1, &["merge", &run, &run, "-o", &scratch.join("merged")], &[&cut]);
    says(1, &["diff", &run, &run], &[&cut]);
}

#[test]
fn changed_bytes_are_told_by_who_reads_them() {
    let scratch = Scratch::new("captures");
    let (run, file) = (scratch.join("run"), scratch.join("run/trace.bin"));
    record(&run, &[], &SMALL);
    flip(&file, 77);
    let changed = "trace: bytes 0x0..";
    for verb in readers(&run).filter(|verb| verb[0] != "info") {
        says(1, &verb, &[changed, "are not those that were recorded (checksum)"]);
    }
}

#[test]
fn rings_and_delta_traces_are_checked() {
    let scratch = Scratch::new("captures");
    let (ring, delta) = (scratch.join("ring"), scratch.join("delta"));
    record(&ring, &["--ring", "2K"], &SMALL);
    says(0, &["decode", &ring, "--summary"], &[]);
    flip(&scratch.join("ring/trace.bin"), 1000);
    says(1, &["decode", &ring, "--summary"], &["are not those that were recorded"]);
    record(&delta, &["--timing", "rocket_like", "--delta"], &SMALL);
    says(0, &["stalls", &delta], &[]);
    flip(&scratch.join("delta/delta.bin"), 500);
    says(1, &["stalls", &delta], &["delta.bin", "is not what was recorded"]);
    set_len(&scratch.join("delta/delta.bin"), 100);
    says(1, &["profile", &delta], &["delta.bin: error: has 100 bytes"]);
}

#[test]
fn captures_without_checksums_are_read_as_before() {
    let scratch = Scratch::new("captures");
    let (run, toml) = (scratch.join("run"), scratch.join("run/capture.toml"));
    record(&run, &[], &SMALL);
    let text = fs::read_to_string(&toml).unwrap();
    // What names it and is gone is told.
    fs::remove_file(scratch.join("run/checksums.toml")).unwrap();
    says(1, &["decode", &run, "--summary"], &["checksums.toml: error: cannot read"]);
    fs::write(&toml, text.replace("checksums = \"checksums.toml\"\n", "")).unwrap();
    flip(&scratch.join("run/trace.bin"), 77);
    let output = tracewright(&["decode", &run, "--summary"]);
    assert!(!stderr(&output).contains("checksum"), "{}", stderr(&output));
}

#[test]
fn raw_files_that_end_inside_a_message_are_told_by_every_verb() {
    let scratch = Scratch::new("captures");
    let (run, raw) = (scratch.join("run"), scratch.join("raw.bin"));
    record(&run, &["--option", "encapsulation=smi"], &SMALL);
    let bytes = fs::read(scratch.join("run/trace.bin")).unwrap();
    // All that a capture says of its source.
    let toml = fs::read_to_string(scratch.join("run/capture.toml")).unwrap();
    let params =
        toml.lines().skip_while(|line| *line != "[source.params]").take_while(|line| *line != "[[buffer]]");
    let params = params.filter_map(|line| line.split(" # ").next()?.split_once(" = "));
    // Some are a parameter and an option.
    let params: BTreeMap<_, _> = params.collect();
    let params: Vec<_> =
        params.iter().map(|(name, value)| format!("{name}={}", value.trim_matches('"'))).collect();
    let source = format!("etrace,isa=rv64,encapsulation=smi,{}", params.join(","));
    let about = ["--source", source.as_str()];
    let all = ["--image", "programs/bin/sort.elf"];
    fs::write(&raw, &bytes).unwrap();
    says(0, &[&["decode", &raw, "--summary"], &about[..], &all].concat(), &[]);
    // The last message has more than two bytes.
    let output = tracewright(&[&["packets", &raw][..], &about].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = text
        .lines()
        .filter_map(|line| line.trim().split_once("  00  ")?.0.strip_prefix("0x"))
        .next_back()
        .unwrap();
    let last = usize::from_str_radix(last, 16).unwrap();
    fs::write(&raw, &bytes[..last + 2]).unwrap();
    for verb in [&["decode", "--summary"][..], &["decode"], &["profile"], &["packets"], &["stats"]] {
        let arguments = [&verb[..1], &[&raw], &verb[1..], &about].concat();
        let arguments = match verb[0] {
            "packets" | "stats" => arguments,
            _ => [&arguments[..], &all].concat(),
        };
        says(1, &arguments, &["the file ends inside a message (2 bytes, from 0x"]);
    }
}

#[test]
fn a_wrong_program_is_refused_and_nothing_of_it_is_counted() {
    let scratch = Scratch::new("captures");
    let (run, elf) = (scratch.join("run"), scratch.join("run/sort.elf"));
    record(&run, &[], &SMALL);
    fs::copy(root().join("programs/bin/hash.elf"), &elf).unwrap();
    let left_out = "it is left out, since it may not be what ran";
    let output = says(1, &["profile", &run, "--json"], &["sort.elf: error: has ", left_out]);
    assert!(String::from_utf8_lossy(&output.stdout).contains(r#""instructions":0"#));
    says(
        1,
        &["profile", &run, "--accept-mismatch"],
        &["it is used, as asked for", "the program does not explain the trace"],
    );
    // The capture does not know what ran: the trace does.
    let toml = scratch.join("run/capture.toml");
    let text = fs::read_to_string(&toml).unwrap();
    fs::write(&toml, text.replace("checksums = \"checksums.toml\"\n", "")).unwrap();
    refuses_to_count(&scratch, &run, &[]);
    let (right, hash) = (scratch.join("right"), "programs/bin/hash.elf");
    record(&right, &[], &SMALL);
    refuses_to_count(&scratch, &right, &["--image", hash]);
    says(1, &["profile", &run, "--accept-mismatch"], &["the program does not explain the trace"]);
    // What lists, lists: each mismatch is in it.
    let output = says(1, &["decode", &run], &["the program does not explain the trace"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("mismatch"));
}

/// No verb counts anything.
#[track_caller]
fn refuses_to_count(scratch: &Scratch, capture: &str, more: &[&str]) {
    let out = scratch.join("out");
    let formats =
        ["folded", "flamegraph", "pprof", "callgrind", "llvm", "autofdo", "csv", "tracewright", "table"];
    let profiles = formats.map(|format| vec!["profile", capture, "--format", format]);
    let verbs = [
        vec!["decode", capture, "--summary"],
        vec!["decode", capture, "--summary", "--json"],
        vec!["profile", capture, "--calls"],
        vec!["coverage", capture],
        vec!["annotate", capture, "main"],
    ];
    let written = [
        vec!["timeline", capture, "-o", &out],
        vec!["merge", capture, "-o", &out],
        vec!["diff", capture, capture],
    ];
    for verb in profiles.into_iter().chain(verbs).chain(written) {
        let arguments = [&verb[..], more].concat();
        let output = says(
            2,
            &arguments,
            &[
                "the program does not explain the trace",
                "; the first at 0x",
                "nothing is counted",
                "--accept-mismatch",
            ],
        );
        assert!(output.stdout.is_empty(), "{verb:?}: {}", String::from_utf8_lossy(&output.stdout));
        assert!(!Path::new(&out).exists(), "{verb:?}");
    }
}

/// Sample programs, and how they are run so that they end soon.
const PROGRAMS: [&[&str]; 20] = [
    &["args", "one", "two"],
    &["atomics"],
    &["bits"],
    &["divides", "1"],
    &["fft", "8"],
    &["floats"],
    &["hash", "1000"],
    &["interpreter", "100"],
    &["jumps"],
    &["machine"],
    &["matrix", "20"],
    &["misses", "1"],
    &["recursion"],
    &["search"],
    &["sort", "1000"],
    &["tasks"],
    &["tasks32"],
    &["timer"],
    &["traps"],
    &["traps32"],
];

/// A log holds all that an encoder wants to know: what is encoded from it is what is encoded while the program runs.
#[test]
fn logs_give_the_same_bytes_as_programs() {
    let mixes: [&[&str]; 3] =
        [&[], &["nocontext=1"], &["context_width=12", "branch_prediction=off", "resync_max=2"]];
    let scratch = Scratch::new("captures");
    for program in PROGRAMS {
        let (log, elf) = (scratch.join("run.log"), format!("programs/bin/{}.elf", program[0]));
        // Those that run long, with the usual options only.
        let is_short = matches!(program[0], "args" | "sort" | "recursion" | "timer" | "traps" | "traps32");
        for options in mixes.into_iter().take(if is_short { 3 } else { 1 }) {
            let options: Vec<_> = options.iter().flat_map(|option| ["--option", option]).collect();
            let (live, later) = (scratch.join("live"), scratch.join("later"));
            let record = ["record", "-q", "--protocol", "etrace", "-o", &live, "--log", &log];
            tracewright(&[&record, &options[..], &[&elf, "--"], &program[1..]].concat());
            says(0, &[&["encode", "-q", &log, "-o", &later, "--image", &elf], &options[..]].concat(), &[]);
            let bytes = |folder: &str| fs::read(Path::new(folder).join("trace.bin")).unwrap();
            assert!(bytes(&live) == bytes(&later), "{program:?} {options:?}");
            says(0, &["decode", &live, "--check", &log], &[]);
        }
    }
}

#[test]
fn traces_of_other_contexts_are_not_equal() {
    let scratch = Scratch::new("captures");
    let (run, log) = (scratch.join("run"), scratch.join("run.log"));
    record(&run, &["--log", &log], &SMALL);
    says(0, &["decode", &run, "--check", &log], &[]);
    // A log without contexts, as others have them, is as good as it was.
    let csv = |context: &str| {
        let output = tracewright(&["decode", &run, "--json", "--elements"]);
        String::from_utf8_lossy(&output.stdout).contains(context)
    };
    assert!(csv("0x3e8") || csv("1000"), "the context of the first thread is traced");
    let bytes = fs::read(&log).unwrap();
    let other = scratch.join("other.log");
    fs::write(&other, with_context(&bytes, 0x3e9)).unwrap();
    let output = says(1, &["decode", &run, "--check", &other], &[]);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains("ran in context 0x3e8 in the trace, in context 0x3e9 in the log"), "{told}");
}

#[test]
fn accesses_are_compared_where_both_have_them() {
    let scratch = Scratch::new("captures");
    let traced = |name: &str, program: &[&str]| {
        let (run, log) = (scratch.join(name), scratch.join(&format!("{name}.log")));
        let arguments =
            ["record", "-q", "--protocol", "etrace", "--option", "data=address,value", "--details", "all"];
        let output = tracewright(&[&arguments[..], &["-o", &run, "--log", &log], program].concat());
        assert!(matches!(output.status.code(), Some(0)), "{}", String::from_utf8_lossy(&output.stderr));
        (run, log)
    };
    for program in ["args", "atomics", "recursion", "traps", "floats"] {
        let (run, log) = traced(program, &[&format!("programs/bin/{program}.elf")]);
        let output = says(0, &["decode", &run, "--check", &log, "--json"], &[]);
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(told["accesses"].as_u64().unwrap() > 100, "{program}: {told}");
    }
    // The same path through the program, with another byte in memory.
    let (run, _) = traced("one", &["programs/bin/args.elf", "--", "one"]);
    let (_, log) = traced("two", &["programs/bin/args.elf", "--", "two"]);
    let output = says(1, &["decode", &run, "--check", &log], &[]);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains("accesses to memory differ: load of 1 byte at"), "{told}");
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
        let options =
            ["branch_prediction=off", "jump_target_cache=off"].map(|option| ["--option", option]).concat();
        let (record, model) =
            (["record", "-q", "--protocol", "etrace", "-o", folder], ["--timing", "cva6_like"]);
        let arguments = [&record[..], &model, &options, &["programs/bin/sort.elf"]].concat();
        let child = command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let start = Instant::now();
        while fs::metadata(Path::new(folder).join("trace.bin")).map_or(0, |file| file.len()) < 100_000 {
            assert!(start.elapsed() < Duration::from_secs(100), "it traces");
            std::thread::sleep(Duration::from_millis(1));
        }
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

#[test]
fn a_killed_recording_can_be_read_and_says_so() {
    let scratch = Scratch::new("captures");
    let run = scratch.join("run");
    Recording::start(&run).kill();
    let cut = "the recording was not finished";
    says(1, &["info", &run], &[cut]);
    let output = says(1, &["decode", &run, "--summary", "--json"], &[cut]);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let summary: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert!(summary["instructions"].as_u64().unwrap() > 100_000, "{told}");
    assert_eq!(summary["mismatches"], 0, "{told}");
    says(1, &["profile", &run], &[cut]);
    // It is ours: the next recording may take its place.
    record(&run, &[], &SMALL);
    says(0, &["decode", &run, "--summary"], &[]);
}

/// A loop of which there is next to no trace: what there is, is written long before it is much.
#[test]
fn a_killed_recording_of_a_loop_keeps_its_beginning() {
    let scratch = Scratch::new("captures");
    let run = scratch.join("run");
    let program = scratch.join("loop.elf");
    // lui t0, 0x80; again: addi t0, t0, -1; bnez t0, again; j .
    let words = [0x0008_02b7_u32, 0xfff2_8293, 0xfe02_9ee3, 0x0000_006f];
    fs::write(&program, elf::elf(false, 0x8000_0000, &words.map(u32::to_le_bytes).concat())).unwrap();
    let arguments = ["record", "-q", "--entry", "80000000", "--protocol", "etrace", "-o", &run, &program];
    let mut child = command(&arguments).stdout(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while fs::metadata(Path::new(&run).join("trace.bin")).map_or(0, |file| file.len()) == 0 {
        assert!(start.elapsed() < Duration::from_secs(100), "it traces");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let output = says(1, &["decode", &run, "--summary", "--json"], &["the recording was not finished"]);
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(summary["instructions"].as_u64().unwrap() > 0, "{summary}");
}

#[test]
fn a_folder_takes_one_recording_at_a_time() {
    let scratch = Scratch::new("captures");
    let (run, log) = (scratch.join("run"), scratch.join("run.log"));
    says(0, &["record", "-q", "--log", &log, "programs/bin/sort.elf", "--", "1000"], &[]);
    let first = Recording::start(&run);
    let other = "another recording is writing to this folder";
    let elf = "programs/bin/recursion.elf";
    says(2, &["record", "--protocol", "etrace", "-o", &run, elf], &[other]);
    says(2, &["record", "-o", &run, elf], &[other]);
    says(2, &["encode", &log, "-o", &run, "--image", "programs/bin/sort.elf"], &[other]);
    says(2, &["demo", "--keep", &run], &[other]);
    first.kill();
    says(0, &["encode", "-q", &log, "-o", &run, "--image", "programs/bin/sort.elf"], &[]);
    says(0, &["decode", &run, "--check", &log], &[]);
}

#[test]
fn folders_of_others_and_links_are_not_written_to() {
    let scratch = Scratch::new("captures");
    let (theirs, link, run) = (scratch.join("theirs"), scratch.join("link"), scratch.join("run"));
    fs::create_dir(&theirs).unwrap();
    fs::write(scratch.join("theirs/trace.bin"), "theirs").unwrap();
    let elf = "programs/bin/recursion.elf";
    let verbs = |folder: &str| {
        let folder = folder.to_owned();
        [
            vec![
                "record".to_owned(),
                "--protocol".into(),
                "etrace".into(),
                "-o".into(),
                folder.clone(),
                elf.into(),
            ],
            vec!["record".to_owned(), "-o".into(), folder.clone(), elf.into()],
            vec!["demo".to_owned(), "--keep".into(), folder],
        ]
    };
    symlink(&theirs, &link).unwrap();
    for (folder, why) in [
        (&theirs, "is not empty and holds no capture"),
        (&link, "is a symbolic link"),
        (&format!("{link}/"), "is a symbolic link"),
    ] {
        for verb in verbs(folder) {
            says(2, &verb.iter().map(String::as_str).collect::<Vec<_>>(), &[why]);
        }
    }
    let inside: Vec<_> = fs::read_dir(&theirs).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(inside, ["trace.bin"]);
    assert_eq!(fs::read(scratch.join("theirs/trace.bin")).unwrap(), b"theirs");
    // Links in a capture of ours are replaced, and what they point to stays.
    for verb in verbs(&run) {
        let verb: Vec<_> = verb.iter().map(String::as_str).collect();
        says(0, &verb, &[]);
        let names: Vec<_> = fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().path()).collect();
        for name in names.iter().filter(|name| !name.ends_with("capture.toml") && !name.ends_with("run.log"))
        {
            fs::remove_file(name).unwrap();
            symlink(scratch.join("theirs/trace.bin"), name).unwrap();
        }
        says(0, &verb, &[]);
        assert_eq!(fs::read(scratch.join("theirs/trace.bin")).unwrap(), b"theirs", "{verb:?}");
        fs::remove_dir_all(&run).unwrap();
    }
}

#[test]
fn captures_know_where_traps_go() {
    for program in ["timer", "tasks", "traps", "recursion"] {
        let scratch = Scratch::new("captures");
        let (run, log) = (scratch.join("run"), scratch.join("run.log"));
        let elf = format!("programs/bin/{program}.elf");
        let arguments = [
            "record",
            "-q",
            "--protocol",
            "etrace",
            "-o",
            &run,
            "--option",
            "implicit_exception=on",
            "--log",
            &log,
            &elf,
        ];
        says(0, &arguments, &[]);
        let text = fs::read_to_string(scratch.join("run/capture.toml")).unwrap();
        let handlers = text.lines().find(|line| line.starts_with("handlers = ")).expect(program);
        says(0, &["decode", &run, "--check", &log], &[]);
        // A wrong one that is named counts.
        let privilege = if program == "recursion" { "U" } else { "M" };
        assert!(handlers.contains(&format!("\"{privilege}:")), "{handlers}");
        says(1, &["decode", &run, "--check", &log, "--handler", &format!("{privilege}:10")], &[]);
    }
}
