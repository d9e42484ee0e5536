//! Loop counts from a profile, which has no order of execution.

use std::collections::HashMap;

use tracewright_core::Role;

use super::graph::Graph;
use super::trips::TripCounts;
use crate::counts::{Place, Profile};

/// Computes for each loop how often its header ran, how often it was entered, and how many instructions ran in it. The
/// trips of single entries are not known.
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
    let mut jumps = HashMap::new();
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
