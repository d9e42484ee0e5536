//! Folded stacks for flamegraph.pl, inferno and speedscope: `main;sort;compare 1234`, one line for each stack.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::calls::{CallSums, CallTree};

/// Weight of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Instructions.
    Instructions,
    /// Cycles.
    Cycles,
}

impl Weight {
    /// Returns the chosen one of two sums.
    pub const fn of(self, sums: &CallSums) -> u64 {
        match self {
            Self::Instructions => sums.instructions,
            Self::Cycles => sums.cycles,
        }
    }
}

/// Writes all stacks whose innermost function has a weight of its own.
pub fn write(calls: &CallTree, weight: Weight) -> String {
    let mut text = String::new();
    for (stack, own) in stacks(calls, weight) {
        let _ = writeln!(text, "{stack} {own}");
    }
    text
}

/// Writes the stacks of two runs with both weights, the first run's first: `main;sort 1234 987`. Stacks of one run only have 0 for
/// the other.
pub fn difference(runs: [&CallTree; 2], weight: Weight) -> String {
    let mut both: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for (at, calls) in runs.into_iter().enumerate() {
        for (stack, own) in stacks(calls, weight) {
            both.entry(stack).or_default()[at] = own;
        }
    }
    let mut text = String::new();
    for (stack, [before, after]) in both {
        let _ = writeln!(text, "{stack} {before} {after}");
    }
    text
}

fn stacks(calls: &CallTree, weight: Weight) -> BTreeMap<String, u64> {
    let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
    for (at, node) in (0..).zip(calls.tree.nodes()) {
        let own = weight.of(&node.own);
        if own > 0 {
            // The separator cannot be part of a name. Names contain no line breaks.
            let stack = calls.stack(at);
            let names: Vec<_> = stack.iter().map(|name| name.replace(';', ":")).collect();
            *stacks.entry(names.join(";")).or_default() += own;
        }
    }
    stacks
}
