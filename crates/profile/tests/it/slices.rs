//! Slices compared with naive sums and clippings.

use std::collections::BTreeMap;

use crate::executed::{Executed, block};
use tracewright_core::{Element, MemorySpace};
use tracewright_profile::slices::{Limits, Slicer, Slices};
use tracewright_profile::{Clock, Told};
use tracewright_testkit::Rng;

/// A slice: thread, function, start, end, depth.
type Slice = (u32, u32, u64, u64, usize);

/// Collects slices and checks that they are nested and in order.
#[derive(Default)]
struct Taken {
    open: BTreeMap<u32, Vec<(u32, u64)>>,
    last: BTreeMap<u32, u64>,
    slices: Vec<Slice>,
    /// Time of each function that is not in a nested slice.
    own: BTreeMap<u32, u64>,
    marks: Vec<u64>,
}

impl Taken {
    fn until(&mut self, thread: u32, time: u64) {
        let last = self.last.insert(thread, time);
        assert!(last.is_none_or(|last| last <= time), "thread {thread}: {last:?}, then {time}");
        if let (Some(last), Some((function, _))) =
            (last, self.open.get(&thread).and_then(|stack| stack.last()))
        {
            *self.own.entry(*function).or_default() += time - last;
        }
    }
}

impl Slices for Taken {
    fn begin(&mut self, thread: u32, function: u32, time: u64) {
        self.until(thread, time);
        self.open.entry(thread).or_default().push((function, time));
    }

    fn end(&mut self, thread: u32, time: u64) {
        self.until(thread, time);
        let stack = self.open.get_mut(&thread).unwrap();
        let (function, start) = stack.pop().expect("nothing to end");
        self.slices.push((thread, function, start, time, stack.len()));
    }

    fn mark(&mut self, thread: u32, time: u64) {
        // Ends of slices before it are not later, and those after it are not earlier.
        self.until(thread, time);
        self.marks.push(time);
    }
}

fn slices(run: &Executed, clock: Option<Clock<'_>>, limits: Limits) -> (Taken, Option<u64>) {
    let mut taken = Taken::default();
    let mut slicer = Slicer::new(clock, limits);
    for element in &run.elements {
        slicer.take(element, MemorySpace::ANY, |address, _| run.find(address), &mut taken);
    }
    slicer.finish(&mut taken);
    assert!(taken.open.values().all(Vec::is_empty), "not all ended");
    (taken, slicer.cut())
}

/// Returns the instructions that each function executed between two of the run.
fn own(run: &Executed, from: u64, to: u64) -> BTreeMap<u32, u64> {
    let mut own = BTreeMap::new();
    let mut at = 0;
    for block in run.elements.iter().filter_map(block) {
        let end = at + u64::from(block.count);
        let within = end.min(to).saturating_sub(at.max(from));
        if within > 0 {
            *own.entry(run.find(block.start).function).or_default() += within;
        }
        at = end;
    }
    own
}

#[test]
fn own_times_are_the_instructions_of_functions() {
    let mut all = 0;
    for seed in 0..20 {
        let run = if seed % 2 == 0 { Executed::computing(seed) } else { Executed::anything(seed) };
        let (mut taken, cut) = slices(&run, None, Limits::default());
        taken.own.retain(|_, own| *own > 0);
        assert_eq!(taken.own, own(&run, 0, u64::MAX), "seed {seed}");
        assert!(cut.is_none(), "seed {seed}");
        all += taken.slices.len();
    }
    assert!(all > 5000, "{all}");
}

/// Times lie between the timestamps around them, and nothing has a time that no timestamp bounds.
#[test]
fn timestamps_bound_what_runs_between_them() {
    for seed in 0..30 {
        let mut run = if seed % 2 == 0 { Executed::computing(seed) } else { Executed::anything(seed) };
        run.elements.retain(|element| !matches!(element, Element::Timestamp { .. }));
        let mut rng = Rng::new(seed);
        let (mut elements, mut marks) = (Vec::new(), Vec::new());
        let (mut now, mut latest, mut expected) = (1000, None, 0);
        for element in std::mem::take(&mut run.elements) {
            let is_break = !matches!(Clock::timestamps().take(&element), Told::Nothing | Told::Block(_));
            latest = latest.filter(|_| !is_break);
            elements.push(element);
            let mut tell = |value| elements.push(Element::Timestamp { value, cycles: None });
            match rng.below(20) {
                0 => tell(0),
                1 if now > 1000 => {
                    tell(rng.below(now - 1) + 1);
                    latest = None;
                }
                2..5 => {
                    now += rng.below(100);
                    tell(now);
                    expected += latest.map_or(0, |latest| now - latest);
                    latest = Some(now);
                    marks.push(now);
                }
                _ => {}
            }
        }
        run.elements = elements;
        let (taken, _) = slices(&run, Some(Clock::timestamps()), Limits::default());
        assert_eq!(taken.marks, marks, "seed {seed}");
        assert_eq!(taken.own.values().sum::<u64>(), expected, "seed {seed}");
        assert!(expected > 1000, "seed {seed}: {expected}");
    }
}

