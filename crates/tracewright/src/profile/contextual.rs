//! Blocks of each source in order, counted by calling context.

use std::ops::Range;

use tracewright_core::Element;
use tracewright_engine::{At, Consumer, Source};
use tracewright_flow::cut;
use tracewright_profile::{Code, Contexts, Functions, PlaceParts, Program, TimedGate, Tracker};

use super::Only;
use crate::clocks::Clocks;
use crate::filter::overlap;

/// Counts blocks by calling context.
#[derive(Debug)]
pub struct ContextCounter<'a> {
    clocks: &'a Clocks,
    program: &'a Program,
    only: Only<'a>,
}

/// A source that is being counted.
#[derive(Debug, Default)]
pub struct ContextState<'a>(Option<Box<Counting<'a>>>);

#[derive(Debug)]
struct Counting<'a> {
    tracker: Tracker,
    functions: Functions,
    gate: TimedGate<'a>,
    contexts: Contexts,
    parts: PlaceParts,
}

impl<'a> ContextCounter<'a> {
    /// Creates a counter of what `only` selects.
    pub fn new(clocks: &'a Clocks, program: &'a Program, only: Only<'a>) -> Self {
        Self { clocks, program, only }
    }

    fn source(&self, index: usize) -> Box<Counting<'a>> {
        Box::new(Counting {
            tracker: Tracker::default(),
            functions: Functions::default(),
            gate: TimedGate::new(self.only.window, self.clocks.clock(index)),
            contexts: Contexts::default(),
            parts: PlaceParts::default(),
        })
    }
}

impl<'a> Consumer for ContextCounter<'a> {
    type State = ContextState<'a>;
    type Output = Contexts;

    fn element(&self, state: &mut ContextState<'a>, _: &mut Contexts, at: &At<'_>, element: &Element) {
        let Counting { tracker, functions, gate, contexts, parts } =
            &mut **state.0.get_or_insert_with(|| self.source(at.source.index));
        let inside = gate.take(element).inside;
        let place = |address: u64| self.program.place(at.image, address, at.space);
        if let Element::Block(block) = element {
            contexts.arrive(place(block.start));
        }
        let find = |address, space| functions.find(self.program, at.image, address, space);
        tracker.take(element, at.space, find, contexts);
        if let Element::Block(block) = element {
            let start = place(block.start);
            contexts.ran(None, Code::of(block, start).last());
            let mut ran = |range: &Range<u32>| {
                let part = cut(at.image, at.space, block, range);
                contexts
                    .ran(part.map(|part| Code::of(&part, place(part.start))), Code::of(block, start).last());
            };
            match self.only.places {
                None => ran(&inside),
                Some(places) => parts
                    .of(places, self.program, (at.image, at.space), block)
                    .for_each(|part| ran(&overlap(&part, &inside))),
            }
        }
    }

    /// Time passes outside the requested range, too.
    fn passed(&self, state: &mut ContextState<'a>, source: &Source<'_>, element: &Element) {
        if self.needs_all() {
            state.0.get_or_insert_with(|| self.source(source.index)).gate.pass(element);
        }
    }

    /// Time is counted from the beginning.
    fn needs_all(&self) -> bool {
        self.clocks.any() || self.only.window.times.is_some()
    }

    fn in_order(&self) -> bool {
        true
    }

    fn end(&self, state: &mut ContextState<'a>, done: &mut Contexts, _: &At<'_>, _overflowed: bool) {
        if let Some(mut counting) = state.0.take() {
            counting.contexts.too_deep = counting.tracker.losses().too_deep;
            done.merge(&counting.contexts);
        }
    }

    fn merge(&self, into: &mut Contexts, later: Contexts) {
        into.merge(&later);
    }
}
