//! Offsets that one verb prints are those that the next one takes.

use std::collections::BTreeSet;

use serde_json::Value;
use tracewright_testkit::captures_for;

use crate::run::run;

/// The objects that a verb prints, a line each.
fn objects(line: &str) -> Vec<Value> {
    // In a part there may be no trace.
    let ran = run!("{line} --json").ends_within(0..=2);
    let objects = ran.out.lines().map(|line| serde_json::from_str(line).unwrap());
    // The last may say what is missing from all that was listed.
    objects
        .filter(|object: &Value| object["kind"] != "tracewright" || object["incomplete"].is_null())
        .collect()
}

fn offset(object: &Value) -> Option<u64> {
    object["offset"].as_u64()
}

/// Packets of a part of a file are those that begin there, `stats` counts them, and what `decode` prints begins at one of them.
fn check(capture: &str, parts: usize) {
    let all = objects(&format!("packets {capture}"));
    let place = |object: &Value| (object["buffer"].to_string(), object["id"].as_u64(), offset(object));
    let starts: BTreeSet<_> = all.iter().map(place).collect();
    for element in objects(&format!("decode {capture} --elements")) {
        let is_there = starts.contains(&place(&element)) || offset(&element).is_none();
        // The last has the offset where the trace ends.
        assert!(is_there || matches!(element["kind"].as_str(), Some("gap" | "end")), "{capture}: {element}");
    }
    let end = all.iter().filter_map(offset).max().unwrap() + 1;
    for part in 0..parts as u64 {
        let (from, to) = (end * part / parts as u64, end * (part + 1) / parts as u64);
        let inside = |object: &&Value| offset(object).is_none_or(|offset| from <= offset && offset < to);
        let expected: Vec<_> = all.iter().filter(inside).cloned().collect();
        assert_eq!(objects(&format!("packets {capture} --from {from} --to {to}")), expected, "{capture}");
        let is_packet = |object: &&Value| object["id"].is_u64() && offset(object).is_some();
        let packets = expected.iter().filter(is_packet).count() as u64;
        let stats = objects(&format!("stats {capture} --from {from} --to {to}"));
        let sources = stats.iter().filter_map(|object| object["sources"].as_array()).flatten();
        let counted: u64 = sources.filter_map(|source| source["packets"].as_u64()).sum();
        assert_eq!(counted, packets, "{capture} {from}..{to}");
    }
}

#[test]
fn packets_of_samples() {
    check("samples/two-cores", 7);
    check("samples/etrace", 3);
    check("samples/threads", 5);
}

#[test]
fn packets_of_captures() {
    let Some(captures) = captures_for("packets_of_captures", "") else { return };
    for name in ["coresight/juno-uname-002", "coresight/a55-test-tpiu", "perf/simpleperf/perf_etm.data"] {
        check(&captures.join(name).display().to_string(), 3);
    }
}