#[test]
fn a_window_has_what_ran_in_it() {
    for seed in 0..40 {
        let run = if seed % 2 == 0 { Executed::computing(seed) } else { Executed::anything(seed) };
        let all: u64 = own(&run, 0, u64::MAX).values().sum();
        let mut rng = Rng::new(seed);
        let from = rng.below(all);
        let to = from + 1 + rng.below(all - from);
        let (mut taken, _) = slices(&run, None, Limits { from, to, ..Limits::default() });
        taken.own.retain(|_, own| *own > 0);
        assert_eq!(taken.own, own(&run, from, to), "seed {seed}: {from} to {to}");
        assert!(taken.slices.iter().all(|slice| from <= slice.2 && slice.3 <= to), "seed {seed}");
    }
}

#[test]
fn short_slices_are_left_out_and_no_others() {
    for seed in 0..10 {
        let run = Executed::computing(seed);
        let (taken, _) = slices(&run, None, Limits::default());
        for shortest in [1, 7, 100] {
            let (long, _) = slices(&run, None, Limits { shortest, ..Limits::default() });
            let is_long = |slice: &&Slice| slice.3 - slice.2 >= shortest;
            let expected: Vec<_> = taken.slices.iter().filter(is_long).copied().collect();
            assert_eq!(long.slices, expected, "seed {seed}: {shortest}");
        }
    }
}

#[test]
fn there_are_never_more_slices_than_asked_for() {
    let run = Executed::anything(3);
    let (all, _) = slices(&run, None, Limits::default());
    for most in [0, 1, 17, all.slices.len() as u64 - 1] {
        let (taken, cut) = slices(&run, None, Limits { most, ..Limits::default() });
        assert_eq!(taken.slices.len() as u64, most);
        let cut = cut.expect("it was cut");
        assert!(taken.slices.iter().all(|slice| slice.3 <= cut));
    }
    let (taken, cut) = slices(&run, None, Limits { most: all.slices.len() as u64, ..Limits::default() });
    assert_eq!((taken.slices, cut), (all.slices, None));
}

/// Cycle counts with gaps between them: all cycles are in slices, except those before the first instruction.
#[test]
fn counted_cycles_are_all_in_slices() {
    for seed in 0..20 {
        let mut run = Executed::anything(seed);
        // Only counts that follow instructions: each block has one, or shares one with the next.
        let mut rng = Rng::new(seed);
        let mut elements = Vec::new();
        for element in run.elements.drain(..).filter(|it| !matches!(it, Element::Cycles(_))) {
            let is_block = matches!(element, Element::Block(_));
            elements.push(element);
            if is_block && rng.below(3) > 0 {
                elements.push(Element::Cycles(Some(rng.below(50) as u32)));
            }
        }
        run.elements = elements;
        let (taken, _) = slices(&run, Some(Clock::counts()), Limits::default());
        // Counts go on over gaps, also if the last is followed by a loss.
        let counts = run.elements.iter().filter_map(|element| match element {
            Element::Cycles(cycles) => *cycles,
            _ => None,
        });
        let expected: u64 = counts.map(u64::from).sum();
        assert!(expected > 1000, "seed {seed}: {expected}");
        assert_eq!(taken.own.values().sum::<u64>(), expected, "seed {seed}");
    }
}

/// Any elements with any numbers give nested slices.
#[test]
fn any_elements_give_slices() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let mut run = Executed::anything(seed % 5);
        let mut elements = Vec::new();
        for _ in 0..5000 {
            let element = run.elements[rng.below(run.elements.len() as u64) as usize];
            elements.push(element);
            match rng.below(8) {
                0 => elements.push(Element::Cycles((rng.below(4) > 0).then(|| rng.next_u64() as u32))),
                1 => elements.push(Element::Timestamp { value: rng.next_u64(), cycles: None }),
                _ => {}
            }
        }
        run.elements = elements;
        let limits = Limits {
            from: if rng.below(2) == 0 { 0 } else { rng.next_u64() >> rng.below(64) },
            to: if rng.below(2) == 0 { u64::MAX } else { rng.next_u64() >> rng.below(64) },
            shortest: rng.below(3) * 10,
            most: rng.next_u64() >> rng.below(64),
        };
        let bytes = rng.bytes(2000);
        let clocks = [None, Some(Clock::counts()), Some(Clock::times()), Some(Clock::delta(&bytes))];
        for clock in clocks {
            slices(&run, clock, limits);
        }
    }
}
