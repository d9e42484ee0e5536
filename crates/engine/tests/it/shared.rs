//! Sources that share a buffer: it is parsed once, and each gets what it would get alone.

use std::sync::atomic::Ordering;

use tracewright_engine::Syntax;
use tracewright_testkit::Scratch;

use crate::toy::Toy;
use crate::verbs::{profile, raw, text, trace};

#[test]
fn what_sources_share_is_parsed_once() {
    let scratch = Scratch::new("toy");
    let (bytes, blocks) = trace(&[0, 2, 7], 30_000);
    let capture = raw(&scratch.write("toy.bin", &bytes), &[0, 2, 7]);
    let all = |_: u16| true;
    let params = capture.sources.iter().filter_map(|source| Toy::params(&source.protocol));
    let counters: Vec<_> = params.map(|params| params.parsed.clone()).collect();
    let parsed = || counters.iter().map(|count| count.swap(0, Ordering::Relaxed)).sum::<u64>();
    let one = text(&capture, &all, 1);
    assert_eq!(parsed(), bytes.len() as u64);
    let three = text(&capture, &all, 3);
    assert_eq!(parsed(), bytes.len() as u64);
    assert!(one == three, "what is told depends on how many decode");
    assert_eq!(profile(&capture, 1).values().sum::<u64>(), blocks);
    assert_eq!(profile(&capture, 3), profile(&capture, 1));
    for id in [0, 2, 7] {
        let alone = text(&capture, &|other| other == id, 1);
        let of_it = |line: &&str| line.split(' ').nth(1) == Some(&id.to_string());
        let among = one.lines().filter(of_it).map(|line| format!("{line}\n")).collect::<String>();
        assert!(alone == among, "source {id} gets something else among others");
    }
}
