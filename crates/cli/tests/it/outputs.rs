//! Outputs that take no more: a full disk, a reader that has gone, standard error that is closed. And results that say nothing.

use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};

use crate::run::{Ran, command, elf, ends_soon, ran, root, run};
use tracewright_testkit::Scratch;

/// A command line; `CAPTURE` and `ENDLESS` stand for a recording and a program that never ends.
struct Case<'a> {
    folder: &'a Scratch,
    line: &'a str,
}

impl Case<'_> {
    fn command(&self) -> Command {
        let mut line = format!("{} ", self.line);
        for (word, name) in [
            ("CAPTURE ", "capture "),
            ("ENDLESS ", "endless.elf "),
            ("PROFILE ", "kept.prof "),
            ("LOG ", "run.log "),
            ("NEW ", "new "),
        ] {
            line = line.replace(word, &self.folder.join(name));
        }
        let mut command = command(line);
        command.stdin(Stdio::null());
        command
    }

    /// Runs it with files of at most so many blocks of 512 bytes.
    fn limited(&self, blocks: u32) -> Ran {
        let command = self.command();
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\""), "sh"]);
        limited.arg(command.get_program()).args(command.get_args());
        limited.current_dir(command.get_current_dir().unwrap());
        self.ended(limited.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// A run that takes long did not notice.
    fn ended(&self, mut child: Child) -> Ran {
        let stderr = child.stderr.take().map(|mut stderr| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                stderr.read_to_end(&mut bytes).unwrap();
                bytes
            })
        });
        let status = ends_soon(&mut child, self.line);
        let stderr = stderr.map_or_else(Vec::new, |thread| thread.join().unwrap());
        let output = std::process::Output { status, stdout: Vec::new(), stderr };
        Ran::new(self.line.into(), output).says_not("panicked")
    }
}

/// A recording, its log, its profile, and a program that never ends.
fn recorded() -> Scratch {
    let folder = Scratch::new("outputs");
    let programs = root().join("programs/bin");
    let mut elf = fs::read(programs.join("args.elf")).unwrap();
    // A jump to itself in the place of the first instruction; `.text` is at this offset, and `_start` first in it.
    elf[0x120..0x124].copy_from_slice(&0x6f_u32.to_le_bytes());
    folder.write("endless.elf", &elf);
    for line in [
        "record -q --protocol etrace --timing rocket_like --delta -o CAPTURE programs/bin/args.elf",
        "record -q --log LOG programs/bin/args.elf",
        "profile CAPTURE --format tracewright -o PROFILE",
    ] {
        ran(&mut Case { folder: &folder, line }.command()).ends(0);
    }
    folder
}

/// Every verb, and every form of what it writes to standard output.
const TO_STDOUT: [&str; 44] = [
    "--help",
    "record --help",
    "info CAPTURE",
    "info CAPTURE --json",
    "info samples/retirement.log",
    "stats CAPTURE",
    "stats CAPTURE --json",
    "stats samples/retirement.log",
    "packets CAPTURE",
    "packets CAPTURE --json",
    "packets samples/hello --style opencsd",
    "decode CAPTURE",
    "decode CAPTURE --json",
    "decode CAPTURE --instructions",
    "decode CAPTURE --elements",
    "decode CAPTURE --summary --json",
    "decode CAPTURE --check LOG",
    "decode samples/hello --style opencsd",
    "decode samples/hello --no-image",
    "profile CAPTURE",
    "profile CAPTURE --json",
    "profile CAPTURE --format csv",
    "profile CAPTURE --format folded",
    "profile CAPTURE --format flamegraph",
    "profile CAPTURE --format pprof",
    "profile CAPTURE --format tracewright",
    "coverage CAPTURE",
    "coverage CAPTURE --missing",
    "coverage CAPTURE --json",
    "coverage CAPTURE --format csv",
    "coverage CAPTURE --format lcov",
    "stalls CAPTURE",
    "stalls CAPTURE --json",
    "annotate CAPTURE main",
    "annotate CAPTURE main --json",
    "timeline CAPTURE -o -",
    "timeline CAPTURE --format perfetto -o -",
    "timeline CAPTURE --format firefox -o -",
    "diff CAPTURE PROFILE",
    "merge CAPTURE PROFILE -o -",
    "demo",
    "encode --option help LOG",
    "record --timing print",
    "record -q --listing - ENDLESS",
];

