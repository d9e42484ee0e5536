//! Analyses compared with naive sums.

use std::collections::HashMap;

use crate::executed::block_at;
use tracewright_core::{Block, Class, Element, Ended, MemorySpace, Stamp, TraceOn};
use tracewright_delta::{Config, Encoder, Packing};
use tracewright_profile::{Bucket, Cell, Clock, Histogram, Kind, Stalls, Timeline, Told};
use tracewright_testkit::Rng;

fn block(start: u64, count: u32) -> Block {
    block_at(start, count, Class::NEXT, Ended::Cut)
}

/// Returns blocks of a small program with the retirement cycle of each instruction.
fn run(rng: &mut Rng, width: u64, blocks: usize) -> Vec<(Block, Vec<u64>)> {
    let mut cycle = rng.below(100) + 1;
    let mut in_cycle = 0;
    let mut all = Vec::new();
    for _ in 0..blocks {
        let number = rng.below(20);
        let block = block(0x1000 + 0x100 * number, number as u32 % 7 + 1);
        let cycles = (0..block.count).map(|_| {
            if in_cycle == width || rng.below(3) > 0 {
                cycle += 1 + if rng.below(4) == 0 { rng.below(60) } else { 0 };
                in_cycle = 0;
            }
            in_cycle += 1;
            cycle
        });
        let cycles = cycles.collect();
        all.push((block, cycles));
    }
    all
}

/// Returns the costs of all instructions by address: retired, cycles, stalled.
fn naive(run: &[(Block, Vec<u64>)]) -> HashMap<u64, (u64, u64, u64)> {
    let mut costs: HashMap<u64, (u64, u64, u64)> = HashMap::new();
    let mut last = run[0].1[0] - 1;
    for (block, cycles) in run {
        for (at, &cycle) in (0..).zip(cycles) {
            let cost = costs.entry(block.start + 4 * at).or_default();
            cost.0 += 1;
            cost.1 += cycle - last;
            cost.2 += (cycle - last).saturating_sub(1);
            last = cycle;
        }
    }
    costs
}

fn costs(stalls: &Stalls) -> HashMap<u64, (u64, u64, u64)> {
    let mut costs: HashMap<u64, (u64, u64, u64)> = HashMap::new();
    for (block, _, _, each) in stalls.costs.blocks() {
        for (at, one) in (0..).zip(each) {
            let cost = costs.entry(block.start + 4 * at).or_default();
            *cost = (cost.0 + one.retired, cost.1 + one.cycles, cost.2 + one.stalled);
        }
    }
    costs
}

/// Encodes a delta trace of the run that is switched off and on again after some blocks. Returns it with those blocks.
fn encode(rng: &mut Rng, run: &[(Block, Vec<u64>)], width: u8) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = Vec::new();
    let config = Config::de(width);
    let mut encoder = Encoder::new(config, Packing::default()).unwrap();
    let mut cuts = Vec::new();
    for (i, (block, cycles)) in run.iter().enumerate() {
        if i > 0 && rng.below(50) == 0 {
            encoder.off(encoder.cycle(), &mut bytes);
            cuts.push(i);
        }
        encoder.block(block.start, cycles, &mut bytes).unwrap();
    }
    encoder.finish(&mut bytes);
    (bytes, cuts)
}

