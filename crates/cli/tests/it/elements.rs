//! Element lines against OpenCSD 1.8.0's listings of real chips' captures.
//!
//! Every element line must be the same, in the same order over all sources, with one thread and with several. Known
//! differences are in DIFFERENCES.md; each must still be one.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use tracewright_testkit::{captures, skip};

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

/// A capture, a listing of its elements, and how to get the same from us.
type Case = (&'static str, &'static str, &'static [&'static str]);

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

/// Compares line by line, for several numbers of threads. `false` if the listing cannot be unpacked.
fn check(coresight: &Path, (capture, listing, options): Case) -> bool {
    let packed = coresight.join(format!("listings/{listing}.ppl.xz"));
    let Some(mut reference) = Lines::of(Command::new("xz").arg("-dc").arg(packed)) else { return false };
    let jobs = ["1", "3"];
    let mut ours = jobs.map(|jobs| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tracewright"));
        command.arg("decode").arg(coresight.join(capture)).args(["--elements", "--style", "opencsd"]);
        Lines::of(command.args(["--jobs", jobs]).args(options)).unwrap()
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
    true
}

fn check_all(test: &str, cases: &[Case]) {
    let Some(captures) = captures() else { return skip(test, "no shared captures") };
    for &case in cases {
        if !check(&captures.join("coresight"), case) {
            return skip(test, "no xz program");
        }
    }
}

const ALL: &[&str] = &["--buffer", "all"];
const SRC_ADDR_N: &[&str] = &["--src-addr-n"];

const ETM4: &[Case] = &[
    ("juno_r1_1", "juno_r1_1", &[]),
    ("juno-uname-002", "juno-uname-002", &[]),
    ("juno-ret-stck", "juno-ret-stck", &[]),
    ("a57_single_step", "a57_single_step", &[]),
    ("armv8_1m_branches", "armv8_1m_branches", &[]),
];

const LARGEST: &[Case] = &[("bugfix-exact-match", "bugfix-exact-match", &[])];

const ETE: &[Case] = &[
    ("001-ack_test", "001-ack_test", &[]),
    ("ete_ip", "ete_ip", &[]),
    ("ete_ip", "ete_ip_src_addr_N", SRC_ADDR_N),
    ("ete_mem", "ete_mem", &[]),
    ("ete_spec_1", "ete_spec_1", &[]),
    ("ete_spec_3", "ete_spec_3", &[]),
    ("ete-ite-instr", "ete-ite-instr", &[]),
    ("ete-ite-instr", "ete-ite-instr_multi_sess", ALL),
    ("ete-wfet", "ete-wfet", &[]),
    ("event_test", "event_test", &[]),
    ("feat_cmpbr", "feat_cmpbr", &[]),
    ("infrastructure", "infrastructure", &[]),
    ("maxspec0_commopt1", "maxspec0_commopt1", &[]),
    ("pauth_lr", "pauth_lr", &[]),
    ("pauth_lr", "pauth_lr_multi_sess", ALL),
    ("q_elem", "q_elem", &[]),
    ("q_elem", "q_elem_multi_sess", ALL),
    ("s_9001", "s_9001", &[]),
    ("s_9001", "s_9001_multi_sess", ALL),
    ("src_addr", "src_addr", &[]),
    ("src_addr", "src_addr_src_addr_N", SRC_ADDR_N),
    ("texit-poe2", "texit-poe2", &[]),
    ("tme_simple", "tme_simple", &[]),
    ("tme_test", "tme_test", &[]),
    ("trace_file_cid_vmid", "trace_file_cid_vmid", &[]),
    ("ts_bit64_set", "ts_bit64_set", &[]),
    ("ts_marker", "ts_marker", &[]),
];

#[test]
fn etm4_captures() {
    check_all("etm4_captures", ETM4);
}

#[test]
fn the_largest_capture() {
    check_all("the_largest_capture", LARGEST);
}

#[test]
fn ete_captures() {
    check_all("ete_captures", ETE);
}

/// The tables above leave no listing of ETMv4 or ETE elements out.
#[test]
fn no_listing_is_forgotten() {
    let Some(captures) = captures() else { return skip("no_listing_is_forgotten", "no shared captures") };
    let other = [
        // Of other protocols.
        "Snowball",
        "TC2",
        "itm_only_csformat",
        "stm-issue-27",
        "stm_only",
        "stm_only-2",
        "tc2-ptm-rstk-t32",
        // Packets only.
        "a55-test-tpiu",
        "init-short-addr",
        // With checks that OpenCSD can be asked to make; see DIFFERENCES.md.
        "juno_r1_1_badopcode",
        "juno_r1_1_badopcode_flag",
        "juno_r1_1_rangelimit",
    ];
    let compared: Vec<_> = [ETM4, LARGEST, ETE].concat().iter().map(|(_, listing, _)| *listing).collect();
    for entry in captures.join("coresight/listings").read_dir().unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        let name = file.strip_suffix(".ppl.xz").unwrap();
        assert!(other.contains(&name) != compared.contains(&name), "{name} is not compared");
    }
}
