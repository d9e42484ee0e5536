//! Recordings that this machine's perf makes of a running program: compressed, to a pipe, and by several
//! threads. The mappings must be those that perf itself prints.

use std::collections::BTreeSet;
use std::fs::File;
use std::process::{Command, Stdio};

use crate::support::Folder;
use tracewright_input::perf;
use tracewright_testkit::skip;

/// Start, end, offset and file of an executable mapping.
type Mapped = (u64, u64, u64, String);

/// Parses perf's mappings: `PERF_RECORD_MMAP2 1/1: [0x5000(0x1000) @ 0x2000 fe:00 1 0]: r-xp /usr/bin/true`.
fn told(text: &str) -> BTreeSet<Mapped> {
    let number = |text: &str| {
        let text = text.trim();
        text.strip_prefix("0x")
            .map_or_else(|| text.parse(), |digits| u64::from_str_radix(digits, 16))
            .unwrap()
    };
    let mapping = |line: &str| {
        let (_, rest) = line.split_once("PERF_RECORD_MMAP2 ")?.1.split_once(": [")?;
        let (start, rest) = rest.split_once('(')?;
        let (len, rest) = rest.split_once(") @ ")?;
        let (offset, rest) = rest.split_once(' ')?;
        let path = rest.split_once("]: r-xp ")?.1;
        let start = number(start);
        Some((start, start + number(len), number(offset), path.to_owned()))
    };
    text.lines().filter_map(mapping).collect()
}

fn check(name: &str, options: &[&str], is_pipe: bool) {
    let folder = Folder::new();
    let path = folder.path().join("perf.data");
    let mut record = Command::new("perf");
    record.args(["record", "-q", "-e", "cpu-clock:u"]).args(options).arg("-o");
    if is_pipe {
        record.arg("-").stdout(File::create(&path).unwrap());
    } else {
        record.arg(&path);
    }
    let status =
        record.args(["--", "sh", "-c", "true; /bin/ls / > /dev/null"]).stderr(Stdio::null()).status();
    if !status.is_ok_and(|status| status.success()) {
        return skip(name, "no perf, or it may not record here");
    }
    let mut script = Command::new("perf");
    script.args(["script", "--show-mmap-events", "-i"]).arg(&path);
    let script = script.stderr(Stdio::null()).output().unwrap();
    let expected = told(&String::from_utf8_lossy(&script.stdout));
    assert!(expected.len() >= 4, "{expected:?}");
    assert!(perf::is_recording(&path), "{name}");
    let capture = perf::open(&path, &[]).unwrap();
    let problems: Vec<_> = capture.problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(problems, ["it holds no hardware trace: was it recorded with -e cs_etm//?"], "{name}");
    // We list the last mappings of each process; for the shell and the program it runs, these are all of
    // them.
    let ours: BTreeSet<Mapped> = capture
        .processes
        .iter()
        .flat_map(|process| &process.mappings)
        .map(|mapping| {
            let path = mapping.path.as_ref().unwrap().to_str().unwrap().to_owned();
            (mapping.start, mapping.end, mapping.offset, path)
        })
        .collect();
    assert_eq!(ours, expected, "{name}");
}

#[test]
fn mappings_are_those_that_perf_prints() {
    check("perf record", &[], false);
    check("perf record -z", &["-z"], false);
    check("perf record -z22", &["-z22"], false);
    check("perf record to a pipe", &[], true);
    check("perf record --threads", &["--threads"], false);
}
