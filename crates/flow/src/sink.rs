use tracewright_core::{Block, Element};

use crate::{Branches, End, Graph, NodeId};

/// What takes a decoder's elements. Each comes with the stream position of the packet that told it.
///
/// A closure over elements is one. A sink that only counts can do so by node, without any block being made.
pub trait Sink {
    /// Anything; blocks too unless they are taken otherwise.
    fn element(&mut self, offset: u64, element: &Element);

    /// A block.
    #[inline]
    fn block(&mut self, offset: u64, block: &Block) {
        self.element(offset, &Element::Block(*block));
    }

    /// A block, as a node of the graph, and whether its last instruction was taken.
    #[inline(always)]
    fn node(&mut self, offset: u64, graph: &Graph<'_>, id: NodeId, taken: bool) {
        let node = graph.node(id);
        self.block(offset, &node.block(node.ended(taken)));
    }

    /// Whether it counts by node, or passes nodes on to a sink that does: [`follow`](Self::follow) may do something then, and the graph
    /// counts where returns went that the trace leaves out.
    const FOLLOWS: bool = false;

    /// Several branches from node `start` on at once, if it has seen them before and can count them so; returns where they
    /// lead. `code` stands for them: what it means is the decoder's affair.
    #[inline(always)]
    fn follow(&mut self, _start: NodeId, _code: u32) -> Option<End> {
        None
    }

    /// Branches that were just told one by one lead from `start` to `end`; `code` will stand for them.
    #[inline(always)]
    fn learn(&mut self, _graph: &Graph<'_>, _start: NodeId, _code: u32, _branches: Branches, _end: End) {}

    /// Returns whether it takes nothing more. A packet may tell of billions of branches: following them stops early then.
    #[inline(always)]
    fn is_full(&self) -> bool {
        false
    }

    /// The graph is about to be emptied: the numbers of its nodes lose their meaning.
    fn forget(&mut self, _graph: &Graph<'_>) {}
}

impl<F: FnMut(u64, &Element)> Sink for F {
    fn element(&mut self, offset: u64, element: &Element) {
        self(offset, element);
    }
}
