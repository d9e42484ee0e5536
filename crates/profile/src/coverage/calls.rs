//! Number of calls of inlined functions.
//!
//! No single instruction marks an inlined call. Compilers move instructions out of the loop that contains the call, and
//! both the first instruction of a copy and DW_AT_entry_pc may be such an instruction. Usually at least one instruction
//! stays and runs at each call. It runs once per call, unless it is in a loop of the inlined function itself, which is
//! then entered once per call. So the number of calls is the maximum over the copy's instructions outside its own loops
//! (their runs) and its outermost own loops (their entries).

use crate::counts::{Place, Profile};
use crate::functions::Functions;
use crate::loops::{Graph, counted};
use crate::program::Program;
use tracewright_flow::hash::{HashMap, HashSet};

/// Data from which the number of calls of an inlined copy is computed.
#[derive(Debug, Default)]
pub struct Calls {
    /// By innermost loop that is not the copy's own: the number of the copy's instructions there, and the maximum of
    /// their runs and of the entries of the copy's own loops.
    by_loop: HashMap<Option<u32>, (u64, u64)>,
}

/// Loops of a profile.
#[derive(Debug)]
pub struct Loops {
    graph: Graph,
    /// Number of entries of each loop.
    entries: Vec<u64>,
    /// Inlined copies that own each loop. A copy owns a loop if all branches that leave or repeat it belong to the copy.
    owners: Vec<HashSet<usize>>,
}

impl Loops {
    /// Finds the loops of a profile.
    pub fn new(profile: &Profile, programs: &[Program]) -> Self {
        let program = |binary: u32| programs.iter().find(|program| program.has(binary));
        let mut functions = Functions::default();
        let graph = Graph::new(profile, |place| {
            program(place.binary).map_or(u32::MAX, |program| functions.of(profile, program, place))
        });
        let entries = counted(&graph, profile).iter().map(|counts| counts.entries).collect();
        let mut owners: Vec<Option<HashSet<usize>>> = vec![None; graph.loops().len()];
        for (from, nodes) in (0..).zip(graph.successors()) {
            // Loops that this branch leaves or repeats.
            let decides = |number: u32| {
                let is_outside = |to: &u32| !graph.around(*to).any(|around| around == number);
                nodes.iter().any(|to| graph.loops()[number as usize].header == *to || is_outside(to))
            };
            let decided: Vec<_> = graph.around(from).filter(|&number| decides(number)).collect();
            if decided.is_empty() {
                continue;
            }
            let last = graph.leaders()[from as usize].last;
            let frames = program(last.binary).map(|program| program.frames(last)).unwrap_or_default();
            let copies: HashSet<_> = frames.iter().filter_map(|frame| frame.copy).collect();
            decided.iter().for_each(|&number| keep(&mut owners[number as usize], copies.clone()));
        }
        let owners = owners.into_iter().map(Option::unwrap_or_default).collect();
        Self { graph, entries, owners }
    }

    /// Adds an instruction of an inlined copy that ran `count` times.
    pub fn add(&self, calls: &mut Calls, copy: usize, place: Place, count: u64) {
        let leaders = self.graph.leaders();
        let leader = leaders.partition_point(|leader| leader.place <= place).checked_sub(1);
        let leader = leader.filter(|&leader| place < leaders[leader].end).map(|leader| leader as u32);
        let is_own = |number: &u32| self.owners[*number as usize].contains(&copy);
        let own = leader.and_then(|leader| self.graph.around(leader).filter(is_own).last());
        let (around, count) = match own {
            Some(own) => (self.graph.loops()[own as usize].parent, self.entries[own as usize]),
            None => (leader.and_then(|leader| self.graph.innermost(leader)), count),
        };
        let (instructions, most) = calls.by_loop.entry(around).or_default();
        *instructions += 1;
        *most = count.max(*most);
    }

    /// Returns how often a copy was called. The call is in the loop that, together with the loops around it, has most of the
    /// copy's instructions: moved instructions are in loops around it, and debug information places few elsewhere.
    pub fn calls(&self, calls: &Calls) -> u64 {
        let parent = |number: &u32| self.graph.loops()[*number as usize].parent;
        let there =
            |around: Option<u32>| calls.by_loop.get(&around).map_or(0, |(instructions, _)| *instructions);
        let found = calls.by_loop.iter().map(|(&around, &(_, most))| {
            let loops = std::iter::successors(around, parent).map(Some).chain([None]);
            (loops.map(there).sum::<u64>(), most)
        });
        found.max().map_or(0, |(_, most)| most)
    }
}

/// Intersects the owners of a loop with `copies`.
fn keep(owners: &mut Option<HashSet<usize>>, copies: HashSet<usize>) {
    match owners {
        Some(owners) => owners.retain(|copy| copies.contains(copy)),
        None => *owners = Some(copies),
    }
}
