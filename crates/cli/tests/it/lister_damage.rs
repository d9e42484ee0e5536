//! Real captures with bits flipped, beside OpenCSD's lister (Debian's `trc_pkt_lister`, 1.3.3): all elements are the same, but for
//! what DIFFERENCES.md explains, each recognised here by what it is.
//!
//! `DAMAGE_SEEDS=A-B` asks for other damage than the usual.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::run::{run, seeds, text};
use tracewright_core::{Block, Context, Element, Ended, Flow, GapReason, Isa};
use tracewright_testkit::lister::{self, Listed};
use tracewright_testkit::{Rng, Scratch, captures_for};

/// Captures that 1.3.3 lists as 1.8.0 does while they are whole, and the file that has their trace.
const CAPTURES: [(&str, &str); 13] = [
    ("001-ack_test", "session1.bin"),
    ("a57_single_step", "CSTMC_TRACE_FIFO.bin"),
    ("ete_mem", "session1.bin"),
    ("ete_spec_1", "session1.bin"),
    ("ete_spec_3", "session1.bin"),
    ("infrastructure", "cstrace.bin"),
    ("juno-uname-002", "trace.bin"),
    ("maxspec0_commopt1", "session1.bin"),
    ("src_addr", "session1.bin"),
    ("tme_test", "session1.bin"),
    ("trace_file_cid_vmid", "session1.bin"),
    ("ts_bit64_set", "session1.bin"),
    ("ts_marker", "session1.bin"),
];
/// Of longer trace, so much is taken.
const MOST: usize = 1 << 14;

/// Copies a capture with up to eight bits of its trace flipped.
fn damaged(from: &Path, trace: &str, rng: &mut Rng) -> Scratch {
    let here = Scratch::new("lister-damage");
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.file_name() != trace {
            symlink(entry.path(), here.path().join(entry.file_name())).unwrap();
        }
    }
    let mut bytes = fs::read(from.join(trace)).unwrap();
    bytes.truncate(MOST);
    for _ in 0..1 + rng.below(8) {
        let bit = rng.below(8 * bytes.len() as u64) as usize;
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    here.write(trace, &bytes);
    here
}

/// What we list of a capture: elements or packets.
fn ours(verb: &str, capture: &Path) -> String {
    run!("{verb} {} --style opencsd", text(capture)).out
}

/// What OpenCSD lists; `None` if it gave up.
fn theirs(capture: &Path) -> Option<String> {
    let mut command = Command::new("trc_pkt_lister");
    command.args(["-ss_dir", text(capture), "-decode", "-logstdout"]).current_dir(capture);
    let listing = String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned();
    Some(listing).filter(|text| text.contains("Trace buffer done"))
}

fn by_source(text: &str) -> BTreeMap<u8, Vec<Listed>> {
    let mut sources: BTreeMap<u8, Vec<Listed>> = BTreeMap::new();
    lister::lines(text).for_each(|line| sources.entry(line.id).or_default().push(line));
    sources
}

/// The word at an address of the memory that a snapshot has.
fn word_at(capture: &Path, address: u64) -> Option<u32> {
    for entry in fs::read_dir(capture).unwrap().map(Result::unwrap) {
        let Ok(text) = fs::read_to_string(entry.path()) else { continue };
        for dump in text.split("[dump").skip(1) {
            let value = |name: &str| dump.lines().find_map(|line| line.trim().strip_prefix(name));
            let Some((file, start)) = value("file=").zip(value("address=0x")) else { continue };
            let start = u64::from_str_radix(start, 16).unwrap();
            let bytes = fs::read(capture.join(file)).ok()?;
            let at = address.checked_sub(start).map(|at| at as usize);
            if let Some(word) = at.and_then(|at| bytes.get(at..)?.first_chunk()) {
                return Some(u32::from_le_bytes(*word));
            }
        }
    }
    None
}