#[test]
fn costs_are_those_of_a_naive_sum() {
    for seed in 0..200 {
        let rng = &mut Rng::new(seed);
        let width = rng.below(4) + 1;
        let run = run(rng, width, 300);
        let (bytes, cuts) = encode(rng, &run, width as u8);
        let mut clock = Clock::delta(&bytes);
        let mut stalls = Stalls::new(clock.kind());
        let mut some = Stalls::new(clock.kind());
        assert_eq!(stalls.kind(), Kind::Delta);
        for (i, (block, cycles)) in run.iter().enumerate() {
            if cuts.contains(&i) {
                let told = clock.take(&Element::TraceOn(TraceOn::Normal));
                some.told(told);
                stalls.told(told);
            }
            let Told::Block(stamps) = clock.take(&Element::Block(*block)) else { panic!("a block") };
            let expected: Vec<_> = cycles.iter().map(|&cycle| Stamp::Exact(cycle)).collect();
            assert_eq!(stamps, expected, "seed {seed}, block {i}");
            stalls.block(block, MemorySpace::ANY, stamps, || (block.start >> 8) as u32);
            match rng.below(3) {
                0 => some.block(block, MemorySpace::ANY, stamps, || 0),
                _ => some.passed(stamps),
            }
        }
        let end = clock.end();
        some.finish(end.cycle);
        assert_eq!((end.unknown, end.left), (0, 0), "seed {seed}");
        stalls.finish(end.cycle);
        let account = *stalls.account();
        let last = *run.last().unwrap().1.last().unwrap();
        assert_eq!(account.all(), last, "seed {seed}");
        // What is wanted changes whose the cycles are, not how many there are.
        let total = |of: &Stalls| (of.account().all(), of.account().before, of.account().lost);
        assert_eq!(total(&some), total(&stalls), "seed {seed}");
        assert_eq!(account.losses, cuts.len() as u64, "seed {seed}");
        if cuts.is_empty() {
            assert_eq!(costs(&stalls), naive(&run), "seed {seed}");
        }
        let told: u64 = costs(&stalls).values().map(|cost| cost.1).sum();
        assert_eq!(told, account.cycles, "seed {seed}");
        let stalled: u64 = stalls.histogram.buckets().iter().map(|bucket| bucket.cycles).sum();
        assert_eq!(stalled, account.stalled, "seed {seed}");
        let drawn: u64 = stalls.timeline.cells().iter().map(|(_, _, cell)| cell.busy + cell.stalled).sum();
        assert_eq!(drawn, account.cycles + account.lost, "seed {seed}");
    }
}

/// Counts of several blocks together: nothing is lost or invented, and a block alone between two counts gets its own.
#[test]
fn shares_add_up() {
    for seed in 0..200 {
        let rng = &mut Rng::new(seed);
        let mut clock = Clock::counts();
        let mut stalls = Stalls::new(clock.kind());
        let (mut all, mut untimed, mut waiting, mut retired) = (0, 0, 0, 0);
        let mut alone: HashMap<u64, u64> = HashMap::new();
        let mut is_alone = rng.below(2) == 0;
        for _ in 0..300 {
            let number = rng.below(20);
            let block = block(0x1000 + 0x100 * number, number as u32 % 7 + 1);
            let Told::Block(stamps) = clock.take(&Element::Block(block)) else { panic!("a block") };
            stalls.block(&block, MemorySpace::ANY, stamps, || 0);
            retired += u64::from(block.count);
            waiting += u64::from(block.count);
            if is_alone || rng.below(3) == 0 {
                let cycles = rng.below(50) as u32;
                stalls.told(clock.take(&Element::Cycles(Some(cycles))));
                all += u64::from(cycles);
                waiting = 0;
                *alone.entry(block.start).or_default() += u64::from(cycles);
            } else if rng.below(20) == 0 {
                stalls.told(clock.take(&Element::Cycles(None)));
                untimed += std::mem::take(&mut waiting);
            }
        }
        is_alone &= stalls.account().untimed == 0;
        stalls.finish(None);
        let account = *stalls.account();
        assert_eq!((account.cycles, account.retired), (all, retired), "seed {seed}");
        assert_eq!(account.untimed, untimed + waiting, "seed {seed}");
        let costs = costs(&stalls);
        assert_eq!(costs.values().map(|cost| cost.1).sum::<u64>(), all, "seed {seed}");
        assert!(costs.values().all(|cost| cost.2 <= cost.1), "seed {seed}");
        if is_alone {
            for (start, cycles) in alone {
                let of: u64 = (0..7).filter_map(|at| Some(costs.get(&(start + 4 * at))?.1)).sum();
                assert_eq!(of, cycles, "seed {seed} {start:#x}");
            }
        }
    }
}