/// Every option that names a file to write.
const TO_FILE: [&str; 17] = [
    "profile CAPTURE -o /dev/full",
    "profile CAPTURE --json -o /dev/full",
    "profile CAPTURE --format csv -o /dev/full",
    "profile CAPTURE --format flamegraph -o /dev/full",
    "profile CAPTURE --format pprof -o /dev/full",
    "profile CAPTURE --format tracewright -o /dev/full",
    "coverage CAPTURE --format lcov -o /dev/full",
    "stalls CAPTURE --histogram /dev/full",
    "stalls CAPTURE --timeline /dev/full",
    "timeline CAPTURE -o /dev/full",
    "timeline CAPTURE --format perfetto -o /dev/full",
    "timeline CAPTURE --format firefox -o /dev/full",
    "merge CAPTURE PROFILE -o /dev/full",
    "encode LOG -o NEW --summary-json /dev/full",
    "record -q --summary-json /dev/full programs/bin/args.elf",
    "record -q --log /dev/full ENDLESS",
    "record -q --listing /dev/full ENDLESS",
];

#[test]
fn a_full_disk_is_told_at_once() {
    let folder = recorded();
    for line in TO_STDOUT {
        let case = Case { folder: &folder, line };
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let ended = case.ended(case.command().stdout(full).stderr(Stdio::piped()).spawn().unwrap());
        ended.ends(2).says("standard output: cannot write: No space left");
    }
    for line in TO_FILE {
        let case = Case { folder: &folder, line };
        let command = &mut case.command();
        let ended = case.ended(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
        ended.ends(2).says("/dev/full: cannot write: No space left");
        let _ = fs::remove_dir_all(folder.path().join("new"));
    }
}

/// Files may have at most 64 KiB.
#[test]
fn a_recording_that_finds_no_room_ends_and_is_kept() {
    let folder = recorded();
    let new = folder.join("new");
    // The trace of this loop is short, and that of the sample is not.
    let sort = "record -q --protocol etrace -o NEW programs/bin/sort.elf";
    for (line, full) in [
        (sort, "NEW.part/trace.bin"),
        ("record -q --protocol etrace --listing NEW.list -o NEW ENDLESS", "NEW.list"),
        ("record -q --protocol etrace --log NEW.log --details all -o NEW ENDLESS", "NEW.log"),
    ] {
        let line = line.replace("NEW.", &format!("{new}."));
        let ended = Case { folder: &folder, line: &line }.limited(128).ends(2);
        let ended = ended.says(full.replace("NEW", &new) + ": cannot write: File too large");
        ended.says("what was recorded until then is kept");
        ran(&mut Case { folder: &folder, line: "decode NEW --summary" }.command()).ends_within(0..=1);
        fs::remove_dir_all(&new).unwrap();
    }
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let folder = recorded();
    for line in TO_STDOUT {
        for lines in [0, 3] {
            let case = Case { folder: &folder, line };
            let mut child = case.command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let mut stdout = child.stdout.take().unwrap();
            let mut read = [0; 1];
            let mut left = lines;
            while left > 0 && stdout.read(&mut read).unwrap() > 0 {
                left -= u32::from(read[0] == b'\n');
            }
            drop(stdout);
            // All may have been written before the reader went.
            case.ended(child).ends_within(0..=1).says_not("cannot write");
        }
    }
}

#[test]
fn standard_error_may_be_closed() {
    let folder = recorded();
    let failing = [
        "info /nowhere",
        "decode CAPTURE --wrong",
        "record --from-log /nowhere",
        "merge CAPTURE -o /nowhere/x",
    ];
    for line in TO_STDOUT.into_iter().filter(|line| !line.contains("ENDLESS")).chain(failing) {
        let case = Case { folder: &folder, line };
        let mut child = case.command().stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stderr.take());
        case.ended(child).ends(if failing.contains(&line) { 2 } else { 0 });
    }
}

