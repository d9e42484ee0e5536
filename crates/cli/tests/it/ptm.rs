//! PTM against OpenCSD 1.8.0's listings of real chips' captures: packets and elements, per ID and in order.

use std::collections::BTreeMap;
use std::path::Path;

use crate::run::command;
use crate::support::opencsd::{each, unpack};

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
