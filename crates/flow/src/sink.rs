use tracewright_core::{Block, Element};

use crate::{Branches, End, Graph, NodeId};

/// A consumer of a decoder's elements. Each element comes with the stream position of its packet.
///
/// A closure over elements is a sink. A sink that only counts can do so by graph node, without blocks being
/// constructed.
pub trait ElementSink {
    /// Accepts any element, including blocks unless [`block`](Self::block) or [`node`](Self::node) accept them.
    fn element(&mut self, offset: u64, element: &Element);

    /// Accepts a block.
    #[inline]
    fn block(&mut self, offset: u64, block: &Block) {
        self.element(offset, &Element::Block(*block));
    }

    /// Accepts that the indirect branch at address `from` went to `to`. Only decoders whose blocks are no nodes call it: the graph
    /// counts the targets of nodes.
    #[inline(always)]
    fn went(&mut self, _offset: u64, _from: u64, _to: u64) {}

    /// Accepts a block as a node of the graph, and whether its last instruction was taken.
    #[inline(always)]
    fn node(&mut self, offset: u64, graph: &Graph<'_>, id: NodeId, taken: bool) {
        let node = graph.node(id);
        self.block(offset, &node.block(node.ended(taken)));
    }

    /// Whether the sink counts by node, or passes nodes on to a sink that does. Then [`follow`](Self::follow) may do
    /// something, and the graph counts the targets of returns that the trace omits.
    const FOLLOWS: bool = false;

    /// Counts several branches from node `start` on at once, if the sink has learnt them before. Returns where they
    /// lead. `code` identifies the branches, and has a meaning only for the decoder.
    #[inline(always)]
    fn follow(&mut self, _start: NodeId, _code: u32) -> Option<End> {
        None
    }

    /// Learns that the branches that were just passed one by one lead from `start` to `end`. `code` will identify
    /// them.
    #[inline(always)]
    fn learn(&mut self, _graph: &Graph<'_>, _start: NodeId, _code: u32, _branches: Branches, _end: End) {}

    /// Returns whether the sink accepts nothing more. A packet may stand for billions of branches: following them
    /// then stops early.
    #[inline(always)]
    fn is_full(&self) -> bool {
        false
    }

    /// Prepares for the graph being emptied: the numbers of its nodes lose their meaning.
    fn forget(&mut self, _graph: &Graph<'_>) {}
}

impl<F: FnMut(u64, &Element)> ElementSink for F {
    fn element(&mut self, offset: u64, element: &Element) {
        self(offset, element);
    }
}
