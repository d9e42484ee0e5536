//! Paths and events compared with naive counts.

use std::collections::HashMap;

use crate::executed::{Executed, block, block_at};
use tracewright_core::{Class, Element, Ended, Flow, MemorySpace, Role};
use tracewright_profile::{Clock, EventAt, Events, Paths, Place};
use tracewright_testkit::Rng;

fn place(address: u64, _: MemorySpace) -> Place {
    Place { binary: 0, address }
}

fn follow(elements: &[Element], width: usize) -> Paths {
    let mut paths = Paths::new(width);
    elements.iter().for_each(|element| paths.take(element, MemorySpace::ANY, place));
    paths
}

#[test]
fn frequencies_are_counted() {
    for seed in 0..30 {
        let run = Executed::computing(seed);
        let width = 1 + seed as usize % 9;
        let outcomes: Vec<(u64, bool)> = run
            .elements
            .iter()
            .filter_map(block)
            .filter(|block| block.class.conditional)
            .map(|block| (block.last(), block.ended == Ended::Taken))
            .collect();
        type Path = Vec<(u64, bool)>;
        let mut expected: HashMap<(u64, Path), [u64; 2]> = HashMap::new();
        let mut pairs: HashMap<(u64, u64), [[u64; 2]; 2]> = HashMap::new();
        for window in outcomes.windows(width + 1) {
            let (branch, taken) = window[width];
            expected.entry((branch, window[..width].to_vec())).or_default()[usize::from(taken)] += 1;
            let latest: HashMap<u64, bool> = window[..width].iter().copied().collect();
            for (with, was) in latest {
                pairs.entry((branch, with)).or_default()[usize::from(was)][usize::from(taken)] += 1;
            }
        }
        let paths = follow(&run.elements, width);
        let found: HashMap<_, _> = paths
            .frequencies()
            .map(|(branch, path, runs)| {
                let path: Path = path.into_iter().map(|(place, taken)| (place.address, taken)).collect();
                ((branch.address, path), runs)
            })
            .collect();
        assert_eq!(found, expected, "seed {seed}");
        for row in paths.correlated() {
            assert_eq!(row.counts, pairs[&(row.place.address, row.with.address)], "seed {seed}");
        }
        assert_eq!(paths.dropped(), 0);
        let runs: u64 = paths.conditioned().iter().map(|row| row.runs).sum();
        assert_eq!(runs, outcomes.len().saturating_sub(width) as u64, "seed {seed}");
        assert!(
            paths.conditioned().iter().all(|row| row.given_path <= row.entropy + 1e-9 && row.entropy <= 1.0)
        );
        let hottest = paths.hot(1).first().map(|path| path.runs);
        assert_eq!(
            hottest,
            expected.values().flatten().copied().max().filter(|&most| most > 0),
            "seed {seed}"
        );

        // Merging twice doubles the counts.
        let mut twice = Paths::new(width);
        twice.merge(&paths);
        twice.merge(&paths);
        assert_eq!(twice.hot(1).first().map(|path| path.runs), hottest.map(|runs| 2 * runs));
    }
}

fn branch(address: u64, taken: bool) -> Element {
    let ended = if taken { Ended::Taken } else { Ended::NotTaken };
    let class = Class { flow: Flow::Direct, role: Role::Jump, conditional: true };
    Element::Block(block_at(address, 1, class, ended))
}

/// A branch that copies another one's outcome is explained by it, and a fair coin by nothing.
#[test]
fn who_decides_is_found() {
    let rng = &mut Rng::new(1);
    let mut run = Vec::new();
    for _ in 0..5000 {
        let (coin, other) = (rng.below(2) == 0, rng.below(2) == 0);
        run.extend([branch(0x10, coin), branch(0x20, other), branch(0x30, !coin)]);
    }
    let paths = follow(&run, 3);
    let best = paths.correlated()[0];
    assert_eq!((best.place.address, best.with.address), (0x30, 0x10));
    assert!(best.gain > 0.99 && best.counts[0][0] == 0 && best.counts[1][1] == 0);
    let rows = paths.conditioned();
    assert_eq!(rows[0].place.address, 0x30);
    assert!(rows[0].entropy > 0.99 && rows[0].given_path < 1e-9);
    assert!(rows[1..].iter().all(|row| row.given_path > 0.98), "{rows:?}");
    // After a gap there is no path.
    let gap = Element::TraceOn(tracewright_core::TraceOn::Overflow);
    let run: Vec<_> = run.into_iter().flat_map(|element| [element, gap]).collect();
    assert!(follow(&run, 3).conditioned().is_empty());
}

#[test]
fn events_belong_to_the_last_block() {
    let mut all = 0;
    for seed in 0..30 {
        let run = Executed::anything(seed);
        let mut events = Events::default();
        let mut clock = Clock::counts();
        let mut expected: HashMap<(u8, Option<u64>), u64> = HashMap::new();
        let mut last = None;
        for element in &run.elements {
            let told = clock.take(element);
            events.take(element, MemorySpace::ANY, Some(&told));
            match element {
                Element::Block(block) => last = Some(block.start),
                Element::TraceOn(_) | Element::Gap { .. } => last = None,
                Element::Event(bits) => {
                    for event in (0..8).filter(|event| bits >> event & 1 == 1) {
                        *expected.entry((event, last)).or_default() += 1;
                    }
                }
                _ => {}
            }
        }
        let mut found: HashMap<(u8, Option<u64>), u64> = HashMap::new();
        for (&EventAt { event, block }, row) in events.rows() {
            *found.entry((event, block.map(|(block, _)| block.start))).or_default() += row.count;
            assert!(row.timed <= row.count && row.most <= row.cycles);
            all += row.timed;
        }
        assert_eq!(found, expected, "seed {seed}");
    }
    assert!(all > 100, "{all}");
    // Between two cycle counts the distance is at most the second count.
    let mut events = Events::default();
    let mut clock = Clock::counts();
    let run = [branch(0x10, true), Element::Cycles(Some(5)), branch(0x20, true), Element::Event(2)];
    for element in run.iter().chain(&[branch(0x30, true), Element::Cycles(Some(7))]) {
        let told = clock.take(element);
        events.take(element, MemorySpace::ANY, Some(&told));
    }
    let (at, row) = events.rows().next().unwrap();
    assert_eq!((at.event, at.block.unwrap().0.start), (1, 0x20));
    assert_eq!((row.count, row.timed, row.cycles, row.most), (1, 1, 7, 7));
}
