use std::collections::HashMap;

use tracewright_core::{Block, Element, Ended};

use crate::{Graph, NodeId, Sink};

/// How often each block ran and how it ended, and where indirect branches went: a profile, made without making any block.
///
/// While decoding it counts by node. [`finish`](Self::finish) turns that into blocks.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// By node: not taken, and taken or through.
    nodes: Vec<[u64; 2]>,
    edges: Edges,
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
        Self::default()
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

    #[inline(always)]
    fn went(&mut self, from: NodeId, to: NodeId) {
        self.edges.add(from, to);
    }

    fn forget(&mut self, graph: &Graph<'_>) {
        for (id, counts) in self.nodes.drain(..).enumerate() {
            let node = graph.node(NodeId(id as u32));
            for (taken, count) in [false, true].into_iter().zip(counts).filter(|&(_, count)| count > 0) {
                *self.blocks.entry(node.block(node.ended(taken))).or_default() += count;
            }
        }
        for (from, to, count) in self.edges.drain() {
            let branch = graph.node(from).block(Ended::Taken).last();
            *self.indirect.entry((branch, graph.node(to).start())).or_default() += count;
        }
    }
}

/// Pairs of nodes with a count: an open hash table.
#[derive(Clone, Debug, Default)]
struct Edges {
    /// A power of two of them, at most half of them used; a count of 0 is an empty one.
    slots: Vec<(NodeId, NodeId, u64)>,
    len: usize,
}

impl Edges {
    #[inline(always)]
    fn add(&mut self, from: NodeId, to: NodeId) {
        if 2 * self.len >= self.slots.len() {
            self.grow();
        }
        let slot = self.find(from, to);
        let (_, _, count) = &mut self.slots[slot];
        *count += 1;
        if *count == 1 {
            self.slots[slot] = (from, to, 1);
            self.len += 1;
        }
    }

    #[inline(always)]
    fn find(&self, from: NodeId, to: NodeId) -> usize {
        let mask = self.slots.len() - 1;
        let key = u64::from(from.0) << 32 | u64::from(to.0);
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        loop {
            let (from_here, to_here, count) = self.slots[at];
            if (from_here, to_here) == (from, to) || count == 0 {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let len = (2 * self.slots.len()).max(1 << 10);
        let old = std::mem::replace(&mut self.slots, vec![(NodeId::NONE, NodeId::NONE, 0); len]);
        for slot in old.into_iter().filter(|&(_, _, count)| count > 0) {
            let at = self.find(slot.0, slot.1);
            self.slots[at] = slot;
        }
    }

    fn drain(&mut self) -> impl Iterator<Item = (NodeId, NodeId, u64)> + use<> {
        self.len = 0;
        std::mem::take(&mut self.slots).into_iter().filter(|&(_, _, count)| count > 0)
    }
}