/// How two lists go on after a difference that is known: so many lines further.
enum Known {
    Skip {
        ours: usize,
        theirs: usize,
    },
    /// Nothing more can be compared: they follow different paths.
    End,
}

/// What a line tells, if that is known.
fn element(line: Option<&Listed>) -> Option<&Element> {
    line?.element.as_ref().ok()
}

fn block(line: Option<&Listed>) -> Option<&Block> {
    if let Some(Element::Block(block)) = element(line) { Some(block) } else { None }
}

fn is_lost(line: Option<&Listed>) -> bool {
    matches!(element(line), Some(Element::Lost(GapReason::BadPacket)))
}

/// Recognises the differences that DIFFERENCES.md lists under "Damaged trace". `before`: what we listed up to here; `packet`: the
/// text of our packet at an index; `word`: that of the program at an address.
fn known(
    before: &[Listed],
    ours: &[Listed],
    theirs: &[Listed],
    packet: impl Fn(u64) -> String,
    word: impl Fn(u64) -> Option<u32>,
) -> Option<(&'static str, Known)> {
    let (our, their) = (element(ours.first()).copied(), element(theirs.first()).copied());
    let skip = |ours, theirs| Known::Skip { ours, theirs };
    // We end with the last packet, OpenCSD with what it passed over.
    if our == Some(Element::End) && their == Some(Element::End) && ours[0].index < theirs[0].index {
        return Some(("index of the end of a source that is not synchronised", skip(1, 1)));
    }
    // Counts and times before a bad packet: OpenCSD drops those that wait for the next P0 element.
    let survives = |line: &&Listed| {
        use Element::{Cycles, Event, Timestamp, TimestampMarker, Transaction};
        matches!(line.element, Ok(Cycles(_) | Event(_) | Timestamp { .. } | TimestampMarker | Transaction(_)))
    };
    let is_late =
        |line: &&Listed| survives(line) && before.last().is_some_and(|last| line.index < last.index);
    if theirs.first().as_ref().is_some_and(is_late) && is_lost(before.last()) {
        return Some(("counts and times before a bad packet, told after it", skip(0, 1)));
    }
    let survivors = ours.iter().take_while(survives).count();
    if survivors > 0 && is_lost(ours.get(survivors)) && is_lost(theirs.first()) {
        return Some(("counts and times before a bad packet", skip(survivors, 0)));
    }
    let is_end = |line: Option<&Listed>| element(line) == Some(&Element::End);
    if survivors > 0
        && is_end(ours.get(survivors))
        && is_end(theirs.first())
        && packet(theirs[0].index).contains("INCOMPLETE")
    {
        return Some(("counts and times before a packet that is cut off by the end", skip(survivors, 0)));
    }
    let is_a64 =
        before.iter().rev().find_map(|line| block(Some(line))).is_some_and(|block| block.isa == Isa::A64);
    if our == Some(Element::ExceptionReturn) && their != our && !is_a64 {
        return Some(("return from an exception in A32 or T32", skip(1, 0)));
    }
    if let (Some(a), Some(b)) = (block(ours.first()), block(theirs.first())) {
        let is_cb = a.isa == Isa::A64 && word(a.last()).is_some_and(|word| word & 0x7e00_0000 == 0x7400_0000);
        if is_cb && a.start == b.start {
            return Some(("CB<cc>, which 1.3.3 does not know", Known::End));
        }
    }
    let is_unaddressed = |line: &&Listed| matches!(line.element, Ok(Element::Exception(exception)) if exception.return_address.is_none());
    let upto = theirs.first().map_or(0, |line| line.index);
    if is_lost(theirs.first())
        && ours.iter().take_while(|line| line.index < upto).any(|line| is_unaddressed(&line))
    {
        return Some(("exception whose form is reserved", Known::End));
    }
    // N of an instruction that is no branch.
    if let (Some(a), Some(b)) = (block(ours.first()), block(theirs.first())) {
        let is_other = matches!(a.class.flow, Flow::Isb | Flow::Wait | Flow::TransactionStart);
        if is_other && b.ended == Ended::NotTaken && (Block { ended: a.ended, ..*b }) == *a {
            return Some(("N of an instruction that is no branch", skip(1, 1)));
        }
    }
    // A range up to an exception's return address that no instruction leads to, or through branches.
    let is_exception = |line: Option<&Listed>| matches!(element(line), Some(Element::Exception(_)));
    let is_no_code = |line: Option<&Listed>| matches!(element(line), Some(Element::NoCode { .. }));
    if is_no_code(theirs.first()) && is_exception(ours.first()) && is_exception(theirs.get(1)) {
        return Some(("missing code before an exception at a lower address", skip(0, 1)));
    }
    if block(theirs.first()).is_some() && is_exception(ours.first()) {
        let further = 1 + usize::from(is_no_code(theirs.get(1)));
        if is_exception(theirs.get(further)) {
            return Some(("range before an exception whose return address cannot be", skip(0, further)));
        }
    }
    if is_lost(ours.first()) && !(is_lost(theirs.first()) && ours[0].index == theirs[0].index) {
        let why = packet(ours[0].index);
        if why.contains("Commit(") {
            return Some(("cycle count that commits more than there is", Known::End));
        }
        if why.contains("I_CANCEL") || why.contains("I_MISPREDICT") {
            return Some(("cancel or mispredict without anything uncertain", Known::End));
        }
        if why.contains("I_TRACE_INFO") {
            return Some(("Trace Info whose SPEC is not what is uncertain", Known::End));
        }
    }
    // What waits for the address of an exception is told with the next packet.
    if is_lost(ours.first()) && is_lost(theirs.first()) && ours[0].index > theirs[0].index {
        let why = packet(theirs[0].index);
        if why.contains("I_ATOM") || why.contains("I_EXCEPT") {
            return Some(("index where an exception has no address", skip(1, 1)));
        }
    }
    let at_theirs = theirs.first().map(|line| packet(line.index)).unwrap_or_default();
    if is_lost(theirs.first()) && at_theirs.contains("I_MISPREDICT") {
        return Some(("cancel or mispredict without anything uncertain", Known::End));
    }
    let ours_at = ours.first().map_or(0, |line| line.index);
    let is_cut = is_lost(ours.first())
        && (ours_at.saturating_sub(20)..ours_at).any(|at| packet(at).contains("I_BAD_SEQUENCE"));
    if at_theirs.contains("I_BAD_SEQUENCE") || is_cut && !is_lost(theirs.first()) {
        return Some(("field that is longer than its value can be", Known::End));
    }
    // OpenCSD's own spelling of one of them.
    let is_source = |packet: &str| packet.contains("I_SRC_ADDR") || packet.contains("I_SCR_ADDR");
    if is_source(&at_theirs) && block(theirs.first()).is_some() && ours_at > theirs[0].index {
        return Some(("source address that no code leads to", Known::End));
    }
    if before.iter().rev().take(8).any(|line| is_no_code(Some(line)) && is_source(&packet(line.index))) {
        return Some(("after a source address without code", Known::End));
    }
    let is_new =
        |line: &Listed| matches!(&line.element, Err(text) if text.contains("Realm") || text.contains("Root"));
    let is_context = |line: &&Listed| is_new(line) || matches!(line.element, Ok(Element::Context(..)));
    if is_no_code(ours.first()) && before.iter().rev().find(is_context).is_some_and(is_new) {
        return Some(("memory of root and realm", Known::End));
    }
    // A Trace Info makes IDs unknown that a context before it told; OpenCSD keeps them.
    let has_ids = |of: &Context| {
        let ids = (of.vmid, of.context_id);
        move |line: &&Listed| matches!(line.element, Ok(Element::Context(told, _)) if (told.vmid, told.context_id) == ids)
    };
    match (our, their) {
        (Some(Element::Context(a, _)), Some(Element::Context(b, _)))
            if (Context { vmid: a.vmid, context_id: a.context_id, ..b }) == a
                && (before.iter().rev().find(has_ids(&b)).map_or(0, |line| line.index)..=ours_at)
                    .any(|at| packet(at).contains("I_TRACE_INFO")) =>
        {
            Some(("IDs of a context after a Trace Info", skip(1, 1)))
        }
        (Some(Element::Block(a)), Some(Element::Block(b)))
            if a.ended == Ended::Cut && (Block { class: a.class, ..b }) == a =>
        {
            Some(("condition of an instruction that is no branch", skip(1, 1)))
        }
        (Some(Element::Block(a)), Some(Element::Block(b)))
            if a.start == b.start && a.isa == b.isa && a.isa != Isa::A64 =>
        {
            Some(("A32 and T32 that are no code, taken for it by 1.3.3", Known::End))
        }
        (Some(Element::Block(a)), _) if a.ended == Ended::NotTaken && !a.class.conditional => {
            Some(("branch without condition that was not taken", Known::End))
        }
        _ => None,
    }
}

