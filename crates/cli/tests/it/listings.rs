//! Packet lines against OpenCSD 1.8.0's listings of real chips' captures.
//!
//! Every packet line of every ETMv4 and ETE source must be the same, per ID and in order: index, bytes, name and text,
//! lines of unsynchronised bytes included. Known differences are in DIFFERENCES.md.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::run::command;
use crate::support::opencsd::{
    CHECKED, ETE, ETM4, LARGEST, PACKETS, assert_none_is_forgotten, capture, each, unpack,
};
use tracewright_testkit::{captures_for, skip};

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
    let mut command = command("packets --style opencsd");
    let mut child =
        command.arg(capture).args(buffers).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = packet_lines(child.stdout.take().unwrap());
    // 1: the trace has errors, as some of these captures are meant to have.
    assert!(matches!(child.wait().unwrap().code(), Some(0 | 1)), "{capture:?}");
    lines
}

/// A listing that is unpacked; `None` if there is no such program.
fn reference(unpack: &mut Command) -> Option<Listing> {
    let mut child = unpack.stdout(Stdio::piped()).spawn().ok()?;
    let lines = packet_lines(child.stdout.take().unwrap());
    assert!(child.wait().unwrap().success(), "{unpack:?}");
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

fn check_listing(coresight: &Path, listing: &str) -> Option<()> {
    let reference = reference(&mut unpack(coresight, listing))?;
    let (capture, options) = capture(listing);
    let packets = check(listing, &ours(&coresight.join(capture), options), &reference);
    assert!(packets > 0, "{listing}: nothing compared");
    Some(())
}

#[test]
fn etm4_captures() {
    [ETM4, CHECKED, PACKETS].iter().for_each(|listings| each("listings", listings, check_listing));
}

#[test]
fn the_largest_capture() {
    each("listings", LARGEST, check_listing);
}

#[test]
fn ete_captures() {
    each("listings", ETE, check_listing);
}

/// Whole processes, listed by OpenCSD 1.3.3, which does not yet say which Trace Info the decoder starts at.
#[test]
fn process_captures() {
    let Some(captures) = captures_for("process_captures", "") else { return };
    for name in ["branches_trace1", "branches_trace2", "fib_trace1"] {
        let capture = captures.join("process").join(name);
        let Some(reference) = reference(Command::new("gzip").arg("-dc").arg(capture.join("out.ppl.gz")))
        else {
            return skip("process_captures", "no gzip program");
        };
        let mut ours = ours(&capture, &[]);
        for line in ours.values_mut().flatten() {
            line.text = line.text.replace("; Decoder Sync point TINFO", "");
        }
        assert!(check(name, &ours, &reference) > 5000, "{name}: too little compared");
    }
}

/// No ETMv4 or ETE listing is left out.
#[test]
fn no_listing_is_forgotten() {
    assert_none_is_forgotten(&[ETM4, CHECKED, PACKETS, LARGEST, ETE], &[]);
}
