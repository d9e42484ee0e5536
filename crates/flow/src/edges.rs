//! Counts of the targets of indirect branches.

use crate::NodeId;

/// An open hash table, which only grows, of how often a branch went to a node.
#[derive(Clone, Debug)]
pub(crate) struct Edges {
    /// Slots: a power of two, at most half of them used.
    slots: Vec<Edge>,
    /// 64 minus the base-2 logarithm of the number of slots.
    shift: u32,
    len: usize,
}

/// The number of times that an indirect branch went to one target.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// Node that ends with the branch.
    pub from: NodeId,
    /// Node at the target.
    pub to: NodeId,
    /// Number of times.
    pub count: u64,
}

const EMPTY: Edge = Edge { from: NodeId::NONE, to: NodeId::NONE, count: 0 };
const START_BITS: u32 = 10;

impl Edges {
    pub fn new() -> Self {
        Self { slots: vec![EMPTY; 1 << START_BITS], shift: 64 - START_BITS, len: 0 }
    }

    /// Creates a table without memory.
    pub fn none() -> Self {
        Self { slots: vec![EMPTY; 2], shift: 63, len: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn memory(&self) -> usize {
        self.slots.len() * size_of::<Edge>()
    }

    /// Counts the edge.
    #[inline(always)]
    pub fn count(&mut self, from: NodeId, to: NodeId) {
        let slot = self.find(from, to);
        let edge = &mut self.slots[slot];
        edge.count += 1;
        if edge.count == 1 {
            self.insert(from, to);
        }
    }

    /// Adds an edge at its first count.
    #[cold]
    fn insert(&mut self, from: NodeId, to: NodeId) {
        let slot = self.find(from, to);
        self.slots[slot] = Edge { from, to, count: 1 };
        self.len += 1;
        if 2 * self.len > self.slots.len() {
            self.grow();
        }
    }

    /// Adds the count of an edge from another table.
    pub fn add(&mut self, edge: &Edge) {
        if edge.count == 0 {
            return;
        }
        self.count(edge.from, edge.to);
        let slot = self.find(edge.from, edge.to);
        self.slots[slot].count += edge.count - 1;
    }

    pub fn iter(&self) -> impl Iterator<Item = &Edge> {
        self.slots.iter().filter(|edge| edge.count > 0)
    }

    /// Returns the slot of an edge, or the empty one where it belongs.
    #[inline(always)]
    fn find(&self, from: NodeId, to: NodeId) -> usize {
        let mask = self.slots.len() - 1;
        let key = u64::from(from.0) << 32 | u64::from(to.0);
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize & mask;
        loop {
            let edge = &self.slots[at];
            if edge.from == from && edge.to == to || !edge.from.is_some() {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let bigger = vec![EMPTY; 2 * self.slots.len()];
        let old = std::mem::replace(&mut self.slots, bigger);
        self.shift -= 1;
        for edge in old.into_iter().filter(|edge| edge.count > 0) {
            let at = self.find(edge.from, edge.to);
            self.slots[at] = edge;
        }
    }
}
