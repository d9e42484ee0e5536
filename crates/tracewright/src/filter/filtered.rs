//! Any consumer, with only a part of what ran.

use std::ops::Range;

use tracewright_core::Element;
use tracewright_engine::{At, Consumer, Source, WantedBlocks};
use tracewright_flow::cut;

use super::{Filter, FilterState};
use crate::profile::OrderedCounts;

/// Gives a consumer the elements that a filter lets through. All others reach its [`passed`](Consumer::passed), as elements outside the
/// requested part of the file do. A block that is wanted in part is split.
pub(crate) struct Filtered<'f, C> {
    pub filter: &'f Filter,
    pub inner: &'f C,
}

/// A source that is being filtered.
pub(crate) struct State<'f, S> {
    inner: S,
    of: Option<Box<Of<'f>>>,
}

impl<S: Default> Default for State<'_, S> {
    fn default() -> Self {
        Self { inner: S::default(), of: None }
    }
}

struct Of<'f> {
    filter: FilterState<'f>,
    /// Counts, for a consumer that takes those instead of blocks.
    counts: OrderedCounts,
}

/// The consumer's output, and what it consists of.
#[derive(Default)]
pub(crate) struct Output<O> {
    pub inner: O,
    /// What was let through of each source.
    pub counts: Vec<Count>,
}

/// Instructions and blocks of a source that a filter let through.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    /// Index of the source in the capture, and its number in the buffer.
    pub source: (usize, u16),
    pub instructions: u64,
    pub blocks: u64,
}

impl<O> Output<O> {
    fn count(&mut self, count: &Count) {
        // An output is nearly always of one source.
        match self.counts.iter_mut().find(|of| of.source == count.source) {
            Some(of) => {
                of.instructions += count.instructions;
                of.blocks += count.blocks;
            }
            None => self.counts.push(*count),
        }
    }
}

impl<'f, C: Consumer> Filtered<'f, C> {
    fn source<'s>(&self, of: &'s mut Option<Box<Of<'f>>>, index: usize) -> &'s mut Of<'f> {
        of.get_or_insert_with(|| {
            Box::new(Of { filter: self.filter.state(index), counts: OrderedCounts::default() })
        })
    }
}

impl<'f, C: Consumer> Consumer for Filtered<'f, C> {
    type State = State<'f, C::State>;
    type Output = Output<C::Output>;

    fn element(&self, state: &mut Self::State, output: &mut Self::Output, at: &At<'_>, element: &Element) {
        let State { inner, of } = state;
        let Of { filter, counts } = self.source(of, at.source.index);
        let is_wanted = self.filter.take(filter, at, element);
        let pass = |inner: &mut C::State, element: &Element| self.inner.passed(inner, at.source, element);
        let Element::Block(block) = element else {
            counts.other(element);
            return match is_wanted {
                false => pass(inner, element),
                true => self.inner.element(inner, &mut output.inner, at, element),
            };
        };
        let mut from = 0;
        let skip = |inner: &mut C::State, counts: &mut OrderedCounts, range: Range<u32>| {
            if let Some(part) = cut(at.image, at.space, block, &range) {
                counts.lose();
                pass(inner, &Element::Block(part));
            }
        };
        let source = (at.source.index, at.source.id);
        for inside in filter.inside() {
            skip(inner, counts, std::mem::replace(&mut from, inside.end)..inside.start);
            let Some(part) = cut(at.image, at.space, block, inside) else { continue };
            output.count(&Count { source, instructions: part.count.into(), blocks: 1 });
            if C::BLOCKS == WantedBlocks::Counted {
                counts.arrive(part.start, at.space);
                counts.add(&part, at.space);
            } else {
                self.inner.element(inner, &mut output.inner, at, &Element::Block(part));
            }
        }
        skip(inner, counts, from..block.count);
    }

    fn passed(&self, state: &mut Self::State, source: &Source<'_>, element: &Element) {
        let Of { filter, counts } = self.source(&mut state.of, source.index);
        Filter::pass(filter, element);
        counts.lose();
        self.inner.passed(&mut state.inner, source, element);
    }

    fn end(&self, state: &mut Self::State, output: &mut Self::Output, at: &At<'_>, overflowed: bool) {
        self.inner.end(&mut state.inner, &mut output.inner, at, overflowed);
        if let Some(of) = state.of.take().filter(|_| C::BLOCKS == WantedBlocks::Counted) {
            self.inner.counted(&mut output.inner, of.counts.counts);
        }
    }

    fn merge(&self, into: &mut Self::Output, later: Self::Output) {
        later.counts.iter().for_each(|count| into.count(count));
        self.inner.merge(&mut into.inner, later.inner);
    }

    /// Time, threads and places are followed from element to element.
    fn in_order(&self) -> bool {
        true
    }

    fn needs_all(&self) -> bool {
        !self.filter.window.is_all() || self.inner.needs_all()
    }

    fn is_done(&self, state: &Self::State) -> bool {
        self.inner.is_done(&state.inner)
    }

    fn memory(&self, state: &Self::State) -> usize {
        let counts = state.of.as_ref().map_or(0, |of| of.counts.counts.memory());
        counts + self.inner.memory(&state.inner)
    }

    fn len(&self, output: &Self::Output) -> usize {
        self.inner.len(&output.inner)
    }

    fn size(&self, output: &Self::Output) -> usize {
        self.inner.size(&output.inner)
    }

    fn clear(&self, output: &mut Self::Output) {
        self.inner.clear(&mut output.inner);
    }
}
