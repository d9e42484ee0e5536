//! Paths through the graph that were taken before.

use crate::{Graph, Node, NodeId};

/// A cache of where branches lead from a node, with a count: several trace packets with many branches are then one
/// lookup. The counts of the blocks on a path are computed when the path is dropped.
///
/// Each path has one slot, and replaces another path there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paths {
    /// Empty until the first path is learnt.
    slots: Vec<Path>,
    /// Branches of each path. They are separate, so that slots are small, and are needed only to learn or drop a
    /// path.
    branches: Vec<Branches>,
}

#[derive(Clone, Copy, Debug)]
struct Path {
    start: NodeId,
    /// Code of its branches.
    code: u32,
    end: End,
    count: u32,
}

/// Up to 63 branches, each taken or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branches(u64);

/// The end of a path: a node, or (bit 31) the indirect branch at the end of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End(u32);

const INDIRECT: u32 = 1 << 31;
const BITS: u32 = 16;
const EMPTY: Path = Path { start: NodeId::NONE, code: 0, end: End(0), count: 0 };

impl Branches {
    /// The empty sequence.
    // One bit per branch, the first one lowest, and a 1 above them.
    pub const NONE: Self = Self(1);

    /// Appends `count` branches: the bits of `taken`, lowest first. Returns `None` if there are too many.
    #[must_use]
    pub fn then(self, taken: u32, count: u32) -> Option<Self> {
        let len = self.0.ilog2();
        if len + count > 63 {
            return None;
        }
        let more = u64::from(taken) & ((1 << count) - 1) | 1 << count;
        Some(Self(self.0 ^ 1 << len | more << len))
    }
}

impl End {
    pub(crate) fn at(node: NodeId) -> Option<Self> {
        (node.0 < INDIRECT).then_some(Self(node.0))
    }

    pub(crate) fn after(node: NodeId) -> Option<Self> {
        (node.0 < INDIRECT).then_some(Self(node.0 | INDIRECT))
    }

    /// Returns the node, and whether execution left its end for an unknown target.
    #[inline(always)]
    pub(crate) fn node(self) -> (NodeId, bool) {
        (NodeId(self.0 & !INDIRECT), self.0 & INDIRECT != 0)
    }
}

impl Paths {
    /// Returns where the path leads, and counts it, if it is known.
    #[inline(always)]
    pub fn follow(&mut self, start: NodeId, code: u32) -> Option<End> {
        let first = slot(start, code);
        for slot in [first, first ^ 1] {
            let path = self.slots.get_mut(slot)?;
            if path.start == start && path.code == code && path.count < u32::MAX {
                path.count += 1;
                return Some(path.end);
            }
        }
        None
    }

    /// Adds a path, which was counted otherwise this time. Passes the counts of the path that it replaces to `count`.
    #[inline]
    pub fn learn(
        &mut self,
        graph: &Graph<'_>,
        start: NodeId,
        code: u32,
        branches: Branches,
        end: End,
        count: &mut impl FnMut(NodeId, bool, u64),
    ) {
        if self.slots.is_empty() {
            self.slots = vec![EMPTY; 1 << BITS];
            self.branches = vec![Branches::NONE; 1 << BITS];
        }
        let first = slot(start, code);
        let slot = if self.slots[first].count <= self.slots[first ^ 1].count { first } else { first ^ 1 };
        self.slots[slot].expand(self.branches[slot], graph, count);
        self.slots[slot] = Path { start, code, end, count: 0 };
        self.branches[slot] = branches;
    }

    /// Passes the counts of all paths to `count` and resets them. The paths are kept.
    pub fn settle(&mut self, graph: &Graph<'_>, count: &mut impl FnMut(NodeId, bool, u64)) {
        for (path, &branches) in self.slots.iter_mut().zip(&self.branches) {
            path.expand(branches, graph, count);
            path.count = 0;
        }
    }

    /// Discards all counts.
    pub fn reset(&mut self) {
        self.slots.iter_mut().for_each(|path| path.count = 0);
    }

    /// Passes the counts of all paths to `count` and removes them.
    pub fn forget(&mut self, graph: &Graph<'_>, count: &mut impl FnMut(NodeId, bool, u64)) {
        for (path, &branches) in self.slots.iter_mut().zip(&self.branches) {
            path.expand(branches, graph, count);
            *path = EMPTY;
        }
    }
}

impl Path {
    /// Walks the path once for all the times it was followed.
    fn expand(&self, branches: Branches, graph: &Graph<'_>, count: &mut impl FnMut(NodeId, bool, u64)) {
        if self.count == 0 {
            return;
        }
        let (mut here, mut left) = (self.start, branches.0);
        while left > 1 {
            let taken = left & 1 == 1;
            count(here, taken, self.count.into());
            let Node { taken: to, next, .. } = *graph.node(here);
            here = if taken && graph.node(here).class().is_branch() { to } else { next };
            left >>= 1;
        }
    }
}

/// Returns the first of the two slots where a path may be. The other one differs in the last bit.
#[inline(always)]
fn slot(start: NodeId, code: u32) -> usize {
    let key = u64::from(start.0) << 32 | u64::from(code);
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BITS)) as usize
}
