//! A call tree as rows, for people.

use std::cmp::Reverse;

use super::{CallSums, CallTree};
use crate::export::folded::Weight;

/// A row of a call tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeRow {
    /// Number of callers above it that are shown.
    pub depth: usize,
    /// Content of the row.
    pub what: TreeRowKind,
    /// Sums of the nodes that the row stands for, with all nodes below.
    pub inclusive: CallSums,
}

/// Content of a row of a call tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeRowKind {
    /// A node, by number.
    Node(u32),
    /// So many nodes that weigh too little to be shown.
    Smaller(usize),
}

impl CallTree {
    /// Returns the rows of the tree: each function, the heaviest call first, before what it calls. Functions that weigh
    /// less than `least` together with what they call are summed up, and left out if the sum is less, too. Threads are rows
    /// if there are several.
    pub fn rows(&self, weight: Weight, least: u64) -> Vec<TreeRow> {
        let nodes = self.tree.nodes();
        let inclusive = self.tree.inclusive();
        let weigh = |node: u32| weight.of(&inclusive[node as usize]);
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
        let mut roots = Vec::new();
        for (at, node) in (0..).zip(nodes).filter(|(at, _)| weigh(*at) > 0) {
            match node.parent {
                Some(parent) => children[parent as usize].push(at),
                None => roots.push(at),
            }
        }
        if self.threads.len() <= 1 {
            roots = roots.iter().flat_map(|&root| std::mem::take(&mut children[root as usize])).collect();
        }
        let mut rows = Vec::new();
        let mut todo = Vec::new();
        let add = |todo: &mut Vec<TreeRow>, mut level: Vec<u32>, depth: usize| {
            level.sort_by_key(|&at| (Reverse(weigh(at)), self.name(at)));
            let shown = level.partition_point(|&at| weigh(at) >= least.max(1));
            let (level, smaller) = level.split_at(shown);
            let mut sum = CallSums::default();
            smaller.iter().for_each(|&at| sum += inclusive[at as usize]);
            if weight.of(&sum) >= least.max(1) {
                todo.push(TreeRow { depth, what: TreeRowKind::Smaller(smaller.len()), inclusive: sum });
            }
            let row =
                |&at: &u32| TreeRow { depth, what: TreeRowKind::Node(at), inclusive: inclusive[at as usize] };
            todo.extend(level.iter().rev().map(row));
        };
        add(&mut todo, roots, 0);
        while let Some(row) = todo.pop() {
            rows.push(row);
            if let TreeRowKind::Node(at) = row.what {
                add(&mut todo, std::mem::take(&mut children[at as usize]), row.depth + 1);
            }
        }
        rows
    }

    /// Returns the name of a node: of its function, or of its thread.
    pub fn name(&self, node: u32) -> &str {
        let Some(of) = self.tree.nodes().get(node as usize) else { return "?" };
        match of.parent {
            Some(_) => self.functions.name(of.function),
            None => self.threads.get(of.function as usize).map_or("?", String::as_str),
        }
    }
}
