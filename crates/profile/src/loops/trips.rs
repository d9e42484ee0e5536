//! How often loops turn.

use std::collections::HashMap;

use tracewright_core::{Block, MemorySpace};

use super::graph::Graph;
use crate::by_address::ByAddress;
use crate::calls::{How, Watch};
use crate::counts::Place;
use crate::histogram::Histogram;

/// What a loop came to.
#[derive(Clone, Debug, Default)]
pub struct TripCounts {
    /// How often it was entered.
    pub entries: u64,
    /// How often its header ran in all. A loop that tests at its end turns so often, one that tests at its beginning once less an entry.
    pub trips: u64,
    /// The fewest and the most of an entry.
    pub range: Option<(u64, u64)>,
    /// Entries by how often the header ran.
    pub histogram: Histogram,
    /// Instructions that ran in it, inner loops included, but not what it calls.
    pub instructions: u64,
}

/// Follows loops in blocks in order; who enters and leaves functions is told to it as a [`Watch`].
#[derive(Debug)]
pub struct Trips<'g> {
    graph: &'g Graph,
    counts: Vec<TripCounts>,
    /// Numbers of leaders by where blocks are.
    known: ByAddress<Option<u32>>,
    stacks: HashMap<u32, Stack>,
    thread: u32,
    stack: Stack,
}

/// The loops that a thread is in.
#[derive(Debug, Default)]
struct Stack {
    /// A loop and how often its header ran.
    loops: Vec<(u32, u64)>,
    /// Where those of each function at work begin.
    frames: Vec<usize>,
}

impl<'g> Trips<'g> {
    /// Of the loops of a graph.
    #[must_use]
    pub fn new(graph: &'g Graph) -> Self {
        let counts = vec![TripCounts::default(); graph.loops().len()];
        Self {
            graph,
            counts,
            known: ByAddress::default(),
            stacks: HashMap::new(),
            thread: 0,
            stack: Stack::default(),
        }
    }

    /// A block ran. `place` says which place it is.
    pub fn block(
        &mut self,
        block: &Block,
        space: MemorySpace,
        place: impl FnOnce(u64, MemorySpace) -> Place,
    ) {
        let graph = self.graph;
        let found = self.known.get(block.start, space).unwrap_or_else(|| {
            let found = graph.leader(place(block.start, space));
            self.known.insert(block.start, space, found);
            found
        });
        let Some(mut at) = found else { return };
        let mut left = block.count;
        let start = graph.leaders()[at as usize].place.address;
        loop {
            let next = graph.inner(at).filter(|&next| {
                let offset = graph.leaders()[next as usize].place.address.wrapping_sub(start);
                offset < block.end.wrapping_sub(block.start)
            });
            let here = match next {
                // What runs up to the same branch.
                Some(next) => {
                    let leaders = graph.leaders();
                    left.min(leaders[at as usize].count.saturating_sub(leaders[next as usize].count))
                }
                None => left,
            };
            left -= here;
            self.reach(at, here);
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
    }

    fn reach(&mut self, leader: u32, instructions: u32) {
        let graph = self.graph;
        let innermost = graph.innermost(leader);
        let floor = self.stack.frames.last().copied().unwrap_or(0);
        while let Some(&(active, trips)) = self.stack.loops.last().filter(|_| self.stack.loops.len() > floor)
        {
            if innermost.is_some_and(|inner| graph.is_inside(inner, active)) {
                break;
            }
            self.stack.loops.pop();
            self.counts[active as usize].leave(trips);
        }
        let Some(inner) = innermost else { return };
        let mut added = 0;
        let current = self.stack.loops[floor..].last().map(|(active, _)| *active);
        let mut at = Some(inner);
        while let Some(number) = at.filter(|&number| Some(number) != current) {
            added += 1;
            at = graph.loops()[number as usize].parent;
            self.stack.loops.push((number, 0));
        }
        let len = self.stack.loops.len();
        self.stack.loops[len - added..].reverse();
        if let Some((active, trips)) = self.stack.loops.last_mut()
            && graph.loops()[*active as usize].header == leader
        {
            *trips += 1;
        }
        // What runs in the loops around it is added up in the end.
        self.counts[inner as usize].instructions += u64::from(instructions);
    }

    /// What came of it: by number of the loop.
    #[must_use]
    pub fn finish(mut self) -> Vec<TripCounts> {
        let all = std::mem::take(&mut self.stacks).into_values().chain([std::mem::take(&mut self.stack)]);
        for (active, trips) in all.flat_map(|stack| stack.loops) {
            self.counts[active as usize].leave(trips);
        }
        let loops = self.graph.loops();
        // Inner ones come after those around them.
        for number in (0..loops.len()).rev() {
            if let Some(parent) = loops[number].parent {
                self.counts[parent as usize].instructions += self.counts[number].instructions;
            }
        }
        self.counts
    }
}

impl TripCounts {
    /// Adds those of the same loop elsewhere.
    pub fn merge(&mut self, other: &Self) {
        self.entries += other.entries;
        self.trips += other.trips;
        self.instructions += other.instructions;
        self.histogram.merge(&other.histogram);
        self.range = match (self.range, other.range) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
    }

    fn leave(&mut self, trips: u64) {
        self.entries += 1;
        self.trips += trips;
        let (least, most) = self.range.unwrap_or((trips, trips));
        self.range = Some((least.min(trips), most.max(trips)));
        self.histogram.add(trips);
    }
}

impl Watch for Trips<'_> {
    fn thread(&mut self, number: u32) {
        self.stacks.insert(self.thread, std::mem::take(&mut self.stack));
        self.stack = self.stacks.remove(&number).unwrap_or_default();
        self.thread = number;
    }

    fn enter(&mut self, _: u32, _: How) {
        self.stack.frames.push(self.stack.loops.len());
    }

    fn leave(&mut self) {
        let floor = self.stack.frames.pop().unwrap_or(0);
        for (active, trips) in self.stack.loops.drain(floor..) {
            self.counts[active as usize].leave(trips);
        }
    }
}
