use tracewright_core::{Element, MemorySpace};
use tracewright_flow as flow;
use tracewright_image::Image;

use crate::place::Place;
use crate::source::Source;

/// What takes the elements of a buffer's sources, and makes a result of them.
///
/// Parts of a stream are decoded side by side. Each gives an output of its own, and outputs are joined in order. What has an order
/// of its own, text for one, is taken piece by piece, sorted by where packets end in the file (`take` of
/// [`Engine::decode`](crate::Engine::decode)); the rest is merged, and comes back with [`Decoded`](crate::Decoded).
pub trait Consumer: Sync {
    /// Which blocks it wants.
    const BLOCKS: Blocks = Blocks::Each;
    /// What it keeps from one element of a source to the next. See [`in_order`](Self::in_order).
    type State: Default + Send + Sync;
    /// What it makes of a part of the trace.
    type Output: Default + Send + Sync;

    /// Takes an element.
    fn element(&self, state: &mut Self::State, output: &mut Self::Output, at: &At<'_>, element: &Element);

    /// Takes note of an element outside the range that is asked for.
    fn passed(&self, _state: &mut Self::State, _source: &Source<'_>, _element: &Element) {}

    /// A source's trace ends, after an overflow or not.
    fn end(&self, _state: &mut Self::State, _output: &mut Self::Output, _at: &At<'_>, _overflowed: bool) {}

    /// How often each block of a source ran, with [`Blocks::Counted`]. Several decoders of a source are told one after another.
    fn counted(&self, _output: &mut Self::Output, _counts: flow::BlockCounts) {}

    /// Adds what a later part gave, or another source. It is associative.
    fn merge(&self, _into: &mut Self::Output, _later: Self::Output) {}

    /// Whether the state matters: elements of a source come in order, on one thread.
    fn in_order(&self) -> bool {
        false
    }

    /// Whether it needs all elements from the beginning on, though a part is asked for: [`passed`](Self::passed) gets the others.
    fn needs_all(&self) -> bool {
        false
    }

    /// Whether it wants no more of a source.
    fn is_done(&self, _state: &Self::State) -> bool {
        false
    }

    /// Bytes of the tables that grow with what the trace tells of a source. Decoding it stops where they are too large.
    fn memory(&self, _state: &Self::State) -> usize {
        0
    }

    /// How much of an output is to be taken in order: bytes of text, or items.
    fn len(&self, _output: &Self::Output) -> usize {
        0
    }

    /// The bytes of that.
    fn size(&self, output: &Self::Output) -> usize {
        self.len(output)
    }

    /// Empties an output that was taken.
    fn clear(&self, output: &mut Self::Output) {
        *output = Self::Output::default();
    }
}

/// Which blocks a consumer wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// Each, as an element.
    Each,
    /// How often each ran ([`Consumer::counted`]): by node, without any being made.
    Counted,
    /// None but the sum of them in the [`Tally`](crate::Tally), unless there is a limit of instructions or a range.
    Summed,
}

/// Where an element is.
#[derive(Debug)]
pub struct At<'a> {
    /// Whose it is.
    pub source: &'a Source<'a>,
    /// Where the packet began that told it.
    pub place: Place,
    /// Where its code is.
    pub space: MemorySpace,
    /// The program.
    pub image: &'a Image,
}
