//! Blocks that ran in a window of time, counted one by one.

use std::ops::AddAssign;

use tracewright_core::{Block, Element, Ended, Flow, MemorySpace};
use tracewright_engine::{At, Consumer, Source};
use tracewright_flow::{self as flow, cut};
use tracewright_image::Image;
use tracewright_profile::{Gate, Profile, Program, TimedGate, Window};

use super::{attribute, in_binaries};
use crate::clocks::{ClockEnd, Clocks};

/// Instructions outside the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    /// Instructions that ran before or after it.
    pub time: u64,
    /// Instructions whose time is not known.
    pub unknown: u64,
}

impl From<&Gate> for Outside {
    fn from(gate: &Gate) -> Self {
        Self { time: gate.outside(), unknown: gate.unknown() }
    }
}

impl AddAssign for Outside {
    fn add_assign(&mut self, other: Self) {
        self.time += other.time;
        self.unknown += other.unknown;
    }
}

/// Counts the blocks that ran in a window of time.
#[derive(Debug)]
pub struct WindowCounter<'a> {
    /// Clocks of the sources.
    pub clocks: &'a Clocks,
    /// The window.
    pub window: &'a Window,
}

/// What a [`WindowCounter`] counted.
#[derive(Debug, Default)]
pub struct Windowed {
    /// Blocks that ran in the window.
    inside: flow::BlockCounts,
    /// All blocks that ran.
    all: flow::BlockCounts,
    outside: Outside,
    /// How the sources' clocks ended.
    pub ends: Vec<ClockEnd>,
}

/// A source that is being counted.
#[derive(Debug, Default)]
pub struct WindowState<'a>(Option<Box<Of<'a>>>);

#[derive(Debug)]
struct Of<'a> {
    gate: TimedGate<'a>,
    inside: OrderedCounts,
    all: flow::BlockCounts,
}

/// Counts of blocks that come one after another.
#[derive(Debug, Default)]
pub(crate) struct OrderedCounts {
    pub counts: flow::BlockCounts,
    /// The indirect branch that was taken last, until the next block shows where it went.
    taken: Option<(u64, MemorySpace)>,
}

impl OrderedCounts {
    /// Notes where execution goes on.
    pub fn arrive(&mut self, address: u64, space: MemorySpace) {
        if let Some(from) = self.taken.take() {
            *self.counts.indirect.entry((from, (address, space))).or_default() += 1;
        }
    }

    /// Counts a block.
    pub fn add(&mut self, block: &Block, space: MemorySpace) {
        *self.counts.blocks.entry((*block, space)).or_default() += 1;
        let went = block.ended == Ended::Taken && block.class.flow != Flow::Direct;
        self.taken = went.then(|| (block.last(), space));
    }

    /// Takes an element that is no block.
    pub fn other(&mut self, element: &Element) {
        // What an exception keeps from running is not where a branch went.
        if matches!(
            element,
            Element::UnknownPath { .. }
                | Element::TraceOn(_)
                | Element::Exception(_)
                | Element::NoCode { .. }
                | Element::Mismatch(_)
                | Element::Lost(_)
                | Element::Gap { .. }
        ) {
            self.lose();
        }
    }

    /// Notes that what follows does not continue what came before.
    pub fn lose(&mut self) {
        self.taken = None;
    }
}

impl<'a> WindowCounter<'a> {
    fn source(&self, index: usize) -> Box<Of<'a>> {
        let clock = self.window.cycles.as_ref().and_then(|_| self.clocks.clock(index));
        Box::new(Of {
            gate: TimedGate::new(self.window, clock),
            inside: OrderedCounts::default(),
            all: flow::BlockCounts::default(),
        })
    }
}

impl Windowed {
    /// Returns the profile of all sources. Its binaries, and the funnel except for its first steps, cover everything that ran.
    pub fn finish(self, image: &Image) -> (Profile, Program, Outside) {
        let Self { inside, all, outside, .. } = self;
        let mut profile = in_binaries(all, image);
        let program = Program::new(&profile, image);
        attribute(&mut profile, &program);
        let funnel = profile.funnel;
        profile.blocks.clear();
        profile.branches.clear();
        profile.merge(&in_binaries(inside, image));
        profile.funnel = funnel;
        profile.funnel.in_output = profile.instructions();
        // A branch may lead to a binary of which nothing ran.
        let program = Program::new(&profile, image).with_functions_of(program);
        (profile, program, outside)
    }
}

impl<'a> Consumer for WindowCounter<'a> {
    type State = WindowState<'a>;
    type Output = Windowed;

    fn element(&self, state: &mut WindowState<'a>, _: &mut Windowed, at: &At<'_>, element: &Element) {
        let of = &mut **state.0.get_or_insert_with(|| self.source(at.source.index));
        let inside = of.gate.take(element).inside;
        let Element::Block(block) = element else { return of.inside.other(element) };
        of.inside.arrive(block.start, at.space);
        *of.all.blocks.entry((*block, at.space)).or_default() += 1;
        if let Some(part) = cut(at.image, at.space, block, &inside) {
            of.inside.add(&part, at.space);
        }
    }

    fn passed(&self, state: &mut WindowState<'a>, source: &Source<'_>, element: &Element) {
        let of = &mut **state.0.get_or_insert_with(|| self.source(source.index));
        of.gate.pass(element);
        of.inside.lose();
    }

    fn memory(&self, state: &WindowState<'a>) -> usize {
        state.0.as_ref().map_or(0, |of| of.inside.counts.memory() + of.all.memory())
    }

    /// Time is counted from the beginning.
    fn needs_all(&self) -> bool {
        !self.window.is_all()
    }

    fn in_order(&self) -> bool {
        true
    }

    fn end(&self, state: &mut WindowState<'a>, done: &mut Windowed, at: &At<'_>, _overflowed: bool) {
        let Some(mut of) = state.0.take() else { return };
        done.ends.extend(of.gate.end().map(|end| ClockEnd { id: at.source.id, end }));
        done.outside += Outside::from(of.gate.gate());
        done.inside.merge(of.inside.counts);
        done.all.merge(of.all);
    }

    fn merge(&self, into: &mut Windowed, later: Windowed) {
        into.ends.extend(later.ends);
        into.outside += later.outside;
        into.inside.merge(later.inside);
        into.all.merge(later.all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_before_a_part_of_the_file_is_needed_only_where_time_counts() {
        let clocks = Clocks::default();
        let all = Window::default();
        assert!(!WindowCounter { clocks: &clocks, window: &all }.needs_all());
        for some in [Window { cycles: Some(1..2), times: None }, Window { cycles: None, times: Some(1..2) }] {
            assert!(WindowCounter { clocks: &clocks, window: &some }.needs_all());
        }
    }
}
