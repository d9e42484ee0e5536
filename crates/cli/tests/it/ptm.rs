//! PTM against OpenCSD 1.8.0's listings of real chips' captures: packets and elements, per ID and in order.

use std::collections::BTreeMap;
use std::path::Path;

use crate::run::{command, run, text};
use crate::support::opencsd::{each, unpack};
use tracewright_testkit::{Scratch, captures_for};

/// Captures with the IDs of their PTMs in lines of packets and of elements: unframed packets have no ID.
const CAPTURES: [(&str, &[&str]); 3] =
    [("Snowball", &["10", "11"]), ("tc2-ptm-rstk-t32", &["0", "2"]), ("TC2", &["13", "14"])];

/// Lines of skipped bytes that are left out, by their index: where such bytes end with a zero at the end of a run in a frame, OpenCSD
/// shows the zero twice, and a byte behind its input (see DIFFERENCES.md).
const PAST_THE_END: [&str; 4] =
    ["Idx:4662; ID:11;", "Idx:4669; ID:11;", "Idx:4670; ID:11;", "Idx:4672; ID:11;"];

/// The lines of each ID, of elements or of packets.
fn lines(text: &[u8], ids: &[&str], elements: bool) -> BTreeMap<String, Vec<String>> {
    let mut by_id = BTreeMap::<_, Vec<_>>::new();
    for line in String::from_utf8_lossy(text).lines() {
        let Some(line) = line.find("Idx:").map(|at| line[at..].trim_end()) else { continue };
        let id = line.split_once("; ID:").and_then(|(_, rest)| rest.split(';').next()).unwrap_or_default();
        let is_left_out = line.ends_with("PTM Not Synchronised;")
            && PAST_THE_END.iter().any(|start| line.starts_with(start));
        if !is_left_out && ids.contains(&id) && line.contains("OCSD_GEN_TRC_ELEM_") == elements {
            by_id.entry(id.to_owned()).or_default().push(line.to_owned());
        }
    }
    by_id
}

#[track_caller]
fn compare(what: &str, ours: &BTreeMap<String, Vec<String>>, theirs: &BTreeMap<String, Vec<String>>) {
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>(), "{what}: IDs");
    for (id, theirs) in theirs {
        let ours = &ours[id];
        for (i, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
            assert_eq!(ours, theirs, "{what}: ID {id}, line {i}");
        }
        assert_eq!(ours.len(), theirs.len(), "{what}: ID {id}, number of lines");
    }
    assert!(!theirs.is_empty(), "{what}: nothing compared");
}

fn check(coresight: &Path, name: &str) -> Option<()> {
    let listing = unpack(coresight, name).output().ok()?;
    assert!(listing.status.success(), "{name}");
    let ids = CAPTURES.iter().find(|(capture, _)| *capture == name)?.1;
    let verbs = ["packets --style opencsd", "decode --elements --style opencsd --jobs 1"];
    let parallel = "decode --elements --style opencsd --jobs 3";
    for (verb, elements) in verbs.into_iter().chain([parallel]).zip([false, true, true]) {
        let ours = command(verb).arg(coresight.join(name)).output().unwrap();
        let what = format!("{verb} {name}");
        compare(&what, &lines(&ours.stdout, ids, elements), &lines(&listing.stdout, ids, elements));
    }
    Some(())
}

#[test]
fn packets_and_elements_are_those_of_the_listings() {
    for (name, _) in CAPTURES {
        each("ptm", name, check);
    }
}

/// Addresses are told without a program, which cannot contradict them. What is said of missing ones is of each protocol's registers.
#[test]
fn targets_need_no_program() {
    let Some(captures) = captures_for("targets_need_no_program", "coresight") else { return };
    let capture = captures.join("TC2");
    let capture = text(&capture);
    let off = run!("decode {capture} --no-image").ends(0).says_not("mismatch").says_not("TRCCONFIGR");
    off.says("ETM_0: no branch broadcast (bit 8 of ETMCR)")
        .says("PTM_0: no branch broadcast (bit 8 of ETMCR)");
    let source = "--packing coresight --source ptm,id=0x13,ETMCR=0x1100";
    run!("decode {capture}/cstrace.bin {source} --no-image").ends_within(0..=1).says_not("branch broadcast");
}

/// A buffer may begin anywhere in a frame.
#[test]
fn frames_may_begin_late() {
    let Some(captures) = captures_for("frames_may_begin_late", "coresight") else { return };
    let place = Scratch::new("ptm-late");
    for (name, skip) in [("TC2", 9), ("Snowball", 8)] {
        let whole = std::fs::read(captures.join(name).join("cstrace.bin")).unwrap();
        let late = if skip == 9 { whole[7..].to_vec() } else { [&[0x5a; 40][..], &whole].concat() };
        let file = place.write(name, &late);
        let info = run!("info {} --json", text(&file)).ends(0).json();
        assert_eq!(
            (&info["fits"][0]["skip"], &info["fits"][0]["packing"]),
            (&skip.into(), &"coresight".into())
        );
    }
}
