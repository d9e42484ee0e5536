//! Paths through the graph that were taken before.

use crate::{Graph, Node, NodeId};

/// Remembers where a pattern of taken and not taken branches leads from a node, and counts how often: a trace packet with
/// many branches is then one look-up. What the branches on the way add up to is worked out when a path is forgotten.
///
/// A cache: a path lives in one slot, and another one that belongs there takes its place.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    slots: Vec<Path>,
}

#[derive(Clone, Copy, Debug)]
struct Path {
    start: NodeId,
    pattern: u32,
    end: End,
    count: u32,
}

/// Where a path ends: at a node, or (bit 31) after the indirect branch at the end of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End(u32);

const INDIRECT: u32 = 1 << 31;
const BITS: u32 = 16;
const WAYS: u32 = 3;
const EMPTY: Path = Path { start: NodeId::NONE, pattern: 0, end: End(0), count: 0 };

impl End {
    pub(crate) fn at(node: NodeId) -> Option<Self> {
        (node.0 < INDIRECT).then_some(Self(node.0))
    }

    pub(crate) fn after(node: NodeId) -> Option<Self> {
        (node.0 < INDIRECT).then_some(Self(node.0 | INDIRECT))
    }

    /// The node, and whether execution went on from its end to nobody knows where.
    #[inline(always)]
    pub(crate) fn node(self) -> (NodeId, bool) {
        (NodeId(self.0 & !INDIRECT), self.0 & INDIRECT != 0)
    }
}

impl Paths {
    /// Without any; memory is taken when the first one is learnt.
    pub fn new() -> Self {
        Self { slots: Vec::new() }
    }

    /// Where the path leads, if it is known; it is counted then. The highest bit of `pattern` stands above the others.
    #[inline(always)]
    pub fn follow(&mut self, start: NodeId, pattern: u32) -> Option<End> {
        let path = self.slots.get_mut(slot(start, pattern))?;
        if path.start == start && path.pattern == pattern && path.count < u32::MAX {
            path.count += 1;
            return Some(path.end);
        }
        None
    }

    /// Remembers a path, which was counted otherwise this time. `count` is told what the forgotten one adds up to.
    #[inline]
    pub fn learn(
        &mut self,
        graph: &Graph<'_>,
        start: NodeId,
        pattern: u32,
        end: End,
        count: &mut impl FnMut(NodeId, bool, u64),
    ) {
        if self.slots.is_empty() {
            self.slots = vec![EMPTY; 1 << BITS];
        }
        let path = &mut self.slots[slot(start, pattern)];
        path.expand(graph, count);
        *path = Path { start, pattern, end, count: 0 };
    }

    /// Forgets all paths.
    pub fn forget(&mut self, graph: &Graph<'_>, count: &mut impl FnMut(NodeId, bool, u64)) {
        for path in &mut self.slots {
            path.expand(graph, count);
            *path = EMPTY;
        }
    }
}

impl Path {
    /// Walks it once more for all the times it was followed.
    fn expand(&self, graph: &Graph<'_>, count: &mut impl FnMut(NodeId, bool, u64)) {
        if self.count == 0 {
            return;
        }
        let (mut here, mut pattern) = (self.start, self.pattern);
        while pattern > 1 {
            let taken = pattern & 1 == 1;
            count(here, taken, self.count.into());
            let Node { taken: to, next, .. } = *graph.node(here);
            here = if taken && graph.node(here).class().is_branch() { to } else { next };
            pattern >>= 1;
        }
    }
}

/// Paths from one node lie side by side: fewer lines of the cache to wait for.
#[inline(always)]
fn slot(start: NodeId, pattern: u32) -> usize {
    let set = start.0.wrapping_mul(0x9e37_79b1) >> (32 - BITS + WAYS);
    let way = pattern.wrapping_mul(0x9e37_79b1) >> (32 - WAYS);
    (set << WAYS | way) as usize
}
