//! Packet lines against OpenCSD 1.8.0's listings of real chips' captures.
//!
//! Every packet line of every ETMv4 and ETE source must be the same, per ID and in order: index, bytes, name and text,
//! lines of unsynchronised bytes included. Known differences are in DIFFERENCES.md.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use tracewright_testkit::{captures, skip};

/// A packet line without its ID.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    index: u64,
    /// `[0xf7 ];`
    bytes: String,
    /// `I_ATOM_F1 : Atom format 1.; E`
    text: String,
}

type Listing = BTreeMap<u8, Vec<Line>>;

/// The packet lines of a listing, by ID.
fn packet_lines(input: impl Read) -> Listing {
    let mut by_id = Listing::new();
    let mut reader = BufReader::new(input);
    let mut raw = Vec::new();
    while reader.read_until(b'\n', &mut raw).unwrap() > 0 {
        let line = String::from_utf8_lossy(&raw);
        if let Some((id, line)) = packet_line(line.trim_end_matches(['\n', '\r'])) {
            by_id.entry(id).or_default().push(line);
        }
        raw.clear();
    }
    by_id
}

/// OpenCSD's error messages end without a line break, so a packet line may start in the middle of a line.
fn packet_line(line: &str) -> Option<(u8, Line)> {
    let line = &line[line.find("Idx:")?..];
    let (index, rest) = line.strip_prefix("Idx:")?.split_once("; ID:")?;
    // Bytes in brackets, which a listing without decoding leaves out, then a tab and the text.
    let (id, text) = rest.split_once(';')?;
    let (bytes, text) = text.split_once('\t')?;
    let line = Line { index: index.parse().ok()?, bytes: bytes.trim().into(), text: text.into() };
    Some((u8::from_str_radix(id, 16).ok()?, line))
}

fn ours(capture: &Path, buffers: &[&str]) -> Listing {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tracewright"));
    command.arg("packets").arg(capture).args(["--style", "opencsd"]).args(buffers);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = packet_lines(child.stdout.take().unwrap());
    // 1: the trace has errors, as some of these captures are meant to have.
    assert!(matches!(child.wait().unwrap().code(), Some(0 | 1)), "{capture:?}");
    lines
}

/// A listing unpacked by `program`; `None` if there is no such program.
fn reference(program: &str, listing: &Path) -> Option<Listing> {
    let mut child = Command::new(program).arg("-dc").arg(listing).stdout(Stdio::piped()).spawn().ok()?;
    let lines = packet_lines(child.stdout.take().unwrap());
    assert!(child.wait().unwrap().success(), "{listing:?}");
    Some(lines)
}

/// Compares and says where the first difference is.
fn check(name: &str, ours: &Listing, reference: &Listing) -> usize {
    let ids = |listing: &Listing| listing.keys().copied().collect::<Vec<_>>();
    assert_eq!(ids(ours), ids(reference), "{name}: trace IDs");
    for (id, expected) in reference {
        let got = &ours[id];
        for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
            assert_eq!(
                (got.index, &got.text),
                (expected.index, &expected.text),
                "{name}: ID {id:#x}, packet {i}"
            );
            assert!(expected.bytes.is_empty() || got.bytes == expected.bytes, "{name}: {got:?} {expected:?}");
        }
        assert_eq!(got.len(), expected.len(), "{name}: ID {id:#x}, number of packets");
    }
    reference.values().map(Vec::len).sum()
}

/// A capture, a listing of its packets, and how to get the same buffers from us.
type Case = (&'static str, &'static str, &'static [&'static str]);

fn check_all(names: &[Case]) {
    let Some(captures) = captures() else { return skip("listings", "no shared captures") };
    let coresight = captures.join("coresight");
    for &(capture, listing, options) in names {
        let Some(reference) = reference("xz", &coresight.join(format!("listings/{listing}.ppl.xz"))) else {
            return skip("listings", "no xz program");
        };
        let packets = check(listing, &ours(&coresight.join(capture), options), &reference);
        assert!(packets > 0, "{listing}: nothing compared");
    }
}

const ALL: &[&str] = &["--buffer", "all"];

const ETM4: &[Case] = &[
    ("juno_r1_1", "juno_r1_1", &[]),
    ("juno_r1_1", "juno_r1_1_badopcode", &[]),
    ("juno_r1_1", "juno_r1_1_badopcode_flag", &[]),
    ("juno_r1_1", "juno_r1_1_rangelimit", &[]),
    ("juno-uname-002", "juno-uname-002", &[]),
    ("juno-ret-stck", "juno-ret-stck", &[]),
    ("a57_single_step", "a57_single_step", &[]),
    ("armv8_1m_branches", "armv8_1m_branches", &[]),
    ("init-short-addr", "init-short-addr", &[]),
    ("a55-test-tpiu", "a55-test-tpiu", &[]),
];

const LARGEST: &[Case] = &[("bugfix-exact-match", "bugfix-exact-match", &[])];

const ETE: &[Case] = &[
    ("001-ack_test", "001-ack_test", &[]),
    ("ete_ip", "ete_ip", &[]),
    ("ete_ip", "ete_ip_src_addr_N", &[]),
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
    ("src_addr", "src_addr_src_addr_N", &[]),
    ("texit-poe2", "texit-poe2", &[]),
    ("tme_simple", "tme_simple", &[]),
    ("tme_test", "tme_test", &[]),
    ("trace_file_cid_vmid", "trace_file_cid_vmid", &[]),
    ("ts_bit64_set", "ts_bit64_set", &[]),
    ("ts_marker", "ts_marker", &[]),
];

#[test]
fn etm4_captures() {
    check_all(ETM4);
}

#[test]
fn the_largest_capture() {
    check_all(LARGEST);
}

#[test]
fn ete_captures() {
    check_all(ETE);
}

/// Whole processes, listed by OpenCSD 1.3.3, which does not yet say which Trace Info the decoder starts at.
#[test]
fn process_captures() {
    let Some(captures) = captures() else { return skip("process_captures", "no shared captures") };
    for name in ["branches_trace1", "branches_trace2", "fib_trace1"] {
        let capture = captures.join("process").join(name);
        let Some(reference) = reference("gzip", &capture.join("out.ppl.gz")) else {
            return skip("process_captures", "no gzip program");
        };
        let mut ours = ours(&capture, &[]);
        for line in ours.values_mut().flatten() {
            line.text = line.text.replace("; Decoder Sync point TINFO", "");
        }
        assert!(check(name, &ours, &reference) > 5000, "{name}: too little compared");
    }
}

/// The tables above leave no ETMv4 or ETE listing out.
#[test]
fn no_listing_is_forgotten() {
    let Some(captures) = captures() else { return skip("no_listing_is_forgotten", "no shared captures") };
    // No ETMv4 or ETE packets in these.
    let other = [
        "Snowball",
        "TC2",
        "itm_only_csformat",
        "stm-issue-27",
        "stm_only",
        "stm_only-2",
        "tc2-ptm-rstk-t32",
    ];
    let compared: Vec<_> = [ETM4, LARGEST, ETE].concat().iter().map(|(_, listing, _)| *listing).collect();
    for entry in captures.join("coresight/listings").read_dir().unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        let name = file.strip_suffix(".ppl.xz").unwrap();
        assert!(other.contains(&name) != compared.contains(&name), "{name} is not compared");
    }
}