/// Nothing of another kind is replaced without `--force`, and what cannot be written is told before the work begins.
#[test]
fn outputs_of_other_kinds_are_replaced_only_by_force() {
    let folder = recorded();
    let old = |name: &str, bytes: &[u8]| folder.write(name, bytes).to_str().unwrap().to_owned();
    let elf = old("old.elf", b"\x7fELF old");
    let source = old("old.c", b"int main;");
    let (text, json) =
        (old("old.txt", b"main 12\n"), old("old.json", b"{\"verb\":\"stats\",\"version\":2}\n"));
    let xml = old("old.svg", b"<coverage version=\"tracewright\"/>");
    // What others wrote.
    let (notes, data) = (old("notes.txt", b"Notes on the design.\n"), old("data.json", b"{\"a\":1}"));
    let (table, picture) = (old("prices.csv", b"date,price\n2026-01-01,12\n"), old("logo.svg", b"<svg/>"));
    // What a verb writes, to files that it must not replace, and to one that it may.
    let cases = [
        ("profile CAPTURE --format table -o FILE", vec![&elf, &source, &json, &xml, &notes, &table], &text),
        ("profile CAPTURE -o FILE", vec![&elf, &source, &picture], &xml),
        ("profile CAPTURE --format csv -o FILE", vec![&json, &notes, &table], &text),
        ("profile CAPTURE --format flamegraph -o FILE", vec![&elf, &source, &text, &picture], &xml),
        ("profile CAPTURE --json -o FILE", vec![&text, &data], &json),
        ("profile CAPTURE --format tracewright -o FILE", vec![&elf, &text], &folder.join("kept.prof")),
        ("coverage CAPTURE --format lcov -o FILE", vec![&elf, &source, &json], &text),
        ("timeline CAPTURE -o FILE", vec![&elf, &text, &data], &json),
        ("merge CAPTURE -o FILE", vec![&elf, &text], &folder.join("kept.prof")),
        ("record -q --log FILE programs/bin/args.elf", vec![&elf, &source, &text], &folder.join("run.log")),
        ("record -q --listing FILE programs/bin/args.elf", vec![&elf, &source, &json], &text),
        ("record -q --summary-json FILE programs/bin/args.elf", vec![&elf, &source, &text], &json),
        ("encode LOG -q -o NEW --summary-json FILE", vec![&elf, &source, &text], &json),
    ];
    for (line, refused, good) in cases {
        // A log without its program makes a capture that lacks code.
        let good_end = i32::from(line.starts_with("encode"));
        let ran = |file: &str, more: &str| {
            let line = line.replacen(' ', &format!(" {more} "), 1).replace("FILE", file);
            ran(&mut Case { folder: &folder, line: &line }.command())
        };
        for file in refused {
            let before = fs::read(file).unwrap();
            ran(file, "").ends(2).says("would replace it: name another file, or add --force");
            assert_eq!(fs::read(file).unwrap(), before, "{line}");
            ran(file, "--force").ends(good_end);
            assert_ne!(fs::read(file).unwrap(), before, "{line}");
            fs::write(file, before).unwrap();
        }
        ran(good, "").ends(good_end);
        let nowhere = ran("/nonexistent/x", "").ends(2).says("/nonexistent/x: cannot write: No such file");
        assert!(!nowhere.out.contains("args: checksum"), "it ran before it said so: {line}");
    }
    let left = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().ends_with(".part")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A capture is replaced as a whole, and a folder with files of somebody is not.
#[test]
fn folders_of_others_are_replaced_only_by_force() {
    let folder = recorded();
    let capture = folder.join("capture");
    let ran = |line: &str| ran(&mut Case { folder: &folder, line }.command());
    ran("demo --keep CAPTURE").ends(2).says("holds a capture of ").says("add --force");
    ran("record -q -o CAPTURE programs/bin/args.elf").ends(0);
    let names = || {
        let names = fs::read_dir(&capture).unwrap().map(|entry| entry.unwrap().file_name().into_string());
        names.collect::<Result<std::collections::BTreeSet<_>, _>>().unwrap().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(names(), ["args.elf", "capture.toml", "checksums.toml", "trace.bin"]);
    fs::write(format!("{capture}/notes.txt"), "mine").unwrap();
    ran("record -q -o CAPTURE programs/bin/recursion.elf").ends(2).says("\"notes.txt\" besides a capture");
    ran("record -q --force -o CAPTURE programs/bin/recursion.elf").ends(0);
    assert_eq!(names(), ["capture.toml", "checksums.toml", "notes.txt", "recursion.elf", "trace.bin"]);
    ran("decode CAPTURE --summary").ends(0);
    ran("record -o /nonexistent/x programs/bin/args.elf")
        .ends(2)
        .says("/nonexistent/x")
        .says_not("exit status");
}

/// What a writer makes when nothing that ran is in the result.
#[test]
fn a_result_that_says_nothing_leaves_no_file_and_replaces_none() {
    let folder = recorded();
    let formats = "table csv folded flamegraph pprof callgrind autofdo branch-list bolt bolt-simpleperf fdata \
        profgen llvm llvm-binary gcov gcov-16 tracewright";
    // Nothing ran in the last byte of the trace.
    let nothing = "--from 0xffffffff";
    let mut lines: Vec<String> = formats
        .split(' ')
        .map(|format| format!("profile CAPTURE --format {format} {nothing} -o NEW"))
        .collect();
    lines.extend([
        format!("profile CAPTURE --json {nothing} -o NEW"),
        format!("profile CAPTURE --format csv --rows branches {nothing} -o NEW"),
        format!("coverage CAPTURE --file no-such-file --format lcov -o NEW {nothing}"),
        format!("timeline CAPTURE {nothing} -o NEW"),
        format!("timeline CAPTURE --format perfetto {nothing} -o NEW"),
        format!("timeline CAPTURE --format firefox {nothing} -o NEW"),
        format!("merge CAPTURE {nothing} -o NEW"),
    ]);
    let new = folder.join("new");
    for line in &lines {
        let case = Case { folder: &folder, line };
        for before in [None, Some("what was there before")] {
            let _ = fs::remove_file(&new);
            before.iter().for_each(|text| fs::write(&new, text).unwrap());
            let ended = ran(&mut case.command()).ends_within(1..=2).says_not("invalid value");
            assert!(!ended.err.is_empty(), "{line}");
            assert_eq!(fs::read_to_string(&new).ok().as_deref(), before, "{line}: {}", ended.err);
        }
    }
}

/// A name that cannot be written is told before anything is decoded.
#[test]
fn an_output_that_cannot_be_written_is_told_first() {
    let folder = recorded();
    for line in [
        "profile CAPTURE -o /nowhere/file",
        "merge CAPTURE -o /nowhere/file",
        "coverage CAPTURE --format lcov -o /nowhere/file",
        "timeline CAPTURE -o /nowhere/file",
    ] {
        let ended = ran(&mut Case { folder: &folder, line }.command()).ends(2);
        let expected = "tracewright: /nowhere/file: cannot write: No such file or directory (os error 2)\n";
        assert_eq!(ended.err, expected, "{line}");
    }
}

/// Files may have at most 512 bytes.
#[test]
fn a_disk_that_is_full_leaves_the_result_that_was_there() {
    let folder = recorded();
    let new = folder.join("new");
    for line in [
        "profile CAPTURE --force --format tracewright -o NEW",
        "profile CAPTURE --force --format flamegraph -o NEW",
        "timeline CAPTURE --force -o NEW",
        "merge CAPTURE PROFILE --force -o NEW",
    ] {
        fs::write(&new, "what was there before").unwrap();
        let ended = Case { folder: &folder, line }.limited(1).ends(2);
        ended.says("new: cannot write: File too large");
        assert_eq!(fs::read_to_string(&new).unwrap(), "what was there before", "{line}");
        let parts = folder.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name());
        let parts: Vec<_> = parts.filter(|name| name.to_string_lossy().ends_with(".part")).collect();
        assert!(parts.is_empty(), "{line}: {parts:?}");
    }
}

/// What cannot be written where it is to go is refused before anything runs.
#[test]
fn outputs_that_cannot_be_are_refused_before_anything_runs() {
    let place = Scratch::new("outputs");
    let [same, log, out] = ["same", "run.log", "out"].map(|name| place.join(name));
    let program = elf("sort");
    let ran = run!("record -o {same} --log {same}/. {program} 10").ends(2);
    assert_eq!(ran.says("-o and --log both write ").out, "");
    run!("record --listing {same} --summary-json {same} {program} 10")
        .ends(2)
        .says("--listing and --summary-json both write ");
    assert!(!std::path::Path::new(&same).exists());
    let ran = run!("record --log - {program} 10").ends(2);
    assert_eq!(ran.says("--log -: a log is a file").out, "");
    run!("record -o - {program} 10").ends(2).says("-o -: a capture is a folder");
    run!("record -q --log {log} {program} 10").good();
    run!("encode {log} -o -").ends(2).says("-o -: a capture is a folder");
    // Help needs no log.
    run!("encode --option help").ends(0).prints("Options of E-Trace").prints("Options of ETMv4");
    run!("encode").ends(2).says("<LOG>");
    run!("encode --option data=off").ends(2).says("name a log to encode");
    assert_eq!(run!("encode -q {log} --image {program} -o {out}").ends(0).err, "");
    // What is not known is not counted.
    let read = run!("record --from-log {log}").ends(0).says("without code ").says("name the program");
    let percents = read.err.split_whitespace().zip(read.err.split_whitespace().skip(1));
    let percents =
        percents.filter(|(_, sign)| sign.starts_with('%')).map(|(number, _)| number.parse::<f64>().unwrap());
    assert!(percents.clone().count() > 5 && percents.clone().all(|percent| percent <= 100.0), "{}", read.err);
    run!("encode samples/retirement.log --image {program} -o {out}")
        .ends(2)
        .says("the log names its programs");
}

/// What we wrote, in any format, is replaced when it is written again.
#[test]
fn our_own_outputs_are_recognised() {
    let folder = recorded();
    let formats = "table csv tree folded flamegraph pprof callgrind llvm llvm-binary llvm-contexts profgen bolt fdata gcov gcov-16 autofdo \
                   bolt-simpleperf branch-list tracewright";
    let rows = "functions loops blocks branches edges call-edges call-tree";
    let mut lines: Vec<_> =
        formats.split_whitespace().map(|of| format!("profile CAPTURE --calls --format {of}")).collect();
    lines.extend(
        rows.split_whitespace().map(|of| format!("profile CAPTURE --calls --format csv --rows {of}")),
    );
    lines.extend(
        ["table", "csv", "lcov", "cobertura", "llvm-json"]
            .map(|of| format!("coverage CAPTURE --format {of}")),
    );
    lines.extend(
        ["table", "csv", "folded", "flamegraph"].map(|of| format!("diff CAPTURE CAPTURE --format {of}")),
    );
    lines.extend(["chrome", "firefox", "perfetto"].map(|of| format!("timeline CAPTURE --format {of}")));
    let others = [
        "profile CAPTURE --json",
        "profile CAPTURE --format tree --calls --json",
        "coverage CAPTURE --json",
        "coverage CAPTURE --missing",
        "diff CAPTURE CAPTURE --json",
        "merge CAPTURE PROFILE",
    ];
    lines.extend(others.map(str::to_owned));
    for (number, line) in lines.iter().enumerate() {
        let file = folder.join(&format!("out{number}"));
        let line = format!("{line} -q -o {file}");
        let case = Case { folder: &folder, line: &line };
        ran(&mut case.command()).ends(0);
        // Some have nothing to say of this program.
        if fs::exists(&file).unwrap() {
            ran(&mut case.command()).ends(0);
        }
    }
    for option in ["--listing", "--log", "--summary-json"] {
        let line = format!("record -q {option} {} programs/bin/args.elf", folder.join(option));
        for _ in 0..2 {
            ran(&mut Case { folder: &folder, line: &line }.command()).ends(0);
        }
    }
    for option in ["--histogram", "--timeline"] {
        let line = format!("stalls CAPTURE -q {option} {}", folder.join(&format!("{option}.svg")));
        for _ in 0..2 {
            ran(&mut Case { folder: &folder, line: &line }.command()).ends(0);
        }
    }
}
