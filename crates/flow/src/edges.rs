//! Where indirect branches went.

use tracewright_core::{Isa, MemorySpace};

use crate::NodeId;

/// An open hash table that only grows: for a branch and an address, the node there and how often it went there.
#[derive(Clone, Debug)]
pub(crate) struct Edges {
    /// A power of two of them, at most half of them used.
    slots: Vec<Edge>,
    /// 64 minus the power.
    shift: u32,
    len: usize,
}

/// An indirect branch that went somewhere.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    address: u64,
    /// Instruction set and space there.
    kind: u32,
    /// The node that ends with the branch.
    pub from: NodeId,
    /// The node where it went.
    pub to: NodeId,
    /// How often.
    pub count: u64,
}

const EMPTY: Edge = Edge { address: 0, kind: 0, from: NodeId::NONE, to: NodeId::NONE, count: 0 };
const START_BITS: u32 = 10;

impl Edges {
    pub fn new() -> Self {
        Self { slots: vec![EMPTY; 1 << START_BITS], shift: 64 - START_BITS, len: 0 }
    }

    /// Counts the edge, and returns where it goes, if it is known.
    #[inline(always)]
    pub fn follow(&mut self, from: NodeId, address: u64, isa: Isa, space: MemorySpace) -> Option<NodeId> {
        let slot = self.find(from, address, kind(isa, space));
        let edge = &mut self.slots[slot];
        edge.count += 1;
        edge.to.is_some().then_some(edge.to)
    }

    /// Adds an edge that [`follow`](Self::follow) did not know.
    pub fn insert(&mut self, from: NodeId, address: u64, isa: Isa, space: MemorySpace, to: NodeId) {
        if 2 * (self.len + 1) > self.slots.len() {
            self.grow();
        }
        let kind = kind(isa, space);
        let slot = self.find(from, address, kind);
        self.slots[slot] = Edge { address, kind, from, to, count: 1 };
        self.len += 1;
    }

    pub fn iter(&self) -> impl Iterator<Item = &Edge> {
        self.slots.iter().filter(|edge| edge.to.is_some())
    }

    /// The slot of a key, or the empty one where it belongs.
    #[inline(always)]
    fn find(&self, from: NodeId, address: u64, kind: u32) -> usize {
        let mask = self.slots.len() - 1;
        let key = address ^ u64::from(from.0) << 40 ^ u64::from(kind) << 20;
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize & mask;
        loop {
            let edge = &self.slots[at];
            if edge.address == address && edge.from == from && edge.kind == kind || !edge.to.is_some() {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let bigger = vec![EMPTY; 2 * self.slots.len()];
        let old = std::mem::replace(&mut self.slots, bigger);
        self.shift -= 1;
        for edge in old.into_iter().filter(|edge| edge.to.is_some()) {
            let at = self.find(edge.from, edge.address, edge.kind);
            self.slots[at] = edge;
        }
    }
}

fn kind(isa: Isa, space: MemorySpace) -> u32 {
    (isa as u32) << 8 | u32::from(space.bits())
}