#[test]
fn damaged_captures_tell_what_opencsd_lists() {
    let test = "damaged_captures_tell_what_opencsd_lists";
    let Some(captures) = captures_for(test, "coresight") else { return };
    if !lister::available(test) {
        return;
    }
    let (mut wrong, mut compared, mut explained) = (Vec::new(), 0, BTreeMap::new());
    let mut gave_up = BTreeSet::new();
    for seed in seeds("DAMAGE_SEEDS", 60) {
        let (name, trace) = CAPTURES[seed as usize % CAPTURES.len()];
        let here = damaged(&captures.join(name), trace, &mut Rng::new(seed));
        let Some(theirs) = theirs(here.path()) else {
            gave_up.insert(seed);
            continue;
        };
        let our_text = ours("decode --elements", here.path());
        let (ours_all, theirs) = (by_source(&our_text), by_source(&theirs));
        let packets = ours("packets", here.path());
        for (id, theirs) in &theirs {
            let ours = ours_all.get(id).map_or(&[][..], |lines| lines);
            let packet = |index: u64| {
                // Packets of trace without frames have no ID.
                let heads = [format!("Idx:{index}; ID:{id:x};"), format!("Idx:{index}; ID:0;")];
                let is_it = |line: &&str| heads.iter().any(|head| line.starts_with(head));
                packets.lines().find(is_it).unwrap_or_default().to_owned()
            };
            let (mut a, mut b) = (0, 0);
            while a < ours.len() || b < theirs.len() {
                if a < ours.len() && b < theirs.len() && ours[a] == theirs[b] {
                    (a, b) = (a + 1, b + 1);
                    compared += 1;
                    continue;
                }
                match known(&ours[..a], &ours[a..], &theirs[b..], packet, |at| word_at(here.path(), at)) {
                    Some((what, known)) => {
                        *explained.entry(what).or_insert(0) += 1;
                        let Known::Skip { ours, theirs } = known else { break };
                        (a, b) = (a + ours, b + theirs);
                    }
                    None => {
                        let part = |all: &[Listed], at: usize| {
                            format!("{:?}", &all[at.min(all.len())..all.len().min(at + 3)])
                        };
                        wrong.push(format!(
                            "seed {seed} {name} ID {id:x}\n    ours    {}\n    OpenCSD {}",
                            part(ours, a),
                            part(theirs, b)
                        ));
                        break;
                    }
                }
            }
        }
    }
    let sums = format!("{compared} elements are the same; {explained:?}; OpenCSD gave up: {gave_up:?}");
    assert!(wrong.is_empty(), "{sums}\n{}:\n{}", wrong.len(), wrong[..wrong.len().min(30)].join("\n"));
    assert!(compared > 100_000, "{sums}");
}
