//! Trip counts of loops, from elements or from a profile.

use tracewright_core::{Block, MemorySpace, Role};
use tracewright_flow::hash::HashMap;

use super::graph::Graph;
use crate::by_address::ByAddress;
use crate::calls::{How, Watch};
use crate::counts::{Place, Profile};
use crate::histogram::Histogram;

/// Counts of a loop.
#[derive(Clone, Debug, Default)]
pub struct TripCounts {
    /// Number of entries.
    pub entries: u64,
    /// Number of runs of the header. This is the trip count of a loop that tests at its end; a loop that tests at its
    /// beginning has one trip less for each entry.
    pub trips: u64,
    /// Smallest and largest number of header runs in one entry.
    pub range: Option<(u64, u64)>,
    /// Entries by number of header runs.
    pub histogram: Histogram,
    /// Instructions executed in the loop, including inner loops but not callees.
    pub instructions: u64,
}

/// Counts loops in blocks. It hears of function entries and exits as a [`Watch`].
#[derive(Debug)]
pub struct Trips<'g> {
    graph: &'g Graph,
    counts: Vec<TripCounts>,
    /// Leader numbers by block address.
    known: ByAddress<Option<u32>>,
    stacks: HashMap<u32, Stack>,
    thread: u32,
    stack: Stack,
}

/// Loops that a thread is in.
#[derive(Debug, Default)]
struct Stack {
    /// Loops with the number of header runs so far.
    loops: Vec<(u32, u64)>,
    /// Index in `loops` where each active function begins.
    frames: Vec<usize>,
}

impl<'g> Trips<'g> {
    /// Creates a counter for the loops of a graph.
    pub fn new(graph: &'g Graph) -> Self {
        let counts = vec![TripCounts::default(); graph.loops().len()];
        Self {
            graph,
            counts,
            known: ByAddress::default(),
            stacks: HashMap::default(),
            thread: 0,
            stack: Stack::default(),
        }
    }

    /// Counts a block. `place` converts its address.
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
        let Some(first) = found else { return };
        for (at, count) in graph.parts(first, block.count, block.end.wrapping_sub(block.start)) {
            self.reach(at, count);
        }
    }

    fn reach(&mut self, leader: u32, instructions: u32) {
        let graph = self.graph;
        let innermost = graph.innermost(leader);
        let floor = self.stack.frames.last().copied().unwrap_or(0);
        // Most blocks are in the loop that the last one was in.
        if let (Some(inner), Some((active, trips))) = (innermost, self.stack.loops[floor..].last_mut())
            && inner == *active
        {
            *trips += u64::from(graph.loops()[inner as usize].header == leader);
            self.counts[inner as usize].instructions += u64::from(instructions);
            return;
        }
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
        // Instructions are added to enclosing loops at the end.
        self.counts[inner as usize].instructions += u64::from(instructions);
    }

    /// Returns the counts by loop number.
    #[must_use]
    pub fn finish(mut self) -> Vec<TripCounts> {
        let all = std::mem::take(&mut self.stacks).into_values().chain([std::mem::take(&mut self.stack)]);
        for (active, trips) in all.flat_map(|stack| stack.loops) {
            self.counts[active as usize].leave(trips);
        }
        let loops = self.graph.loops();
        // Inner loops come after those around them.
        for number in (0..loops.len()).rev() {
            if let Some(parent) = loops[number].parent {
                self.counts[parent as usize].instructions += self.counts[number].instructions;
            }
        }
        self.counts
    }
}

impl TripCounts {
    /// Adds the counts of the same loop from another source.
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

/// Computes for each loop how often its header ran, how often it was entered, and how many instructions ran in it. A profile
/// has no order of execution, so the trips of single entries are not known.
pub fn counted(graph: &Graph, profile: &Profile) -> Vec<TripCounts> {
    let mut counts = vec![TripCounts::default(); graph.loops().len()];
    // Transfers to the header from inside, and to any part from outside.
    let (mut back, mut into) = (vec![0_u64; counts.len()], vec![0_u64; counts.len()]);
    let mut goes = |at: u32, to: Place, count: u64| {
        let Some(to) = graph.leader(to).filter(|_| count > 0) else { return };
        for number in around(graph, to) {
            let is_inside = around(graph, at).any(|of| of == number);
            let sum = match is_inside {
                true if graph.loops()[number].header == to => &mut back[number],
                true => continue,
                false => &mut into[number],
            };
            *sum = sum.saturating_add(count);
        }
    };
    // Jumps and the leaders that they end.
    let mut jumps = HashMap::default();
    let leaders = graph.leaders();
    for (code, runs) in &profile.blocks {
        let Some(mut at) = graph.leader(code.start) else { continue };
        for (leader, here) in graph.parts(at, code.count, code.len.into()) {
            if leader != at {
                goes(at, leaders[leader as usize].place, runs.all());
                at = leader;
            }
            for number in around(graph, at) {
                let counts = &mut counts[number];
                counts.instructions =
                    counts.instructions.saturating_add(u64::from(here).saturating_mul(runs.all()));
                if graph.loops()[number].header == at {
                    counts.trips = counts.trips.saturating_add(runs.all());
                }
            }
        }
        let goes_on = runs.not_taken.saturating_add(runs.through);
        let is_call = matches!(code.class.role, Role::Call | Role::Swap);
        // A callee returns.
        goes(at, code.end(), if is_call { runs.all() } else { goes_on });
        if matches!(code.class.role, Role::Jump | Role::LoopEnd) {
            jumps.insert(code.last(), at);
        }
    }
    for (&(from, to), &count) in &profile.branches {
        if let Some(&at) = jumps.get(&from) {
            goes(at, to, count);
        }
    }
    for (number, counts) in counts.iter_mut().enumerate() {
        // Entries after a gap have no known source, so that not all entries are known.
        let is_irreducible = graph.loops()[number].irreducible;
        counts.entries =
            if is_irreducible { into[number] } else { counts.trips.saturating_sub(back[number]) };
    }
    counts
}

/// Iterates over the loops around a leader, the innermost first.
fn around(graph: &Graph, leader: u32) -> impl Iterator<Item = usize> {
    graph.around(leader).map(|number| number as usize)
}
