//! Sinks of decoders. They pass elements on in batches, so that a protocol is compiled for the three kinds of sink here and not for
//! each consumer.

use std::ops::ControlFlow;

use tracewright_core::{Block, Context, Element, Isa, MemorySpace};
use tracewright_flow::{BlockCounts, Branches, Counts, ElementSink, End, Graph, NodeId};
use tracewright_image::{Image, Moment};

use crate::limits::Range;
use crate::place::Places;
use crate::tally::Reason;

/// Items of a batch: few enough to stay in a core's own cache.
const BATCH: usize = 256;

/// An item that a stream reports, in order.
#[derive(Clone, Copy, Debug)]
pub enum Item {
    /// An element, with the stream position of the packet that reported it.
    Element(u64, Element),
    /// The end of a packet: positions of its first and last byte.
    Packet { start: u64, last: u64 },
    /// The start of a gap that has not ended.
    Gap(u64),
    /// The start of bytes that are skipped.
    Skipped(u64),
    /// Some skipped bytes were not zero.
    PassedOver,
    /// The point from which on this segment counts, and the memory space there.
    Began(MemorySpace),
    /// Sums of blocks and instructions.
    Ran { blocks: u64, instructions: u64 },
    /// Bytes that are not a packet.
    Malformed(u64, Reason),
    /// A synchronisation packet, and its address if no image has it.
    Synchronised(u64, Option<u64>),
    /// A packet of another source: its number, and the packet's bytes.
    Stranger(u16, usize),
}

/// Items on their way to a consumer.
pub struct Batch<'b> {
    items: &'b mut Vec<Item>,
    deliver: &'b mut dyn FnMut(&[Item]) -> ControlFlow<()>,
    /// No more items are wanted.
    is_stopped: bool,
    /// An item was pushed since the last packet ended.
    is_open: bool,
    /// Start of the gap that was reported last.
    gap: Option<u64>,
}

impl<'b> Batch<'b> {
    pub(crate) fn new(
        items: &'b mut Vec<Item>,
        is_stopped: bool,
        deliver: &'b mut dyn FnMut(&[Item]) -> ControlFlow<()>,
    ) -> Self {
        items.clear();
        Self { items, deliver, is_stopped, is_open: false, gap: None }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, item: Item) {
        if self.items.len() == BATCH {
            self.flush();
        }
        self.items.push(item);
        self.is_open = true;
    }

    /// Delivers all items.
    #[inline(never)]
    pub(crate) fn flush(&mut self) {
        if !self.is_stopped && !self.items.is_empty() {
            self.is_stopped = (self.deliver)(self.items).is_break();
        }
        self.items.clear();
    }

    /// Ends a packet.
    #[inline(always)]
    pub(crate) fn packet(&mut self, start: u64, last: u64) {
        if self.is_open {
            self.push(Item::Packet { start, last });
            self.is_open = false;
        }
    }

    /// Reports the start of a gap that has not ended.
    pub(crate) fn gap(&mut self, from: u64) {
        if self.gap != Some(from) {
            self.gap = Some(from);
            self.push(Item::Gap(from));
        }
    }

    /// Reports bytes that are skipped from `position` on.
    pub(crate) fn skipped(&mut self, position: u64, are_zero: bool) {
        self.gap = None;
        if !are_zero {
            self.push(Item::PassedOver);
        }
        self.push(Item::Skipped(position));
    }

    /// Reports bytes that are not a packet.
    pub(crate) fn malformed(&mut self, position: u64, why: Reason) {
        self.push(Item::Malformed(position, why));
    }

    /// Reports a packet of another source.
    pub(crate) fn stranger(&mut self, id: u16, len: usize) {
        self.push(Item::Stranger(id, len));
    }

    /// Reports a synchronisation packet with an address.
    pub(crate) fn synchronised(&mut self, position: u64, address: u64, is_known: bool) {
        self.push(Item::Synchronised(position, (!is_known).then_some(address)));
    }