#[test]
fn times_begin_where_the_first_is_heard() {
    let mut clock = Clock::times();
    let mut stalls = Stalls::new(clock.kind());
    let mut take = |element: Element| match (clock.take(&element), &element) {
        (Told::Block(stamps), Element::Block(block)) => stalls.block(block, MemorySpace::ANY, stamps, || 0),
        (told, _) => stalls.told(told),
    };
    take(Element::Block(block(0x1000, 3)));
    take(Element::Timestamp { value: 100, cycles: None });
    take(Element::Block(block(0x2000, 4)));
    take(Element::Timestamp { value: 110, cycles: None });
    take(Element::Block(block(0x3000, 5)));
    stalls.finish(None);
    let account = *stalls.account();
    assert_eq!((account.before, account.cycles, account.stalled), (100, 10, 6));
    assert_eq!((account.retired, account.untimed, account.shares, account.shared), (12, 8, 1, 4));
    let costs = costs(&stalls);
    assert_eq!([0, 4, 8, 12].map(|at| costs[&(0x2000 + at)].1), [2, 3, 2, 3]);
}

/// Bytes that are no delta trace, and elements in any order: the account still adds up.
#[test]
fn anything_goes() {
    for seed in 0..2000 {
        let rng = &mut Rng::new(seed);
        let run = run(rng, 2, 40);
        let (mut bytes, _) = encode(rng, &run, 2);
        for _ in 0..rng.below(6) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.next_u64() as u8;
        }
        let mut clock = Clock::delta(&bytes);
        let mut stalls = Stalls::new(clock.kind());
        let mut retired = 0;
        for (block, _) in &run {
            match rng.below(30) {
                0 => stalls.told(clock.take(&Element::TraceOn(TraceOn::Overflow))),
                1 => stalls.told(
                    clock.take(&Element::Timestamp { value: rng.next_u64() >> rng.below(64), cycles: None }),
                ),
                2 => continue,
                _ => {}
            }
            if let Told::Block(stamps) = clock.take(&Element::Block(*block)) {
                assert_eq!(stamps.len(), block.count as usize);
                retired += u64::from(block.count);
                stalls.block(block, MemorySpace::ANY, stamps, || 0);
            }
        }
        stalls.finish(clock.end().cycle);
        let account = *stalls.account();
        assert_eq!(account.retired, retired);
        assert_eq!(costs(&stalls).values().map(|cost| cost.1).sum::<u64>(), account.cycles, "seed {seed}");
        assert!(account.stalled <= account.cycles);
    }
}

#[test]
fn stalls_are_sorted_by_length() {
    let mut histogram = Histogram::default();
    for length in [0, 1, 2, 3, 4, 5, 8, 9, u64::MAX] {
        histogram.add(length);
    }
    let buckets = histogram.buckets();
    let some = |from: u64, to: u64, count: u64, cycles: u64| Bucket { from, to, count, cycles };
    assert_eq!(
        &buckets[..5],
        [some(1, 1, 1, 1), some(2, 2, 1, 2), some(3, 4, 2, 7), some(5, 8, 2, 13), some(9, 16, 1, 9)]
    );
    assert_eq!(buckets.len(), 65);
    assert_eq!(buckets[64], some((1 << 63) + 1, u64::MAX, 1, u64::MAX));
    assert!(Histogram::default().buckets().is_empty());
}

#[test]
fn pieces_of_time_grow() {
    let mut timeline = Timeline::new(4);
    timeline.add(7, 10, 12, 1);
    timeline.add(8, 12, 14, 2);
    assert_eq!(timeline.width(), 1);
    let cell = |busy, stalled| Cell { busy, stalled };
    assert_eq!(
        timeline.cells(),
        [(7, 0, cell(0, 1)), (7, 1, cell(1, 0)), (8, 2, cell(1, 0)), (8, 3, cell(1, 0))]
    );
    timeline.add(7, 14, 20, 1);
    assert_eq!((timeline.start(), timeline.width()), (10, 4));
    assert_eq!(
        timeline.cells(),
        [(7, 0, cell(1, 1)), (7, 1, cell(0, 4)), (7, 2, cell(1, 1)), (8, 0, cell(2, 0))]
    );
    // To the end of time, and back.
    timeline.add(9, 20, u64::MAX, 1);
    timeline.add(9, 0, 5, 1);
    let all: u128 =
        timeline.cells().iter().map(|(_, _, cell)| u128::from(cell.busy) + u128::from(cell.stalled)).sum();
    assert_eq!(all, u128::from(u64::MAX) - 10);
}
