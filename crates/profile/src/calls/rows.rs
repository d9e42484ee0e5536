//! A call tree as rows, for people.

use std::cmp::Reverse;

use tracewright_flow::hash::HashMap;

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

/// A node of a call tree with the number of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberedRow {
    /// Number of the row.
    pub number: usize,
    /// Number of the caller's row, if the caller has one.
    pub parent: Option<usize>,
    /// Number of callers above it.
    pub depth: usize,
    /// Number of the node.
    pub node: u32,
    /// Sums of the node, with all nodes below.
    pub inclusive: CallSums,
}

impl CallTree {
    /// Returns a row for each node that executed instructions, callers before what they call.
    pub fn numbered_rows(&self) -> Vec<NumberedRow> {
        let mut numbers: HashMap<u32, usize> = HashMap::default();
        let mut rows = Vec::new();
        for TreeRow { depth, what, inclusive } in self.rows(Weight::Instructions, 0) {
            let TreeRowKind::Node(node) = what else { continue };
            let (number, parent) = (rows.len(), self.tree.nodes()[node as usize].parent);
            let parent = parent.and_then(|parent| numbers.get(&parent).copied());
            numbers.insert(node, number);
            rows.push(NumberedRow { number, parent, depth, node, inclusive });
        }
        rows
    }

    /// Returns the weight of the whole tree.
    pub fn total(&self, weight: Weight) -> u64 {
        self.tree.nodes().iter().map(|node| weight.of(&node.own)).sum()
    }

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
