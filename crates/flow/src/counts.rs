use crate::hash::HashMap;
use tracewright_core::{Block, Element, Ended, MemorySpace};

use crate::edges::{Edge, Edges};
use crate::paths::Paths;
use crate::{Branches, ElementSink, End, Graph, NodeId};

/// A sink that counts how often each block ran and how it ended, and where indirect branches went, without
/// constructing blocks.
///
/// While decoding it counts by graph node. [`finish`](Self::finish) converts the counts to blocks.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    paths: Paths,
    /// Counts by node: not taken, and taken or fallen through.
    nodes: Vec<[u64; 2]>,
    /// Targets of indirect branches, as far as the graph does not count them itself.
    edges: Option<Edges>,
    /// Counts that are not, or no longer, kept by node.
    profile: BlockCounts,
    /// Memory space of blocks that are not nodes.
    space: MemorySpace,
}

/// Execution counts of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockCounts {
    /// Number of times that each block ran.
    pub blocks: HashMap<(Block, MemorySpace), u64>,
    /// Number of times that each indirect branch went to each target. Jumps whose target is in the instruction before
    /// ([`Flow::Pair`]) may be missing: [`pair_target`](crate::pair_target) returns it.
    ///
    /// [`Flow::Pair`]: tracewright_core::Flow::Pair
    pub indirect: HashMap<(Where, Where), u64>,
}

/// An address in a memory space.
pub type Where = (u64, MemorySpace);

impl BlockCounts {
    /// Returns the memory of its tables in bytes.
    pub fn memory(&self) -> usize {
        // A slot of a hash table has one more byte.
        let block = size_of::<((Block, MemorySpace), u64)>() + 1;
        let edge = size_of::<((Where, Where), u64)>() + 1;
        self.blocks.capacity() * block + self.indirect.capacity() * edge
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: Self) {
        if self.blocks.is_empty() && self.indirect.is_empty() {
            *self = other;
            return;
        }
        other.blocks.into_iter().for_each(|(block, count)| *self.blocks.entry(block).or_default() += count);
        for (branch, count) in other.indirect {
            *self.indirect.entry(branch).or_default() += count;
        }
    }
}

impl Counts {
    /// Creates a sink that has counted nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the counts by block. `graph` must be the one in which they were counted.
    pub fn finish(mut self, graph: &Graph<'_>) -> BlockCounts {
        self.forget(graph);
        self.profile
    }

    /// Returns the memory in bytes of the tables that grow with what is counted.
    pub fn memory(&self) -> usize {
        let nodes = self.nodes.capacity() * size_of::<[u64; 2]>();
        nodes + self.edges.as_ref().map_or(0, Edges::memory) + self.profile.memory()
    }

    /// Sets the memory space of blocks that are not nodes.
    pub fn set_space(&mut self, space: MemorySpace) {
        self.space = space;
    }

    /// Adds the counts that `other` made in the same graph since its edges were last absorbed or discarded, and
    /// clears `other`.
    pub fn absorb(&mut self, other: &mut Self, graph: &mut Graph<'_>) {
        let nodes = &mut other.nodes;
        let mut count = |id: NodeId, taken: bool, count: u64| nodes[id.index()][usize::from(taken)] += count;
        other.paths.settle(graph, &mut count);
        if self.nodes.len() < other.nodes.len() {
            self.nodes.resize(other.nodes.len(), [0; 2]);
        }
        for (to, from) in self.nodes.iter_mut().zip(&mut other.nodes) {
            to[0] += from[0];
            to[1] += from[1];
            *from = [0; 2];
        }
        let edges = graph.take_edges();
        match &mut self.edges {
            Some(known) => edges.iter().for_each(|edge| known.add(edge)),
            None if edges.is_empty() => {}
            None => self.edges = Some(edges),
        }
        self.profile.merge(std::mem::take(&mut other.profile));
    }

    /// Discards all counts, and the edges that the graph has counted.
    pub fn discard(&mut self, graph: &mut Graph<'_>) {
        graph.take_edges();
        self.paths.reset();
        self.nodes.fill([0; 2]);
        self.profile = BlockCounts::default();
    }

    /// Converts counts by node to counts by block, except for those of the graph itself.
    pub fn settle(&mut self, graph: &Graph<'_>) {
        let nodes = &mut self.nodes;
        let mut count = |id: NodeId, taken: bool, count: u64| nodes[id.index()][usize::from(taken)] += count;
        self.paths.forget(graph, &mut count);
        for (id, counts) in self.nodes.drain(..).enumerate() {
            let node = graph.node(NodeId(id as u32));
            for (taken, count) in [false, true].into_iter().zip(counts).filter(|&(_, count)| count > 0) {
                let block = (node.block(node.ended(taken)), node.space());
                *self.profile.blocks.entry(block).or_default() += count;
            }
        }
        if let Some(edges) = self.edges.take() {
            edges.iter().for_each(|edge| self.add_edge(graph, edge));
        }
    }

    fn add_edge(&mut self, graph: &Graph<'_>, edge: &Edge) {
        let (from, to) = (graph.node(edge.from), graph.node(edge.to));
        let branch = (from.block(Ended::Taken).last(), from.space());
        *self.profile.indirect.entry((branch, (to.start(), to.space()))).or_default() += edge.count;
    }

    /// Counts a block that is not a node.
    #[inline(never)]
    fn part(&mut self, block: &Block) {
        *self.profile.blocks.entry((*block, self.space)).or_default() += 1;
    }

    #[cold]
    fn grow(&mut self, graph: &Graph<'_>) {
        self.nodes.resize(graph.len(), [0; 2]);
    }
}

impl ElementSink for Counts {
    #[inline(always)]
    fn element(&mut self, _: u64, element: &Element) {
        match element {
            Element::Block(block) => self.part(block),
            // The privilege levels of RISC-V are not memory spaces.
            Element::Context(context, isa) if isa.is_arm() => self.space = context.space(),
            _ => {}
        }
    }

    fn went(&mut self, _: u64, from: u64, to: u64) {
        *self.profile.indirect.entry(((from, self.space), (to, self.space))).or_default() += 1;
    }

    #[inline(always)]
    fn node(&mut self, _: u64, graph: &Graph<'_>, id: NodeId, taken: bool) {
        if id.index() >= self.nodes.len() {
            self.grow(graph);
        }
        self.nodes[id.index()][usize::from(taken)] += 1;
    }

    const FOLLOWS: bool = true;

    #[inline(always)]
    fn follow(&mut self, start: NodeId, code: u32) -> Option<End> {
        self.paths.follow(start, code)
    }

    #[inline(always)]
    fn learn(&mut self, graph: &Graph<'_>, start: NodeId, code: u32, branches: Branches, end: End) {
        // All nodes of a path were counted once, so each has an entry.
        let nodes = &mut self.nodes;
        let mut count = |id: NodeId, taken: bool, count: u64| nodes[id.index()][usize::from(taken)] += count;
        self.paths.learn(graph, start, code, branches, end, &mut count);
    }

    fn forget(&mut self, graph: &Graph<'_>) {
        let counted = graph.edges().copied().collect::<Vec<_>>();
        self.settle(graph);
        counted.iter().for_each(|edge| self.add_edge(graph, edge));
    }
}