    /// Starts counting: another segment reports everything before.
    fn begin(&mut self, space: MemorySpace) {
        self.push(Item::Began(space));
    }
}

impl std::fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("items", &self.items.len()).finish_non_exhaustive()
    }
}

/// A sink for one kind of consumer.
pub trait Mode: ElementSink {
    /// Whether blocks are only counted.
    const COUNTS: bool = false;
    /// Lends the batch, for items that are not blocks.
    #[doc(hidden)]
    fn with<R>(&mut self, f: impl FnOnce(&mut Batch<'_>) -> R) -> R;
    /// Returns whether no more items are wanted.
    #[doc(hidden)]
    fn is_stopped(&self) -> bool;
    /// Starts counting: another segment reports everything before. Code is in `space` now.
    #[doc(hidden)]
    fn begin(&mut self, graph: &mut Graph<'_>, space: MemorySpace);
}

/// A sink that passes each block on.
pub(crate) struct Each<'b>(pub Batch<'b>);

impl ElementSink for Each<'_> {
    #[inline(always)]
    fn element(&mut self, offset: u64, element: &Element) {
        self.0.push(Item::Element(offset, *element));
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.0.is_stopped
    }
}

impl Mode for Each<'_> {
    #[inline(always)]
    fn with<R>(&mut self, f: impl FnOnce(&mut Batch<'_>) -> R) -> R {
        f(&mut self.0)
    }

    #[inline(always)]
    fn is_stopped(&self) -> bool {
        self.0.is_stopped
    }

    fn begin(&mut self, _: &mut Graph<'_>, space: MemorySpace) {
        self.0.begin(space);
    }
}

/// A sink that sums up blocks and instructions.
pub(crate) struct Summing<'b> {
    pub batch: Batch<'b>,
    pub blocks: u64,
    pub instructions: u64,
}

impl Summing<'_> {
    #[inline(always)]
    fn add(&mut self, instructions: u32) {
        self.blocks += 1;
        self.instructions += u64::from(instructions);
    }

    /// Reports the sums.
    pub fn finish(&mut self) {
        let (blocks, instructions) =
            (std::mem::take(&mut self.blocks), std::mem::take(&mut self.instructions));
        if blocks > 0 {
            self.batch.push(Item::Ran { blocks, instructions });
        }
    }
}

impl ElementSink for Summing<'_> {
    fn element(&mut self, offset: u64, element: &Element) {
        match element {
            Element::Block(block) => self.add(block.count),
            _ => self.batch.push(Item::Element(offset, *element)),
        }
    }

    #[inline(always)]
    fn block(&mut self, _: u64, block: &Block) {
        self.add(block.count);
    }

    #[inline(always)]
    fn node(&mut self, _: u64, graph: &Graph<'_>, id: NodeId, _: bool) {
        self.add(graph.node(id).count());
    }
}

impl Mode for Summing<'_> {
    #[inline(always)]
    fn with<R>(&mut self, f: impl FnOnce(&mut Batch<'_>) -> R) -> R {
        f(&mut self.batch)
    }

    #[inline(always)]
    fn is_stopped(&self) -> bool {
        self.batch.is_stopped
    }

    fn begin(&mut self, _: &mut Graph<'_>, space: MemorySpace) {
        (self.blocks, self.instructions) = (0, 0);
        self.batch.begin(space);
    }
}

/// A sink that counts blocks by node.
pub(crate) struct Counting<'b> {
    pub batch: Batch<'b>,
    pub counted: &'b mut Counted,
    pub space: MemorySpace,
    pub image: &'b Image,
    pub moment: Moment,
    pub places: &'b Places,
    pub cursor: usize,
    pub range: Range,
}

impl Counting<'_> {
    /// Returns whether a packet at `offset` is in the range.
    #[inline(always)]
    fn wants(&mut self, offset: u64) -> bool {
        self.range.is_all() || {
            let place = self.places.of(offset, &mut self.cursor).map_or(offset, |place| place.offset);
            self.range.from <= place && place < self.range.to
        }
    }
}

