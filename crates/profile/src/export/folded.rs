//! Folded stacks: `main;sort;compare 1234`, a line for each stack, as flamegraph.pl, inferno and speedscope read them.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::calls::{CallTree, Sums};

/// What stacks weigh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Instructions.
    Instructions,
    /// Cycles.
    Cycles,
}

impl Weight {
    /// That of sums.
    #[must_use]
    pub const fn of(self, sums: &Sums) -> u64 {
        match self {
            Self::Instructions => sums.instructions,
            Self::Cycles => sums.cycles,
        }
    }
}

/// Stacks in which something ran itself.
#[must_use]
pub fn write(calls: &CallTree, weight: Weight) -> String {
    let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
    for (at, node) in (0..).zip(calls.tree.nodes()) {
        let own = weight.of(&node.own);
        if own > 0 {
            // What separates frames cannot be in names. Nothing in them ends a line.
            let stack = calls.stack(at);
            let names: Vec<_> = stack.iter().map(|name| name.replace(';', ":")).collect();
            *stacks.entry(names.join(";")).or_default() += own;
        }
    }
    let mut text = String::new();
    for (stack, own) in stacks {
        let _ = writeln!(text, "{stack} {own}");
    }
    text
}
