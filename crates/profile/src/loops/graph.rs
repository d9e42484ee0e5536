//! Control flow graph of the code that ran, function by function.

use std::collections::BTreeMap;

use tracewright_core::{Class, Role};
use tracewright_flow::hash::HashMap;

use super::forest::{Loop, forest};
use crate::counts::{Place, Profile};

/// First instruction of a basic block: a branch target or the instruction after a branch. The block extends to the next
/// branch and may contain other leaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leader {
    /// Address.
    pub place: Place,
    /// Number of the function.
    pub function: u32,
    /// Number of instructions up to the next branch.
    pub count: u32,
    /// Address after that branch.
    pub end: Place,
    /// Class of the branch.
    pub class: Class,
    /// Address of the branch.
    pub last: Place,
}

/// Control flow graph of all code that ran. A call leads to the instruction after it.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    leaders: Vec<Leader>,
    numbers: HashMap<Place, u32>,
    successors: Vec<Vec<u32>>,
    loops: Vec<Loop>,
    innermost: Vec<Option<u32>>,
}

impl Graph {
    /// Builds the graph of a profile. `function` returns the function of a place.
    pub fn new(profile: &Profile, mut function: impl FnMut(Place) -> u32) -> Self {
        let mut longest: BTreeMap<Place, Leader> = BTreeMap::new();
        let mut goes_on: HashMap<Place, bool> = HashMap::default();
        for (code, runs) in &profile.blocks {
            *goes_on.entry(code.last()).or_default() |= runs.not_taken + runs.through > 0;
            let leader = Leader {
                place: code.start,
                function: 0,
                count: code.count,
                end: code.end(),
                class: code.class,
                last: code.last(),
            };
            let known = longest.entry(code.start).or_insert(leader);
            if known.end < leader.end {
                *known = leader;
            }
        }
        let mut leaders: Vec<Leader> = longest.into_values().collect();
        leaders.iter_mut().for_each(|leader| leader.function = function(leader.place));
        let numbers: HashMap<_, _> =
            (0..).zip(&leaders).map(|(number, leader)| (leader.place, number)).collect();
        let mut targets: HashMap<Place, Vec<Place>> = HashMap::default();
        profile.branches.keys().for_each(|&(from, to)| targets.entry(from).or_default().push(to));
        targets.values_mut().for_each(|targets| targets.sort_unstable());

        let successors = (0..leaders.len()).map(|at| {
            let leader = &leaders[at];
            if let Some(next) = inner(&leaders, at) {
                return vec![next];
            }
            let mut places = Vec::new();
            match leader.class.role {
                _ if !leader.class.is_branch() => places.push(leader.end),
                Role::Call | Role::Swap => places.push(leader.end),
                Role::Return | Role::ExceptionReturn => {}
                Role::Jump | Role::LoopEnd => {
                    places.extend(targets.get(&leader.last).into_iter().flatten());
                }
            }
            if goes_on.get(&leader.last).is_some_and(|goes_on| *goes_on) {
                places.push(leader.end);
            }
            let mut nodes: Vec<u32> = places.iter().filter_map(|place| numbers.get(place).copied()).collect();
            nodes.retain(|&node| leaders[node as usize].function == leader.function);
            nodes.sort_unstable();
            nodes.dedup();
            nodes
        });
        let successors: Vec<_> = successors.collect();
        let mut entries = vec![true; leaders.len()];
        for (at, nodes) in (0..).zip(&successors) {
            nodes.iter().filter(|&&node| node != at).for_each(|&node| entries[node as usize] = false);
        }
        // Nodes where a function is entered from others come first.
        let called = profile.branches.keys().filter_map(|(_, to)| numbers.get(to).copied());
        let entries: Vec<u32> = (0..leaders.len() as u32).filter(|&at| entries[at as usize]).collect();
        let mut called: Vec<u32> = called
            .filter(|&at| at == 0 || leaders[at as usize - 1].function != leaders[at as usize].function)
            .collect();
        called.sort_unstable();
        called.dedup();
        let (loops, innermost) = forest(&successors, &[called, entries].concat());
        Self { leaders, numbers, successors, loops, innermost }
    }

    /// Returns all leaders, sorted by place.
    pub fn leaders(&self) -> &[Leader] {
        &self.leaders
    }

    /// Returns the number of the leader at a place.
    pub fn leader(&self, place: Place) -> Option<u32> {
        self.numbers.get(&place).copied()
    }

    /// Returns the successors of each leader.
    pub fn successors(&self) -> &[Vec<u32>] {
        &self.successors
    }

    /// Returns all loops, outer ones before inner ones. Headers are leader numbers.
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// Returns the innermost loop of a leader.
    pub fn innermost(&self, leader: u32) -> Option<u32> {
        self.innermost.get(leader as usize).copied().flatten()
    }

    /// Iterates over the loops around a leader, the innermost first.
    pub fn around(&self, leader: u32) -> impl Iterator<Item = u32> {
        self.and_around(self.innermost(leader))
    }

    /// Returns the next leader if it comes before the branch of this one.
    pub fn inner(&self, leader: u32) -> Option<u32> {
        inner(&self.leaders, leader as usize)
    }

    /// Splits a block that begins at a leader at the leaders inside it. Returns them with the instructions from each to
    /// the next. The block has `count` instructions and `len` bytes.
    pub(super) fn parts(&self, first: u32, count: u32, len: u64) -> impl Iterator<Item = (u32, u32)> {
        let start = self.leaders[first as usize].place.address;
        let mut left = count;
        let mut at = Some(first);
        std::iter::from_fn(move || {
            let here = at?;
            let is_inside = |next: &u32| self.leaders[*next as usize].place.address.wrapping_sub(start) < len;
            at = self.inner(here).filter(is_inside);
            // Both leaders extend to the same branch.
            let count_of = |leader: u32| self.leaders[leader as usize].count;
            let own = at.map_or(left, |next| left.min(count_of(here).saturating_sub(count_of(next))));
            left -= own;
            Some((here, own))
        })
    }

    /// Returns whether a loop is `outer` or inside it.
    pub fn is_inside(&self, inner: u32, outer: u32) -> bool {
        self.and_around(Some(inner)).any(|number| number == outer)
    }

    fn and_around(&self, number: Option<u32>) -> impl Iterator<Item = u32> {
        std::iter::successors(number, |number| self.loops[*number as usize].parent)
    }
}

fn inner(leaders: &[Leader], at: usize) -> Option<u32> {
    let (leader, next) = (&leaders[at], leaders.get(at + 1)?);
    let is_inside = next.place < leader.end && next.place.binary == leader.place.binary;
    is_inside.then_some(at as u32 + 1)
}