impl ElementSink for Counting<'_> {
    fn element(&mut self, offset: u64, element: &Element) {
        match element {
            Element::Block(block) => return self.block(offset, block),
            Element::Context(context, isa) => {
                self.space = space_of(self.image, context, *isa, &self.moment);
            }
            _ => {}
        }
        self.batch.push(Item::Element(offset, *element));
    }

    #[inline(always)]
    fn block(&mut self, offset: u64, block: &Block) {
        if self.wants(offset) {
            self.counted.now.set_space(self.space);
            self.counted.now.element(offset, &Element::Block(*block));
        }
    }

    #[inline(always)]
    fn went(&mut self, offset: u64, from: u64, to: u64) {
        if self.wants(offset) {
            self.counted.now.set_space(self.space);
            self.counted.now.went(offset, from, to);
        }
    }

    #[inline(always)]
    fn node(&mut self, offset: u64, graph: &Graph<'_>, id: NodeId, taken: bool) {
        if self.wants(offset) {
            self.counted.now.node(offset, graph, id, taken);
        }
    }

    const FOLLOWS: bool = true;

    #[inline(always)]
    fn follow(&mut self, start: NodeId, code: u32) -> Option<End> {
        if self.range.is_all() { self.counted.now.follow(start, code) } else { None }
    }

    #[inline(always)]
    fn learn(&mut self, graph: &Graph<'_>, start: NodeId, code: u32, branches: Branches, end: End) {
        if self.range.is_all() {
            self.counted.now.learn(graph, start, code, branches, end);
        }
    }

    fn forget(&mut self, graph: &Graph<'_>) {
        self.counted.sure.settle(graph);
        self.counted.now.forget(graph);
    }
}

impl Mode for Counting<'_> {
    const COUNTS: bool = true;

    #[inline(always)]
    fn with<R>(&mut self, f: impl FnOnce(&mut Batch<'_>) -> R) -> R {
        f(&mut self.batch)
    }

    #[inline(always)]
    fn is_stopped(&self) -> bool {
        self.batch.is_stopped
    }

    fn begin(&mut self, graph: &mut Graph<'_>, space: MemorySpace) {
        self.space = space;
        self.counted.now.discard(graph);
        self.batch.begin(space);
    }
}

/// Returns the memory space of code in a context.
pub(crate) fn space_of(image: &Image, context: &Context, isa: Isa, moment: &Moment) -> MemorySpace {
    match isa {
        // RISC-V privileges do not distinguish memory spaces.
        Isa::Rv32 | Isa::Rv64 => image.halves(context, isa, moment).of_level(context.level),
        _ => image.space(context, moment),
    }
}

/// Counts by a decoder's nodes.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    /// Counts that are certainly right.
    pub sure: Counts,
    /// Counts that are right if the cold decoder was.
    pub now: Counts,
    /// Whether the cold decoder was right, if that is known.
    pub verdict: Option<Verdict>,
}

/// Whether counts are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Right,
    Wrong,
}

impl Counted {
    /// Applies the verdict. That takes a while, so a segment does it before it continues, in parallel with others.
    pub fn settle(&mut self, graph: &mut Graph<'_>) {
        match self.verdict.take() {
            Some(Verdict::Right) => self.sure.absorb(&mut self.now, graph),
            Some(Verdict::Wrong) => self.now.discard(graph),
            None => {}
        }
    }

    /// Returns the bytes of the counts, without those in the graph.
    pub fn memory(&self) -> usize {
        self.sure.memory() + self.now.memory()
    }

    /// Returns all counts. The verdict must be known.
    pub fn finish(mut self, graph: &mut Graph<'_>) -> BlockCounts {
        self.settle(graph);
        self.sure.finish(graph)
    }
}
