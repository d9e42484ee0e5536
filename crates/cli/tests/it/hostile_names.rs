//! Names that anybody may have put into a file, in every output of every verb: nothing steers a terminal, no line is forged, and each
//! format stays what it is.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::Value;
use tracewright_core::text::is_unprintable;
use tracewright_qemu::format::{CHUNK_HEADER, ChunkHeader, checksum};
use tracewright_testkit::Scratch;

use crate::run::{self, command, copy_folder, replace, root, text};
use crate::support::hostile_elf;
#[allow(dead_code, reason = "only whether it is well-formed is asked")]
#[path = "../../../report/src/tests/xml.rs"]
mod xml;

/// Beginnings of names. What comes after a newline must not begin a line.
const HOSTILE: [&str; 12] = [
    "\x1b]0;title\x07\x1b[31m",
    "\nFORGED line\nfn=FORGED",
    "\r\tFORGED",
    "\u{202e}\u{2066}\u{200f}\u{61c}",
    "\x7f\u{9b}31m\u{85}FORGED\u{2028}FORGED",
    "</text><script>alert(1)</script>&\"'",
    "=cmd()",
    "@sum(1,\"2\")",
    "+1",
    "-1",
    "#;FORGED: 1,2 x",
    "\u{ffff}]]>",
];

/// The name of a file, and of a folder.
const FILE: &str = "=evil\x1b[31m\nFORGED\u{202e}\x7f\"<a>&.elf";

fn tracewright(arguments: &[OsString]) -> Output {
    command("").args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Arguments in one line; `{}` stands for a path.
fn words(line: &str, path: &Path) -> Vec<OsString> {
    let word = |word| if word == "{}" { path.as_os_str().to_owned() } else { OsString::from(word) };
    run::words(line).into_iter().map(word).collect()
}

/// What an output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Text,
    /// OpenCSD's lines have tabs.
    Tabs,
    /// Lines of JSON, or one value in many lines.
    Json,
    Csv,
    Svg,
    Folded,
    Binary,
    /// Our own: names are kept as they are for whoever reads it.
    Kept,
}

/// No control characters, and no line that a name began.
fn clean(what: &str, bytes: &[u8], tabs: bool) {
    let text = std::str::from_utf8(bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
    let is_ours = |letter: char| letter == '\n' || tabs && letter == '\t';
    if let Some(at) = text.find(|letter| is_unprintable(letter) && !is_ours(letter)) {
        let start = text[..at].char_indices().rev().nth(40).map_or(0, |(at, _)| at);
        panic!("{what}: {:?}", text[start..].chars().take(80).collect::<String>());
    }
    let forged = text.lines().find(|line| line.trim_start().starts_with("FORGED"));
    assert_eq!(forged, None, "{what}");
}

fn check(what: &str, is: Is, bytes: &[u8]) {
    assert!(!bytes.is_empty(), "{what}: nothing was written");
    if is == Is::Kept {
        return;
    }
    if is == Is::Binary {
        let bad = [&b"\x1b[31m"[..], b"\nFORGED", "\u{202e}".as_bytes()];
        assert!(bad.iter().all(|bad| !bytes.windows(bad.len()).any(|part| part == *bad)), "{what}");
        return;
    }
    clean(what, bytes, is == Is::Tabs);
    let text = std::str::from_utf8(bytes).unwrap();
    match is {
        Is::Text | Is::Tabs | Is::Binary | Is::Kept => {}
        Is::Json => {
            let whole = serde_json::from_str::<Value>(text).is_ok();
            let lines = || text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok());
            assert!(whole || lines(), "{what}: no JSON: {text}");
        }
        Is::Csv => {
            let rows: Vec<_> = text.lines().map(cells).collect();
            assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{what}: {text}");
            let is_formula =
                |cell: &&String| cell.starts_with(['=', '@', '+', '-']) && cell.parse::<f64>().is_err();
            assert_eq!(rows.iter().flatten().find(is_formula), None, "{what}");
        }
        Is::Svg => {
            let tags = xml::parse(&elements(text)).unwrap_or_else(|why| panic!("{what}: {why}"));
            assert!(tags.iter().all(|tag| tag.name != "script" || !tag.text.contains("alert(1)")), "{what}");
        }
        Is::Folded => {
            let is_stack =
                |line: &str| line.rsplit_once(' ').is_some_and(|(_, count)| count.parse::<u64>().is_ok());
            assert!(text.lines().all(is_stack), "{what}: {text}");
        }
    }
}

