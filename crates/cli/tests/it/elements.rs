//! Element lines against OpenCSD 1.8.0's listings of real chips' captures.
//!
//! Every element line must be the same, in the same order over all sources, with one thread and with several. Known
//! differences are in DIFFERENCES.md; each must still be one.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::run::command;
use crate::support::opencsd::{
    CHECKED, ETE, ETM4, LARGEST, PACKETS, assert_none_is_forgotten, capture, each, unpack,
};

const ELEMENT: &[u8] = b"OCSD_GEN_TRC_ELEM_";

/// The element lines of a program's output, one at a time: the largest listing has 265 MB.
struct Lines {
    child: Child,
    reader: BufReader<ChildStdout>,
    line: Vec<u8>,
    start: usize,
}

impl Lines {
    /// `None` if there is no such program.
    fn of(command: &mut Command) -> Option<Self> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let reader = BufReader::with_capacity(1 << 16, child.stdout.take()?);
        Some(Self { child, reader, line: Vec::new(), start: 0 })
    }

    /// The next element line.
    fn next(&mut self) -> Option<&[u8]> {
        loop {
            self.line.clear();
            if self.reader.read_until(b'\n', &mut self.line).unwrap() == 0 {
                return None;
            }
            while self.line.last().is_some_and(u8::is_ascii_whitespace) {
                self.line.pop();
            }
            if let Some(start) = element(&self.line) {
                self.start = start;
                return Some(&self.line[start..]);
            }
        }
    }

    /// The exit status, at the end.
    fn status(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

/// Where the element line begins. OpenCSD's error messages end without a line break, so that may be in the middle.
fn element(line: &[u8]) -> Option<usize> {
    // `Idx:12; ID:10; OCSD_GEN_TRC_ELEM_`: nearly always, and never far, at the beginning.
    let name = (0..line.len()).find(|&at| line[at] == b'O' && line[at..].starts_with(ELEMENT))?;
    (0..name).rev().find(|&at| line[at] == b'I' && line[at..].starts_with(b"Idx:"))
}

/// Lines that OpenCSD has and we do not, as they begin, by listing; the reasons are in DIFFERENCES.md.
const DIFFERENCES: &[(&str, &str)] = &[
    ("ete_ip", STALE_RANGE),
    ("ete_ip_src_addr_N", STALE_RANGE),
    ("q_elem", STALE_FIRST),
    ("q_elem_multi_sess", STALE_FIRST),
];
const STALE_RANGE: &str =
    "Idx:282; ID:2; OCSD_GEN_TRC_ELEM_INSTR_RANGE(exec range=0x1aa948:[0x1b37f4] num_i(9131) ";
const STALE_FIRST: &str =
    "Idx:569; ID:1; OCSD_GEN_TRC_ELEM_I_RANGE_NOPATH(first 0x6960c:[next 0x695c8] num_i(1) )";

fn text(line: Option<&[u8]>) -> String {
    line.map_or("the end".into(), |line| String::from_utf8_lossy(line).into_owned())
}

/// Compares line by line, for several numbers of threads. `None` if the listing cannot be unpacked.
fn check(coresight: &Path, listing: &str) -> Option<()> {
    let mut reference = Lines::of(&mut unpack(coresight, listing))?;
    let (capture, options) = capture(listing);
    let src_addr_n: &[&str] = if listing.ends_with("_src_addr_N") { &["--src-addr-n"] } else { &[] };
    let jobs = ["1", "3"];
    let mut ours = jobs.map(|jobs| {
        let how = format!("decode --elements --style opencsd --jobs {jobs}");
        Lines::of(command(how).arg(coresight.join(capture)).args(options).args(src_addr_n)).unwrap()
    });
    let mut differences =
        DIFFERENCES.iter().filter(|(name, _)| *name == listing).map(|(_, line)| line.as_bytes());
    let mut difference = differences.next();
    let mut lines = 0;
    loop {
        let expected = reference.next();
        if let (Some(known), Some(line)) = (difference, expected)
            && line.starts_with(known)
        {
            // Ours must lack it: it is not what comes next.
            difference = differences.next();
            continue;
        }
        for (ours, jobs) in ours.iter_mut().zip(jobs) {
            let got = ours.next();
            assert!(
                got == expected,
                "{listing}, --jobs {jobs}, element {lines}:\n  ours    {}\n  OpenCSD {}",
                text(got),
                text(expected)
            );
        }
        if expected.is_none() {
            break;
        }
        lines += 1;
    }
    assert_eq!(
        difference.map(String::from_utf8_lossy),
        None,
        "{listing}: OpenCSD does not say that any more"
    );
    assert!(lines > 0, "{listing}: nothing compared");
    assert_eq!(reference.status(), Some(0), "{listing}");
    for ours in ours {
        // 1: the trace has errors, as some of these captures are meant to have.
        assert!(matches!(ours.status(), Some(0 | 1)), "{listing}");
    }
    Some(())
}

#[test]
fn etm4_captures() {
    each("etm4_captures", ETM4, check);
}

#[test]
fn the_largest_capture() {
    each("the_largest_capture", LARGEST, check);
}

#[test]
fn ete_captures() {
    each("ete_captures", ETE, check);
}

/// No listing of ETMv4 or ETE elements is left out.
#[test]
fn no_listing_is_forgotten() {
    assert_none_is_forgotten(&[ETM4, LARGEST, ETE], &[PACKETS, CHECKED]);
}
