//! Propeller: which basic blocks belong together (`clang -fbasic-block-sections=list=`), and in which order functions
//! are linked (`ld.lld --symbol-ordering-file`).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

use tracewright_core::Role;
use tracewright_flow::hash::HashSet;
use tracewright_image::{BlockMapError, MappedFunction};

use super::ranges::{Ranges, Targets};
use crate::counts::{Place, Profile};
use crate::layout::{self, Weighed};
use crate::program::Program;

/// List of the blocks that belong together, for the compiler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clusters {
    /// The list, version 1; empty if the binary has no map of its blocks, or none of them ran.
    pub text: String,
    /// Number of functions that ran and are not in the list, because others have the same name.
    pub ambiguous: usize,
}

/// Writes, for each function of one binary that ran, the blocks that ran, in the order in which they belong together.
/// The compiler moves the other blocks away (`function.cold`).
///
/// # Errors
/// Fails if the binary's map of basic blocks cannot be read.
pub fn clusters(profile: &Profile, program: &Program, number: u32) -> Result<Clusters, BlockMapError> {
    let functions = program.file(number).map_or(Ok(Vec::new()), |file| file.block_map())?;
    let mut lists: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for (function, graph) in functions.iter().zip(graphs(profile, program, number, &functions)) {
        let Some(name) = name(program, Place { binary: number, address: function.start }) else { continue };
        let entry = function.blocks.iter().position(|block| block.id == 0);
        let Some(entry) = entry.filter(|_| graph.weight > 0) else { continue };
        let blocks = layout::blocks(&graph.counts, &graph.edges, entry).into_iter();
        let ids: Vec<_> = blocks.map(|block| function.blocks[block].id.to_string()).collect();
        lists.entry(name).or_default().push((Reverse(graph.weight), ids));
    }
    let (mut ambiguous, mut heaviest) = (0, Vec::new());
    for (name, mut lists) in lists {
        match lists.pop() {
            Some((weight, ids)) if lists.is_empty() => heaviest.push((weight, name, ids)),
            _ => ambiguous += lists.len() + 1,
        }
    }
    heaviest.sort();
    let mut text = String::from(if heaviest.is_empty() { "" } else { "v1\n" });
    for (_, name, ids) in heaviest {
        let _ = writeln!(text, "f {name}\nc {}", ids.join(" "));
    }
    Ok(Clusters { text, ambiguous })
}

/// Writes the functions of one binary that ran, a name each, in the order in which they belong together.
pub fn symbol_order(profile: &Profile, program: &Program, number: u32) -> String {
    let mut functions: BTreeMap<u64, Weighed> = BTreeMap::new();
    let function = |place: Place| program.linkage(place).filter(|found| !found.plt);
    for (code, runs) in profile.blocks.iter().filter(|(code, _)| code.start.binary == number) {
        let Some(found) = function(code.start) else { continue };
        let weighed = functions.entry(found.start).or_default();
        weighed.size = found.size;
        weighed.instructions += u128::from(code.count) * u128::from(runs.all());
    }
    let mut calls: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for (&(from, to), &count) in &profile.branches {
        if from.binary == number
            && to.binary == number
            && function(to).is_some_and(|callee| callee.start == to.address)
            && let Some(caller) = function(from)
        {
            let sum = calls.entry((caller.start, to.address)).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    let order = layout::functions(&functions, &calls).into_iter();
    let names = order.filter_map(|address| name(program, Place { binary: number, address }));
    names.fold(String::new(), |text, name| text + &name + "\n")
}

/// Returns the linker's name of the function that begins at a place, if lists can have it.
fn name(program: &Program, place: Place) -> Option<String> {
    let found = program.linkage(place).filter(|found| found.start == place.address && !found.plt)?;
    let name = std::str::from_utf8(found.name).ok()?;
    // Lists separate names by white space and `/`, and have comments.
    let is_plain =
        |letter: char| !letter.is_whitespace() && !letter.is_control() && !['/', '#'].contains(&letter);
    (!name.is_empty() && name.chars().all(is_plain)).then(|| name.to_owned())
}

/// Blocks of a function, by index, with how often control went from one to another.
#[derive(Clone, Debug, Default)]
struct Graph {
    counts: Vec<u64>,
    edges: BTreeMap<(usize, usize), u64>,
    /// Sum of the counts.
    weight: u64,
}

/// Counts how often the blocks of each function ran, and the edges between them.
fn graphs(profile: &Profile, program: &Program, number: u32, functions: &[MappedFunction]) -> Vec<Graph> {
    let empty = |of: &MappedFunction| Graph { counts: vec![0; of.blocks.len()], ..Graph::default() };
    let mut graphs: Vec<_> = functions.iter().map(empty).collect();
    // All blocks in the order of their addresses, with function and block.
    let mut all: Vec<(Range<u64>, usize, usize)> = Vec::new();
    for (function, of) in functions.iter().enumerate() {
        let blocks = of.blocks.iter().enumerate().filter(|(_, block)| !block.range.is_empty());
        all.extend(blocks.map(|(block, of)| (of.range.clone(), function, block)));
    }
    all.sort_by_key(|(range, ..)| range.start);
    let find = |address: u64| {
        let at = all.partition_point(|(range, ..)| range.start <= address).checked_sub(1)?;
        all[at].0.contains(&address).then_some(at)
    };
    let begins = |address: u64| find(address).filter(|&at| all[at].0.start == address);
    let mut add = |from: usize, to: usize, count: u64| {
        let ((_, function, from), (_, other, to)) = (&all[from], &all[to]);
        if function == other && count > 0 {
            let sum = graphs[*function].edges.entry((*from, *to)).or_default();
            *sum = sum.saturating_add(count);
        }
    };
    let mut counts = vec![0_u64; all.len()];
    let mut jumps = HashSet::default();
    for (code, runs) in profile.blocks.iter().filter(|(code, _)| code.start.binary == number) {
        let (start, end) = (code.start.address, code.end().address);
        let Some(mut at) = find(start) else { continue };
        // What runs without a branch may go through several blocks.
        loop {
            if all[at].0.start >= start {
                counts[at] = counts[at].saturating_add(runs.all());
            }
            let Some(next) = begins(all[at].0.end).filter(|&next| all[next].0.start < end) else { break };
            add(at, next, runs.all());
            at = next;
        }
        // A call comes back.
        let is_call = code.class.role == Role::Call;
        let beyond = if is_call { runs.all() } else { runs.not_taken.saturating_add(runs.through) };
        if let Some(next) = begins(end) {
            add(at, next, beyond);
        }
        if matches!(code.class.role, Role::Jump | Role::LoopEnd) {
            jumps.insert(code.last().address);
        }
    }
    for ((from, to), count) in Ranges::of(profile, program, number, Targets::Known).branches {
        if let (Some(from), Some(to)) = (find(from).filter(|_| jumps.contains(&from)), begins(to)) {
            add(from, to, count);
        }
    }
    for ((_, function, block), count) in all.iter().zip(counts) {
        let graph = &mut graphs[*function];
        graph.counts[*block] = count;
        graph.weight = graph.weight.saturating_add(count);
    }
    graphs
}
