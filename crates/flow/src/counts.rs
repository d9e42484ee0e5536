use std::collections::HashMap;

use tracewright_core::{Block, Element, Ended};

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
    /// What is not, or no longer, counted by node.
    blocks: HashMap<Block, u64>,
    indirect: HashMap<(u64, u64), u64>,
}

/// A profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// How often each block ran.
    pub blocks: HashMap<Block, u64>,
    /// How often each indirect branch (its address) went where.
    pub indirect: HashMap<(u64, u64), u64>,
}

impl Counts {
    /// Nothing counted yet.
    pub fn new() -> Self {
        Self { paths: Paths::new(), nodes: Vec::new(), blocks: HashMap::new(), indirect: HashMap::new() }
    }

    /// The profile. `graph` is the one that was counted in.
    pub fn finish(mut self, graph: &Graph<'_>) -> Profile {
        self.forget(graph);
        Profile { blocks: self.blocks, indirect: self.indirect }
    }

    #[cold]
    fn grow(&mut self, graph: &Graph<'_>) {
        self.nodes.resize(graph.len(), [0; 2]);
    }
}

impl Sink for Counts {
    fn element(&mut self, _: u64, element: &Element) {
        if let Element::Block(block) = element {
            *self.blocks.entry(*block).or_default() += 1;
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
        let nodes = &mut self.nodes;
        let mut count = |id: NodeId, taken: bool, count: u64| nodes[id.index()][usize::from(taken)] += count;
        self.paths.forget(graph, &mut count);
        for (id, counts) in self.nodes.drain(..).enumerate() {
            let node = graph.node(NodeId(id as u32));
            for (taken, count) in [false, true].into_iter().zip(counts).filter(|&(_, count)| count > 0) {
                *self.blocks.entry(node.block(node.ended(taken))).or_default() += count;
            }
        }
        for edge in graph.edges() {
            let branch = graph.node(edge.from).block(Ended::Taken).last();
            *self.indirect.entry((branch, graph.node(edge.to).start())).or_default() += edge.count;
        }
    }
}

impl Default for Counts {
    fn default() -> Self {
        Self::new()
    }
}
