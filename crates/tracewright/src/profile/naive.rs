//! Elements counted one by one: the naive twin of [`BlockCounter`](super::BlockCounter).

use tracewright_core::{Block, Element, Ended, MemorySpace};
use tracewright_engine::{At, Consumer};
use tracewright_flow::hash::HashMap;
use tracewright_profile::{Code, Profile};

use super::counted::Locator;

/// Counts blocks and branches one by one.
pub struct Gather;

/// What is counted of a source.
#[derive(Default)]
pub struct State {
    blocks: HashMap<(Block, MemorySpace), u64>,
    branches: HashMap<(u64, MemorySpace, u64, MemorySpace), u64>,
    /// The branch that was taken last, until the next element shows where it went.
    taken: Option<(u64, MemorySpace)>,
}

impl State {
    fn went(&mut self, to: u64, space: MemorySpace) {
        if let Some((from, from_space)) = self.taken.take() {
            *self.branches.entry((from, from_space, to, space)).or_default() += 1;
        }
    }
}

impl Consumer for Gather {
    type State = State;
    type Output = Profile;

    fn element(&self, state: &mut State, _: &mut Profile, at: &At<'_>, element: &Element) {
        match element {
            Element::Block(block) => {
                state.went(block.start, at.space);
                *state.blocks.entry((*block, at.space)).or_default() += 1;
                state.taken = (block.ended == Ended::Taken).then(|| (block.last(), at.space));
            }
            // What an exception keeps from running is not where a branch went.
            Element::UnknownPath { .. }
            | Element::TraceOn(_)
            | Element::Exception(_)
            | Element::NoCode { .. }
            | Element::Mismatch(_)
            | Element::Lost(_)
            | Element::Gap { .. } => state.taken = None,
            _ => {}
        }
    }

    fn end(&self, state: &mut State, of: &mut Profile, at: &At<'_>, _overflowed: bool) {
        let State { blocks, branches, .. } = std::mem::take(state);
        let mut places = Locator::new(at.image);
        let mut blocks: Vec<_> = blocks.into_iter().collect();
        blocks.sort_unstable_by_key(|((block, space), _)| {
            (space.process(), space.bits(), block.start, block.count)
        });
        for ((block, space), count) in blocks {
            let code = Code::of(&block, places.of(of, block.start, space));
            of.funnel.instructions += u64::from(block.count) * count;
            of.blocks.entry(code).or_default().add(block.ended, count);
        }
        for ((from, from_space, to, to_space), count) in branches {
            let (from, to) = (places.of(of, from, from_space), places.of(of, to, to_space));
            *of.branches.entry((from, to)).or_default() += count;
        }
    }

    fn merge(&self, into: &mut Profile, later: Profile) {
        into.merge(&later);
    }

    fn in_order(&self) -> bool {
        true
    }
}
