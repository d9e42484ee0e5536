use tracewright_core::{Element, MemorySpace};
use tracewright_flow as flow;
use tracewright_image::{Image, Moment};

use crate::place::Place;
use crate::source::Source;

/// Takes decoded elements and turns them into a typed result.
///
/// Threads decode parts of a stream in parallel. Each part has an output of its own. Output that has an order, such as text, goes to
/// `take` of [`Engine::decode`](crate::Engine::decode) piece by piece, in the order in which packets end in the file. All other
/// output is merged and returned in [`Decoded`](crate::Decoded).
pub trait Consumer: Sync {
    /// Blocks that the consumer wants.
    const BLOCKS: WantedBlocks = WantedBlocks::Each;
    /// State kept from one element of a source to the next. It is kept for the whole source only if [`in_order`](Self::in_order) is true.
    type State: Default + Send + Sync;
    /// Result of a part of the trace. It owns its data: the pipeline moves outputs without knowing their type.
    type Output: Default + Send + Sync + 'static;

    /// Takes an element.
    fn element(&self, state: &mut Self::State, output: &mut Self::Output, at: &At<'_>, element: &Element);

    /// Takes an element outside the requested range.
    fn passed(&self, _state: &mut Self::State, _source: &Source<'_>, _element: &Element) {}

    /// Ends a source. `overflowed` is set if its trace unit had overflowed.
    fn end(&self, _state: &mut Self::State, _output: &mut Self::Output, _at: &At<'_>, _overflowed: bool) {}

    /// Takes how often each block ran, with [`WantedBlocks::Counted`]. It is called once for each decoder of a source.
    fn counted(&self, _output: &mut Self::Output, _counts: flow::BlockCounts) {}

    /// Adds the output of a later part, or of another source. It must be associative.
    fn merge(&self, into: &mut Self::Output, later: Self::Output);

    /// Returns whether the elements of a source must come in order, on one thread.
    fn in_order(&self) -> bool {
        false
    }

    /// Returns whether elements before the requested range are needed, too. [`passed`](Self::passed) takes them.
    fn needs_all(&self) -> bool {
        false
    }

    /// Returns whether no more elements of a source are wanted.
    fn is_done(&self, _state: &Self::State) -> bool {
        false
    }

    /// Returns the memory of tables that grow with a source's trace, in bytes. Decoding stops where it exceeds the limit.
    fn memory(&self, _state: &Self::State) -> usize {
        0
    }

    /// Returns the length of output that has an order: bytes of text, or items.
    fn len(&self, _output: &Self::Output) -> usize {
        0
    }

    /// Returns the memory that this output takes, in bytes.
    fn size(&self, output: &Self::Output) -> usize {
        self.len(output)
    }

    /// Empties an output after it was taken.
    fn clear(&self, output: &mut Self::Output) {
        *output = Self::Output::default();
    }
}

/// Blocks that a consumer wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedBlocks {
    /// Each block, as an element.
    Each,
    /// Counts of blocks ([`Consumer::counted`]), without making any block.
    Counted,
    /// Only their sum, in the [`Tally`](crate::Tally). With a limit of instructions or a range, each block comes as an element.
    Summed,
}

/// Position of an element.
#[derive(Debug)]
pub struct At<'a> {
    /// Source of the element.
    pub source: &'a Source<'a>,
    /// Start of the packet that reported it.
    pub place: Place,
    /// Memory space of its code.
    pub space: MemorySpace,
    /// The program.
    pub image: &'a Image,
    /// When the trace was written, and by which thread, where the capture tells.
    pub moment: Moment,
}
