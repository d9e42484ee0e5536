//! What counts alone tell of loops, where nobody knows in which order things ran.

use super::graph::Graph;
use super::trips::TripCounts;
use crate::counts::Profile;

/// By number of the loop: how often its header ran, and how many instructions ran in it. How often it was entered, and so how
/// often it turned each time, is not known.
#[must_use]
pub fn counted(graph: &Graph, profile: &Profile) -> Vec<TripCounts> {
    let mut counts = vec![TripCounts::default(); graph.loops().len()];
    let leaders = graph.leaders();
    for (code, runs) in &profile.blocks {
        let Some(mut at) = graph.leader(code.start) else { continue };
        let mut left = code.count;
        loop {
            let leader = &leaders[at as usize];
            let next = graph.inner(at).filter(|&next| leaders[next as usize].place < code.end());
            // Both go up to the same branch.
            let here =
                next.map_or(left, |next| left.min(leader.count.saturating_sub(leaders[next as usize].count)));
            left -= here;
            let mut of = graph.innermost(at);
            while let Some(number) = of {
                let counts = &mut counts[number as usize];
                let of_loop = &graph.loops()[number as usize];
                counts.instructions =
                    counts.instructions.saturating_add(u64::from(here).saturating_mul(runs.all()));
                if of_loop.header == at {
                    counts.trips = counts.trips.saturating_add(runs.all());
                }
                of = of_loop.parent;
            }
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
    }
    counts
}
