//! ETMv3 against OpenCSD 1.8.0's listing of a real chip's capture: packets and elements, per ID and in order; and the verbs on it.

use std::collections::BTreeMap;
use std::path::Path;

use crate::run::{command, ran};
use crate::support::opencsd::{each, unpack};
use tracewright_testkit::captures_for;

/// The IDs of the ETMv3 in TC2; the others are PTM and ITM.
const IDS: [&str; 3] = ["10", "11", "12"];

/// The lines of each ID, of elements or of packets.
fn lines(text: &[u8], elements: bool) -> BTreeMap<String, Vec<String>> {
    let mut by_id = BTreeMap::<_, Vec<_>>::new();
    for line in String::from_utf8_lossy(text).lines() {
        let Some(line) = line.find("Idx:").map(|at| line[at..].trim_end()) else { continue };
        let id = line.split_once("; ID:").and_then(|(_, rest)| rest.split(';').next()).unwrap_or_default();
        if IDS.contains(&id) && line.contains("OCSD_GEN_TRC_ELEM_") == elements {
            by_id.entry(id.to_owned()).or_default().push(line.to_owned());
        }
    }
    by_id
}

fn check(coresight: &Path, name: &str) -> Option<()> {
    let listing = unpack(coresight, name).output().ok()?;
    assert!(listing.status.success(), "{name}");
    for (verb, elements) in [
        ("packets --style opencsd", false),
        ("decode --elements --style opencsd --jobs 1", true),
        ("decode --elements --style opencsd --jobs 3", true),
    ] {
        let ours = command(verb).arg(coresight.join(name)).output().unwrap();
        let (ours, theirs) = (lines(&ours.stdout, elements), lines(&listing.stdout, elements));
        assert_eq!(theirs.len(), IDS.len());
        for (id, theirs) in &theirs {
            for (index, (ours, theirs)) in ours[id].iter().zip(theirs).enumerate() {
                assert_eq!(ours, theirs, "{verb} {name}: ID {id}, line {index}");
            }
            assert_eq!(ours[id].len(), theirs.len(), "{verb} {name}: ID {id}, number of lines");
        }
    }
    Some(())
}

#[test]
fn packets_and_elements_are_those_of_the_listing() {
    each("etm3", "TC2", check);
}

/// Normal blocks have the instructions of the listing, with any number of threads.
#[test]
fn blocks_hold_the_instructions_of_the_listing() {
    let Some(capture) = captures_for("etm3", "coresight/TC2") else { return };
    let decode = |jobs| {
        let listed = command(format!("decode --elements --id 0x10 --jobs {jobs}")).arg(&capture).output();
        listed.unwrap().stdout
    };
    assert_eq!(decode(1), decode(3));
    let _ = ran(command("info").arg(&capture)).prints("source ETM_0 (ID 0x10): ETMv3.5");
    let _ = ran(command("stats").arg(&capture)).prints("source ETM_0 (ID 0x10): 8708 packets");
}