/// Returns a picture without what is no element: what is before the first, comments, and the script of flame graphs.
fn elements(svg: &str) -> String {
    let mut text = svg[svg.find("<svg").unwrap()..].to_owned();
    for (from, to) in [("<!--", "-->"), ("<![CDATA[", "]]>")] {
        while let Some(at) = text.find(from) {
            let end = at + text[at..].find(to).unwrap() + to.len();
            text.replace_range(at..end, "");
        }
    }
    text
}

/// A line of comma-separated values.
fn cells(line: &str) -> Vec<String> {
    let (mut all, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut cell)),
            _ => cell.push(letter),
        }
    }
    assert!(!quoted, "{line}");
    all.push(cell);
    all
}

/// Runs lines of arguments, each with what standard output is; those with `FILE` write a file, which is it.
fn run_all(folder: &Scratch, capture: &Path, lines: &[(&str, Is)]) {
    for (number, &(line, is)) in lines.iter().enumerate() {
        let mut arguments = words(line, capture);
        let file = folder.path().join(format!("{number}-{FILE}"));
        let has_file = arguments.iter().any(|word| word == "FILE");
        arguments.iter_mut().filter(|word| *word == "FILE").for_each(|word| *word = file.clone().into());
        let output = tracewright(&arguments);
        clean(&format!("{line}: standard error"), &output.stderr, false);
        let errors = String::from_utf8_lossy(&output.stderr);
        // Without their sources, packets cannot be read.
        let is_unread = errors.contains("nothing could be read");
        assert!(
            matches!(output.status.code(), Some(0 | 1)) || is_unread,
            "{line}: {}: {errors}",
            output.status
        );
        if has_file {
            clean(&format!("{line}: standard output"), &output.stdout, false);
            check(line, is, &fs::read(&file).unwrap_or_else(|_| panic!("{line}: no file: {errors}")));
            fs::remove_file(&file).unwrap();
        } else if !output.stdout.is_empty()
            || !(line.ends_with("--summary") || output.status.code() != Some(0))
        {
            // A summary is for people, on standard error. Only where the program is missing is there nothing to list.
            check(line, is, &output.stdout);
        }
    }
}

