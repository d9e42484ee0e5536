//! Counting by node, on one core and on several, is counting blocks one by one.

use tracewright_core::Flow;
use tracewright_flow::hash::HashMap;
use tracewright_profile::{Place, Profile};
use tracewright_testkit::{captures, skip};

use super::naive::Gather;
use crate::OpenOptions;

/// Compares where branches went. Where a direct branch goes its code says, also if the trace is lost then, which elements do not tell.
fn compare(counted: &Profile, expected: &Profile, what: &str) {
    let flow: HashMap<_, _> = expected.blocks.keys().map(|code| (code.last(), code.class)).collect();
    for (branch, count) in &expected.branches {
        let found = counted.branches.get(branch).copied().unwrap_or(0);
        let is_direct = flow[&branch.0].flow == Flow::Direct;
        assert!(
            found == *count || is_direct && found > *count,
            "{what}: {branch:x?} {found}, expected {count}"
        );
    }
    let mut taken: HashMap<Place, u64> = HashMap::default();
    for (code, runs) in &counted.blocks {
        *taken.entry(code.last()).or_default() += runs.taken;
    }
    let mut known: HashMap<Place, u64> = HashMap::default();
    counted.branches.iter().for_each(|((from, _), count)| *known.entry(*from).or_default() += count);
    for (from, known) in known.into_iter().filter(|(from, _)| flow[from].flow == Flow::Direct) {
        assert_eq!(known, taken[&from], "{what}: {from:x?}");
    }
}

#[test]
fn counting_by_node_is_counting_one_by_one() {
    let Some(folder) = captures() else {
        return skip("counting_by_node_is_counting_one_by_one", "no captures");
    };
    let mut checked = 0;
    for name in [
        "coresight/bugfix-exact-match",
        "coresight/juno-uname-002",
        "process/fib_trace1",
        "coresight/texit-poe2",
    ] {
        let trace = OpenOptions::new().accept_mismatch(true).open(folder.join(name)).unwrap();
        let expected = trace.decode(&Gather).unwrap().value;
        assert!(expected.instructions() > 1000, "{name}");
        for jobs in [1, 2, 3, 7] {
            let counted = trace.clone().jobs(jobs).profile().unwrap().value.profile;
            assert_eq!(counted.instructions(), expected.instructions(), "{name}, {jobs} jobs");
            assert_eq!(counted.binaries, expected.binaries, "{name}, {jobs} jobs");
            let differs = expected.blocks.iter().find(|(code, runs)| counted.blocks.get(code) != Some(runs));
            assert_eq!(differs, None, "{name}, {jobs} jobs");
            assert_eq!(counted.blocks.len(), expected.blocks.len(), "{name}, {jobs} jobs");
            compare(&counted, &expected, &format!("{name}, {jobs} jobs"));
        }
        checked += 1;
    }
    assert_eq!(checked, 4);
}
