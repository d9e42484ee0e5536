//! Loops compared with naive definitions.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::executed::{Executed, block};
use tracewright_core::{Ended, MemorySpace, Role};
use tracewright_profile::{Code, Graph, Place, Profile, Tracker, Trips, branches, forest};
use tracewright_testkit::Rng;

/// Returns the nodes that are reached without passing `without`.
fn reached(successors: &[Vec<u32>], without: Option<u32>) -> HashSet<u32> {
    let mut seen = HashSet::new();
    let mut todo = vec![0];
    while let Some(node) = todo.pop() {
        if Some(node) != without && seen.insert(node) {
            todo.extend(&successors[node as usize]);
        }
    }
    seen
}

/// Returns the natural loops: for each header, all nodes that reach a back edge without passing the header. Returns
/// `None` if the graph is irreducible.
fn natural(successors: &[Vec<u32>]) -> Option<BTreeMap<u32, BTreeSet<u32>>> {
    let all = reached(successors, None);
    let mut loops: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let mut forward: Vec<Vec<u32>> = successors.to_vec();
    for &from in &all {
        for &to in &successors[from as usize] {
            let dominates = from == to || !reached(successors, Some(to)).contains(&from);
            if dominates {
                forward[from as usize].retain(|&other| other != to);
                let body = loops.entry(to).or_insert_with(|| BTreeSet::from([to]));
                let mut todo = vec![from];
                while let Some(node) = todo.pop() {
                    if body.insert(node) {
                        let preds = all.iter().filter(|&&pred| successors[pred as usize].contains(&node));
                        todo.extend(preds);
                    }
                }
            }
        }
    }
    // Without its back edges, a reducible graph has no cycles.
    let mut left = all.clone();
    while let Some(&end) =
        left.iter().find(|&&node| forward[node as usize].iter().all(|to| !left.contains(to)))
    {
        left.remove(&end);
    }
    left.is_empty().then_some(loops)
}

/// Returns the nodes of each loop by header.
fn bodies(successors: &[Vec<u32>]) -> BTreeMap<u32, BTreeSet<u32>> {
    let (loops, innermost) = forest(successors, &[0]);
    let mut bodies: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (node, innermost) in (0..).zip(innermost) {
        let mut at = innermost;
        while let Some(number) = at {
            bodies.entry(loops[number as usize].header).or_default().insert(node);
            at = loops[number as usize].parent;
        }
    }
    bodies
}

#[test]
fn loops_are_natural_ones() {
    let (mut reducible, mut found) = (0, 0);
    for seed in 0..4000 {
        let rng = &mut Rng::new(seed);
        let len = rng.below(9) + 1;
        let successors: Vec<Vec<u32>> = (0..len)
            .map(|node| {
                let mut to: Vec<u32> = (0..rng.below(3)).map(|_| rng.below(len) as u32).collect();
                to.extend((node + 1 < len).then_some(node as u32 + 1));
                to.sort_unstable();
                to.dedup();
                to
            })
            .collect();
        let Some(expected) = natural(&successors) else {
            let _ = bodies(&successors);
            continue;
        };
        reducible += 1;
        found += expected.len();
        assert_eq!(bodies(&successors), expected, "seed {seed}: {successors:?}");
    }
    assert!(reducible > 500 && found > 500, "{reducible} {found}");
}

/// Counts a run.
fn profile(run: &Executed) -> Profile {
    let mut profile = Profile::default();
    let blocks: Vec<_> = run.elements.iter().filter_map(block).collect();
    let place = |address| Place { binary: 0, address };
    for block in &blocks {
        profile.blocks.entry(Code::of(block, place(block.start))).or_default().add(block.ended, 1);
    }
    for pair in blocks.windows(2).filter(|pair| pair[0].ended == Ended::Taken) {
        *profile.branches.entry((place(pair[0].last()), place(pair[1].start))).or_default() += 1;
    }
    profile
}

