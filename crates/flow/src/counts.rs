use std::collections::HashMap;

use tracewright_core::{Block, Element, Ended, MemorySpace};

use crate::edges::{Edge, Edges};
use crate::paths::Paths;
use crate::{Branches, End, Graph, NodeId, Sink};

/// How often each block ran and how it ended, and where indirect branches went: a profile, made without making any block.
///
/// While decoding it counts by node. [`finish`](Self::finish) turns that into blocks.
#[derive(Clone, Debug)]
pub struct Counts {
    paths: Paths,
    /// By node: not taken, and taken or through.
    nodes: Vec<[u64; 2]>,
    /// Where indirect branches went, as far as the graph does not count it itself.
    edges: Option<Edges>,
    /// What is not, or no longer, counted by node.
    profile: Profile,
    /// Where blocks are that are told as such.
    space: MemorySpace,
}

/// A profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// How often each block ran.
    pub blocks: HashMap<(Block, MemorySpace), u64>,
    /// How often each indirect branch went where. Jumps whose target the instruction before tells ([`Flow::Pair`]) may be missing:
    /// [`pair_target`](crate::pair_target) returns it.
    ///
    /// [`Flow::Pair`]: tracewright_core::Flow::Pair
    pub indirect: HashMap<(Where, Where), u64>,
}

/// An address in a memory space.
pub type Where = (u64, MemorySpace);

impl Profile {
    /// Bytes of its tables.
    pub fn memory(&self) -> usize {
        // A slot of a hash table has a byte beside it.
        let block = size_of::<((Block, MemorySpace), u64)>() + 1;
        let edge = size_of::<((Where, Where), u64)>() + 1;
        self.blocks.capacity() * block + self.indirect.capacity() * edge
    }

    /// Adds another.
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
    /// Nothing counted yet.
    pub fn new() -> Self {
        let (profile, space) = (Profile::default(), MemorySpace::ANY);
        Self { paths: Paths::new(), nodes: Vec::new(), edges: None, profile, space }
    }

    /// The profile. `graph` is the one that was counted in.
    pub fn finish(mut self, graph: &Graph<'_>) -> Profile {
        self.forget(graph);
        self.profile
    }

    /// Bytes of its tables that grow with what was counted.
    pub fn memory(&self) -> usize {
        let nodes = self.nodes.capacity() * size_of::<[u64; 2]>();
        nodes + self.edges.as_ref().map_or(0, Edges::memory) + self.profile.memory()
    }

    /// Blocks that are told as such are here from now on.
    pub fn set_space(&mut self, space: MemorySpace) {
        self.space = space;
    }

    /// Adds what was counted in the same graph since its edges were last absorbed or discarded; nothing is left there.
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

    /// Forgets all, and what the graph has counted of edges.
    pub fn discard(&mut self, graph: &mut Graph<'_>) {
        graph.take_edges();
        self.paths.reset();
        self.nodes.fill([0; 2]);
        self.profile = Profile::default();
    }

    /// Turns what is counted by node into blocks, but for what the graph itself has counted.
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
            edges.iter().for_each(|edge| self.went(graph, edge));
        }
    }

    fn went(&mut self, graph: &Graph<'_>, edge: &Edge) {
        let (from, to) = (graph.node(edge.from), graph.node(edge.to));
        let branch = (from.block(Ended::Taken).last(), from.space());
        *self.profile.indirect.entry((branch, (to.start(), to.space()))).or_default() += edge.count;
    }

    #[cold]
    fn grow(&mut self, graph: &Graph<'_>) {
        self.nodes.resize(graph.len(), [0; 2]);
    }
}

impl Sink for Counts {
    fn element(&mut self, _: u64, element: &Element) {
        match element {
            Element::Block(block) => *self.profile.blocks.entry((*block, self.space)).or_default() += 1,
            // RISC-V's privileges are no memory spaces.
            Element::Context(context, isa) if isa.is_arm() => self.space = context.space(),
            _ => {}
        }
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
        // All nodes of a path have been counted once, so that there is a place for each.
        let nodes = &mut self.nodes;
        let mut count = |id: NodeId, taken: bool, count: u64| nodes[id.index()][usize::from(taken)] += count;
        self.paths.learn(graph, start, code, branches, end, &mut count);
    }

    fn forget(&mut self, graph: &Graph<'_>) {
        let counted = graph.edges().copied().collect::<Vec<_>>();
        self.settle(graph);
        counted.iter().for_each(|edge| self.went(graph, edge));
    }
}

impl Default for Counts {
    fn default() -> Self {
        Self::new()
    }
}
