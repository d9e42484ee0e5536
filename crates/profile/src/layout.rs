//! Orders in which code runs best: blocks of a function behind each other that run after each other (Pettis and Hansen), functions
//! beside each other that call each other (C3).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use tracewright_flow::hash::HashMap;

/// Orders the blocks of a function that ran, from the entry on. `counts` has how often each block ran, `edges` how often control went from
/// one to another.
///
/// Blocks become chains along the heaviest edges. Behind the chain of the entry, each time the chain follows that the chains before it
/// lead to most often.
pub(crate) fn blocks(counts: &[u64], edges: &BTreeMap<(usize, usize), u64>, entry: usize) -> Vec<usize> {
    let ran = |block: usize| block == entry || counts.get(block).is_some_and(|&count| count > 0);
    let mut heaviest: Vec<_> = edges.iter().filter(|((from, to), _)| ran(*from) && ran(*to)).collect();
    heaviest.sort_by_key(|(edge, count)| (Reverse(**count), **edge));
    // The chain of each block; the blocks of each chain.
    let mut chain: Vec<usize> = (0..counts.len()).collect();
    let mut chains: Vec<Vec<usize>> = (0..counts.len()).map(|block| vec![block]).collect();
    for ((from, to), _) in &heaviest {
        let (before, after) = (chain[*from], chain[*to]);
        let fits = chains[before].last() == Some(from) && chains[after].first() == Some(to);
        // Nothing comes before the entry.
        if before != after && *to != entry && fits {
            let moved = std::mem::take(&mut chains[after]);
            moved.iter().for_each(|block| chain[*block] = before);
            chains[before].extend(moved);
        }
    }
    let mut leads: Vec<Vec<(usize, u64)>> = vec![Vec::new(); chains.len()];
    for ((from, to), count) in heaviest {
        if chain[*from] != chain[*to] {
            leads[chain[*from]].push((chain[*to], *count));
        }
    }
    // What nothing leads to comes last, in the order that it had.
    let mut weights = vec![0_u64; chains.len()];
    let mut next: BinaryHeap<_> = (0..chains.len())
        .filter(|&one| ran(one) && !chains[one].is_empty())
        .map(|one| (0, Reverse(one)))
        .collect();
    next.push((u64::MAX, Reverse(entry)));
    let mut order = Vec::new();
    while let Some((_, Reverse(one))) = next.pop() {
        order.append(&mut chains[one]);
        for (to, count) in std::mem::take(&mut leads[one]) {
            weights[to] = weights[to].saturating_add(count);
            if !chains[to].is_empty() {
                next.push((weights[to], Reverse(to)));
            }
        }
    }
    order
}

/// Function: its size in bytes, and how many instructions it executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weighed {
    pub size: u64,
    pub instructions: u128,
}

/// Largest number of bytes of functions that are placed together.
const MOST_TOGETHER: u64 = 1 << 20;

/// Orders functions, given by their starts. From the one that executed most on, each goes behind the function that calls it most, unless
/// both together are too large. What is then together is ordered by instructions for each byte.
pub(crate) fn functions(all: &BTreeMap<u64, Weighed>, calls: &BTreeMap<(u64, u64), u64>) -> Vec<u64> {
    let mut callers: HashMap<u64, (u64, u64)> = HashMap::default();
    for (&(caller, callee), &count) in calls.iter().filter(|((caller, callee), _)| caller != callee) {
        let most = callers.entry(callee).or_insert((caller, count));
        if count > most.1 {
            *most = (caller, count);
        }
    }
    let mut heaviest: Vec<_> = all.keys().copied().collect();
    heaviest.sort_by_key(|start| (Reverse(all[start].instructions), *start));
    // Each group by its first function; that of each function.
    let mut groups: HashMap<u64, (Vec<u64>, Weighed)> =
        all.iter().map(|(&start, &weighed)| (start, (vec![start], weighed))).collect();
    let mut first: HashMap<u64, u64> = all.keys().map(|&start| (start, start)).collect();
    for callee in heaviest {
        let Some(&caller) = callers.get(&callee).and_then(|(caller, _)| first.get(caller)) else { continue };
        let size =
            groups.get(&caller).map_or(u64::MAX, |(_, sum)| sum.size).saturating_add(all[&callee].size);
        // Only what is first of its group can follow another.
        if first[&callee] != callee || caller == callee || size > MOST_TOGETHER {
            continue;
        }
        let (Some((members, sum)), Some((group, total))) = (groups.remove(&callee), groups.get_mut(&caller))
        else {
            continue;
        };
        members.iter().for_each(|member| _ = first.insert(*member, caller));
        group.extend(members);
        total.size = total.size.saturating_add(sum.size);
        total.instructions = total.instructions.saturating_add(sum.instructions);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    let density = |sum: &Weighed| sum.instructions / u128::from(sum.size.max(1));
    groups.sort_by_key(|(start, (_, sum))| (Reverse(density(sum)), *start));
    groups.into_iter().flat_map(|(_, (members, _))| members).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_follow_each_other_are_behind_each_other() {
        // 0 -> 1 -> 3 -> 1 is hot, 2 is rare, 4 never ran, and nothing known leads to 5.
        let counts = [10, 1000, 3, 1000, 0, 1];
        let edges =
            [((0, 1), 10), ((1, 2), 3), ((1, 3), 997), ((2, 3), 3), ((3, 1), 990), ((3, 0), 9), ((3, 4), 0)];
        assert_eq!(blocks(&counts, &edges.into(), 0), [0, 1, 3, 2, 5]);
        // The entry is first, wherever it was.
        assert_eq!(blocks(&[5, 5], &[((0, 1), 5)].into(), 1), [1, 0]);
        assert_eq!(blocks(&[0], &BTreeMap::new(), 0), [0]);
    }

    #[test]
    fn functions_that_call_each_other_are_beside_each_other() {
        let weighed = |size, instructions| Weighed { size, instructions };
        let all =
            [(1, weighed(100, 10)), (2, weighed(100, 5000)), (3, weighed(100, 400)), (4, weighed(10, 3000))];
        let calls = [((1, 2), 5), ((3, 2), 100), ((1, 3), 7), ((2, 2), 1 << 40), ((9, 4), 3)];
        // 4, which something unknown calls, executes most for each byte; 1 calls 3 calls 2.
        assert_eq!(functions(&all.into(), &calls.into()), [4, 1, 3, 2]);
        // What is too large together is not.
        let all = [(1, weighed(1 << 20, 10)), (2, weighed(100, 5000))];
        assert_eq!(functions(&all.into(), &calls.into()), [2, 1]);
        // Those that call each other both ways.
        let all = [(1, weighed(8, 10)), (2, weighed(8, 20))];
        assert_eq!(functions(&all.into(), &[((1, 2), 5), ((2, 1), 6)].into()), [1, 2]);
    }
}