/// Entries, trips and instructions of loops agree with a naive search in the leaders of each call of a function.
#[test]
fn trips_are_those_of_a_naive_search() {
    let mut all = 0;
    for seed in 0..40 {
        let run = Executed::computing(seed);
        let profile = profile(&run);
        let place = |address, _: MemorySpace| Place { binary: 0, address };
        let graph = Graph::new(&profile, |place| run.find(place.address).function);
        let (mut tracker, mut trips) = (Tracker::default(), Trips::new(&graph));
        for element in &run.elements {
            tracker.take(element, MemorySpace::ANY, |address, _| run.find(address), &mut trips);
            if let Some(block) = block(element) {
                trips.block(&block, MemorySpace::ANY, place);
            }
        }
        let found = trips.finish();

        // The same for single instructions: calls by number, each with its function.
        let mut calls: Vec<Vec<(u32, u64)>> = vec![Vec::new()];
        let mut stack: Vec<(u64, Vec<(u32, usize)>)> = Vec::new();
        let mut last: Option<tracewright_core::Block> = None;
        for block in run.elements.iter().filter_map(block) {
            let function = run.find(block.start).function;
            let taken = last.filter(|last| last.ended == Ended::Taken);
            let new = |calls: &mut Vec<_>| {
                calls.push(Vec::new());
                (function, calls.len() - 1)
            };
            match taken.map(|last| (last.class.role, last.end)) {
                Some((Role::Call, back)) => stack.push((back, vec![new(&mut calls)])),
                Some((Role::Return, _)) => {
                    let at = stack.iter().rposition(|(back, _)| *back == block.start);
                    stack.truncate(at.unwrap_or(0));
                    if stack.is_empty() {
                        stack.push((0, vec![new(&mut calls)]));
                    }
                }
                _ => {
                    if stack.is_empty() {
                        stack.push((0, vec![new(&mut calls)]));
                    }
                    let chain = &mut stack.last_mut().unwrap().1;
                    match chain.iter().position(|&(known, _)| known == function) {
                        Some(at) => chain.truncate(at + 1),
                        None => chain.push(new(&mut calls)),
                    }
                }
            }
            let call = stack.last().unwrap().1.last().unwrap().1;
            calls[call].extend((block.start..block.end).step_by(4).map(|address| (function, address)));
            last = Some(block);
        }
        let leaders = graph.leaders();
        let of_address: HashMap<u64, u32> =
            (0..).zip(leaders).map(|(number, leader)| (leader.place.address, number)).collect();
        for (number, of) in (0..).zip(graph.loops()) {
            let is_in = |leader: u32| {
                graph.innermost(leader).is_some_and(|innermost| graph.is_inside(innermost, number))
            };
            let (mut entries, mut heads, mut instructions) = (0, 0, 0);
            for call in &calls {
                let mut inside = false;
                for (_, address) in call {
                    if let Some(&leader) = of_address.get(address) {
                        let was = std::mem::replace(&mut inside, is_in(leader));
                        entries += u64::from(inside && !was);
                        heads += u64::from(leader == of.header);
                    }
                    instructions += u64::from(inside);
                }
            }
            let trips = &found[number as usize];
            assert_eq!((trips.entries, trips.trips), (entries, heads), "seed {seed}, loop {number}");
            assert_eq!(trips.instructions, instructions, "seed {seed}, loop {number}");
            let counted: u64 = trips.histogram.buckets().iter().map(|bucket| bucket.cycles).sum();
            assert_eq!(counted, trips.trips, "seed {seed}");
            all += trips.trips;
        }
    }
    assert!(all > 10_000, "{all}");
}

#[test]
fn branches_are_all_there() {
    for seed in 0..20 {
        let run = Executed::anything(seed);
        let mut expected: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for block in run.elements.iter().filter_map(block).filter(|block| block.class.is_branch()) {
            let of = expected.entry(block.last()).or_default();
            of.0 += u64::from(block.ended == Ended::Taken);
            of.1 += u64::from(block.ended == Ended::NotTaken);
        }
        let found = branches(&profile(&run));
        assert_eq!(found.len(), expected.len());
        for branch in found {
            assert_eq!((branch.taken, branch.not_taken), expected[&branch.place.address], "seed {seed}");
            assert!(branch.targets.iter().map(|target| target.1).sum::<u64>() <= branch.taken);
        }
    }
}
