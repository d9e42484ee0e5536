//! Events of trace units in profiles, beside OpenCSD's lister: how many of each number, after which instructions, and how many cycles
//! away. No capture here has more than one, so events are put between the atoms of real traces, where a trace unit may put them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::book;
use crate::run::{copy_folder, hex, number, rows as list, run, string, text, values};
use serde_json::Value;
use tracewright_testkit::{Rng, Scratch, captures_for, lister};

/// The header of an event packet; the lowest four bits say which.
const EVENT: u8 = 0x70;

/// A copy of a capture, with events. How many of each number.
fn with_events(capture: &Path, folder: &Scratch) -> (PathBuf, [u64; 4]) {
    let copy = folder.path().join("events");
    copy_folder(capture, &copy);
    let trace = copy.join("session1.bin");
    let bytes = fs::read(&trace).unwrap();
    let listing = run!("packets {} --json", text(capture)).out;
    let (mut out, mut counts, mut at) = (Vec::new(), [0; 4], 0);
    let mut rng = Rng::new(8);
    let mut after_atom = false;
    for packet in values(&listing) {
        let is_atom = string(&packet, "kind").starts_with("Atom");
        if is_atom && after_atom && rng.next_u64().is_multiple_of(4) {
            let offset = number(&packet, "offset") as usize;
            out.extend(&bytes[at..offset]);
            at = offset;
            let bits = 1 + (rng.next_u64() % 15) as u8;
            out.push(EVENT | bits);
            (0..4).filter(|number| bits >> number & 1 == 1).for_each(|number| counts[number] += 1);
        }
        after_atom = is_atom;
    }
    out.extend(&bytes[at..]);
    fs::write(&trace, out).unwrap();
    (copy, counts)
}

/// By number of the event, and where the instructions begin that ran last before it: how many, and the cycles that were counted from the
/// last time before them to the first after them.
type Rows = BTreeMap<(u64, Option<u64>), (u64, u64)>;

/// What follows `mark` in a line, up to something that is no digit.
fn after(line: &str, mark: &str, radix: u32) -> Option<u64> {
    let rest = line.split_once(mark)?.1;
    let end = rest.find(|digit: char| !digit.is_digit(radix)).unwrap_or(rest.len());
    u64::from_str_radix(&rest[..end], radix).ok()
}

/// What OpenCSD lists.
fn opencsd(capture: &Path, folder: &Scratch) -> Rows {
    let log = folder.path().join("listing.ppl");
    let arguments = ["-ss_dir", text(capture), "-decode_only", "-logfilename", text(&log)];
    Command::new("trc_pkt_lister").args(arguments).output().unwrap();
    let listing = fs::read_to_string(&log).unwrap();
    let mut rows = Rows::new();
    let (mut last, mut is_timed, mut waiting) = (None, false, Vec::new());
    for line in listing.lines() {
        if line.contains("OCSD_GEN_TRC_ELEM_TRACE_ON") {
            (last, is_timed) = (None, false);
            waiting.clear();
        }
        last = after(line, "exec range=0x", 16).or(last);
        if let Some(cycles) = after(line, "[CC=", 10) {
            for at in waiting.drain(..) {
                rows.entry(at).or_default().1 += cycles;
            }
            is_timed = true;
        }
        let bits = after(line, "EVENT( Numbered:", 10).unwrap_or(0);
        for number in (0..8).filter(|number| bits >> number & 1 == 1) {
            rows.entry((number, last)).or_default().0 += 1;
            if is_timed {
                waiting.push((number, last));
            }
        }
    }
    rows
}

/// What a profile says.
fn ours(profile: &Value) -> Rows {
    let mut rows = Rows::new();
    for row in list(profile, "events") {
        let address = row["address"].as_str().map(hex);
        rows.insert((number(row, "event"), address), (number(row, "count"), number(row, "within_cycles")));
    }
    rows
}

#[test]
fn events_are_those_of_opencsd() {
    let test = "events_are_those_of_opencsd";
    let Some(captures) = captures_for(test, "") else { return };
    if !lister::available(test) {
        return;
    }
    let mut timed = 0;
    for name in ["001-ack_test", "trace_file_cid_vmid", "maxspec0_commopt1", "src_addr", "ete_mem"] {
        let folder = Scratch::new("events");
        let (capture, counts) = with_events(&captures.join("coresight").join(name), &folder);
        let profile = run!("profile {} --calls --json", text(&capture)).json();
        book::json::check("profile", &profile);
        let rows = ours(&profile);
        assert_eq!(rows, opencsd(&capture, &folder), "{name}");
        // None is lost, whichever way they are summed up.
        for (event, &count) in (0..).zip(&counts) {
            let of_blocks: u64 = rows.iter().filter(|((of, _), _)| *of == event).map(|(_, row)| row.0).sum();
            let of_functions = list(&profile, "events_of_functions").iter();
            let of_functions = of_functions.filter(|row| row["event"] == event);
            let of_functions: u64 = of_functions.map(|row| number(row, "count")).sum();
            assert!(count > 0 && of_blocks == count && of_functions == count, "{name}: {event}");
        }
        timed += rows.values().map(|row| row.1).sum::<u64>();
        let table = run!("profile {} --format csv --rows events", text(&capture)).out;
        assert_eq!(table.lines().count(), 1 + rows.len(), "{name}");
    }
    assert!(timed > 1000, "{timed}");
}

/// The one capture that has an event: it comes before anything that ran.
#[test]
fn an_event_of_a_real_capture() {
    let test = "an_event_of_a_real_capture";
    let Some(capture) = captures_for(test, "coresight/event_test") else { return };
    let capture = text(&capture);
    let profile = run!("profile {capture} --calls --json").json();
    assert_eq!(ours(&profile), Rows::from([((0, None), (1, 0))]));
    let table = run!("profile {capture} --format csv --rows function-events").out;
    assert_eq!(table.lines().nth(1), Some("?,0,1,0,0,0"), "{table}");
}