/// A capture of a program whose names are hostile: symbols, source files, its own, and those of the capture.
fn recorded(folder: &Scratch) -> PathBuf {
    let elf = fs::read(root().join("programs/bin/args.elf")).unwrap();
    let program = folder.write(FILE, &hostile_elf::renamed(&elf, &HOSTILE));
    let capture = folder.path().join(FILE.replace(".elf", ""));
    let arguments = words("record --protocol etrace --timing rocket_like --delta -o {}", &capture);
    let output = tracewright(&[&arguments[..], &[program.into()]].concat());
    clean("record", &output.stderr, false);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let toml = capture.join("capture.toml");
    clean("capture.toml", &fs::read(&toml).unwrap(), false);
    replace(&toml, "\"hart0\"", r#""\u001b[31m\nFORGED\u202e=hart""#);
    replace(&toml, "name = \"trace\"", r#"name = "\u001b[31m\nFORGED\u202e=buffer""#);
    capture
}

#[test]
fn names_in_programs_and_captures() {
    let folder = Scratch::new("hostile-names");
    let capture = recorded(&folder);
    let kept = folder.path().join("kept.prof");
    let store = words("profile {} --format tracewright -o", &capture);
    assert!(tracewright(&[&store[..], &[kept.clone().into()]].concat()).status.success());
    let function = r#"\x0aFORGED\x20line\x0afn=FORGEDmain"#.replace(r"\x20", " ");
    let lines = [
        ("info {}", Is::Text),
        ("info {} --json", Is::Json),
        ("stats {}", Is::Text),
        ("stats {} --json", Is::Json),
        ("stats {} --format csv", Is::Csv),
        ("packets {}", Is::Text),
        ("packets {} --json", Is::Json),
        ("packets {} --format csv", Is::Csv),
        ("decode {}", Is::Text),
        ("decode {} --json", Is::Json),
        ("decode {} --elements", Is::Text),
        ("decode {} --instructions", Is::Text),
        ("decode {} --instructions --json", Is::Json),
        ("decode {} --summary", Is::Text),
        ("decode {} --summary --json", Is::Json),
        ("coverage {}", Is::Text),
        ("coverage {} --missing", Is::Text),
        ("coverage {} --json", Is::Json),
        ("coverage {} --format csv", Is::Csv),
        ("coverage {} --format lcov", Is::Text),
        ("stalls {}", Is::Text),
        ("stalls {} --by lines", Is::Text),
        ("stalls {} --by instructions", Is::Text),
        ("stalls {} --json", Is::Json),
        ("stalls {} --format csv", Is::Csv),
        ("stalls {} --by lines --format csv", Is::Csv),
        ("stalls {} --histogram FILE", Is::Svg),
        ("stalls {} --timeline FILE", Is::Svg),
        ("timeline {} --format chrome -o FILE", Is::Json),
        ("timeline {} --format firefox -o FILE", Is::Json),
        ("timeline {} --format perfetto -o FILE", Is::Binary),
        ("profile {}", Is::Text),
        ("profile {} --json", Is::Json),
        ("profile {} --calls --paths=3", Is::Text),
        ("profile {} --format folded", Is::Folded),
        ("profile {} --format flamegraph -o FILE", Is::Svg),
        ("profile {} --format callgrind -o FILE", Is::Text),
        ("profile {} --format pprof -o FILE", Is::Binary),
        ("profile {} --format autofdo -o FILE", Is::Text),
        ("profile {} --format bolt -o FILE", Is::Text),
        ("profile {} --format bolt-simpleperf -o FILE", Is::Text),
        ("profile {} --format fdata -o FILE", Is::Text),
        ("profile {} --format profgen -o FILE", Is::Text),
        ("profile {} --format llvm -o FILE", Is::Text),
        ("profile {} --format csv --rows functions", Is::Csv),
        ("profile {} --format csv --rows loops", Is::Csv),
        ("profile {} --format csv --rows branches", Is::Csv),
        ("profile {} --format csv --rows blocks", Is::Csv),
        ("profile {} --format csv --rows edges", Is::Csv),
        ("diff {} KEPT", Is::Text),
        ("diff {} KEPT --json", Is::Json),
        ("diff {} KEPT --format csv", Is::Csv),
        ("merge {} KEPT -o FILE --json", Is::Kept),
        ("profile KEPT", Is::Text),
        ("profile KEPT --json", Is::Json),
    ];
    let kept = text(&kept);
    for (line, is) in lines {
        run_all(&folder, &capture, &[(&line.replace("KEPT", kept), is)]);
    }
    for (option, is) in [("", Is::Text), ("--json", Is::Json), ("--format csv", Is::Csv)] {
        let output = tracewright(&words(&format!("annotate {{}} '{function}' {option}"), &capture));
        clean("annotate: standard error", &output.stderr, false);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        check("annotate", is, &output.stdout);
    }
}

/// Puts text of the same length in the place of another.
fn patch(bytes: &mut [u8], from: &str, to: &str) {
    let mut to = to.as_bytes().to_vec();
    to.resize(from.len(), b'.');
    let at = bytes.windows(from.len()).position(|part| part == from.as_bytes()).expect(from);
    bytes[at..][..from.len()].copy_from_slice(&to);
}

const READERS: [(&str, Is); 10] = [
    ("info {}", Is::Text),
    ("info {} --json", Is::Json),
    ("stats {}", Is::Text),
    ("stats {} --json", Is::Json),
    ("packets {}", Is::Text),
    ("packets {} --style opencsd", Is::Tabs),
    ("decode {}", Is::Text),
    ("decode {} --style opencsd", Is::Tabs),
    ("decode {} --json", Is::Json),
    ("decode {} --no-image", Is::Text),
];

#[test]
fn names_of_processes_and_of_what_they_mapped() {
    let folder = Scratch::new("hostile-names");
    let samples = root().join("samples");
    let mut bytes = fs::read(samples.join("perf/perf.data")).unwrap();
    patch(&mut bytes, "hello\0", "\x1b[1m\n\0");
    patch(&mut bytes, "/usr/bin/hello.elf", "/\x1b[31m\nFORGED\u{202e}=");
    run_all(&folder, &folder.write("=\x1b\nFORGED.data", &bytes), &READERS);

    let threads = folder.path().join("=\x1b[31m\nFORGED threads");
    copy_folder(samples.join("threads"), &threads);
    let hostile = r#""\u001b[31m\nFORGED\u202e""#;
    replace(threads.join("mappings.toml"), "\"hello\"", hostile);
    replace(threads.join("mappings.toml"), "\"hello.elf\"", hostile);
    for (file, from) in [("device_0.ini", "name="), ("trace.ini", "name="), ("snapshot.ini", "description=")]
    {
        replace(threads.join(file), from, &format!("{from}\x1b[31m\u{202e}\x7f"));
    }
    run_all(&folder, &threads, &READERS);
}

#[test]
fn names_in_logs_of_the_plugin() {
    let folder = Scratch::new("hostile-names");
    let samples = root().join("samples");
    let mut bytes = fs::read(samples.join("retirement.log")).unwrap();
    patch(&mut bytes, "/nowhere/libgone.so", "/\x1b[31m\nFORGED\u{202e}");
    patch(&mut bytes, "this log was made by hand", "\x1b[31m\nFORGED\u{202e}\x7f");
    patch(&mut bytes, "--from=3", "\n\x1b[1m\x7f");
    // The chunk of definitions, which these are in, begins here.
    let (head, body) = bytes[0x1000..].split_at_mut(CHUNK_HEADER);
    let mut chunk = ChunkHeader::parse(head).unwrap();
    chunk.checksum = checksum(&body[..chunk.len as usize]);
    head.copy_from_slice(&chunk.to_bytes());
    let log = folder.write("=\x1b[31m\nFORGED.log", &bytes);
    // Of those, `info` and `stats` read logs.
    run_all(&folder, &log, &READERS[..4]);
    let shown = tracewright(&words("info {}", &log));
    let text = String::from_utf8(shown.stdout).unwrap();
    for hostile in [r"of /\x1b[31m\x0aFORGED", r"note: \x1b[31m\x0aFORGED", r"./countdown \x0a\x1b[1m"] {
        assert!(text.contains(hostile), "{text}");
    }
}

#[test]
fn arguments_and_files_that_are_not_there() {
    // In a folder that is not there: nothing can be written to it.
    let hostile = Path::new("/nowhere/=\x1b[31m\nFORGED\u{202e}\x7f\u{9b}");
    let lines = [
        "info {}",
        "stats {}",
        "packets {}",
        "decode {}",
        "profile {}",
        "coverage {}",
        "stalls {}",
        "annotate {} main",
        "annotate samples/hello {}",
        "diff {} {}",
        "merge {} -o {}",
        "timeline {} -o {}",
        "encode {} -o {}",
        "record {}",
        "record --timing {} programs/bin/args.elf",
        "record --from-log {}",
        "record --log {} programs/bin/args.elf",
        "record --qemu {}",
        "record --when-events {} --when x --protocol etrace -o {} programs/bin/args.elf",
        "decode samples/hello --image {}",
        "decode samples/hello --buffer {}",
        "profile samples/hello --function {}",
        "profile samples/hello --binary {}",
        "profile samples/hello --range {}",
        "profile samples/hello --format {}",
        "decode samples/etrace/trace.bin --source etrace,params={}",
        "{}",
        "decode samples/hello --id {}",
        "info {} {}",
        "record --machine bare --entry {} programs/bin/args.elf",
        "decode samples/hello --check {}",
        "profile samples/hello -o {}/x",
        "record --when {} --protocol etrace -o {} programs/bin/args.elf",
    ];
    for line in lines {
        let output = tracewright(&words(line, hostile));
        assert_ne!(output.status.code(), None, "{line}");
        assert_ne!(output.status.code(), Some(101), "{line}");
        assert!(!output.stderr.is_empty(), "{line}");
        clean(&format!("{line}: standard error"), &output.stderr, false);
        clean(&format!("{line}: standard output"), &output.stdout, false);
    }
}
