//! Calls and returns found in elements.
//!
//! [`Tracker`] takes elements in order and reports to a [`Watch`] which functions are entered and left. [`Tree`] is a
//! `Watch` that sums up instructions and cycles by call path.

mod rows;
mod stack;
mod tracker;
mod tree;

use crate::functions::Functions;
use crate::inlined::InlinedCopy;
use tracewright_flow::hash::HashMap;

/// A call tree with the names of its functions and threads.
#[derive(Clone, Debug, Default)]
pub struct CallTree {
    /// Instructions and cycles by call path.
    pub tree: Tree,
    /// Functions of the tree.
    pub functions: Functions,
    /// Names of the threads.
    pub threads: Vec<String>,
    /// Set if cycles are known.
    pub has_cycles: bool,
}

impl CallTree {
    /// Adds the tree of another source with its function and thread names. Threads with the same name become one.
    pub fn merge(&mut self, tree: &Tree, functions: &Functions, threads: &[String]) {
        let functions = self.functions.merge(functions);
        let threads = threads.iter().map(|name| {
            let known = self.threads.iter().position(|known| known == name);
            known.unwrap_or_else(|| {
                self.threads.push(name.clone());
                self.threads.len() - 1
            }) as u32
        });
        let threads: Vec<_> = threads.collect();
        self.tree.merge(tree, &functions, &threads);
    }

    /// Returns the totals of all calls, keyed by caller and callee. `copies` tells calls of inlined functions.
    pub fn edges(&self, copies: &[InlinedCopy]) -> HashMap<(u32, u32), Edge> {
        let mut edges = self.tree.edges();
        for copy in copies {
            if let Some(edge) = edges.get_mut(&(copy.caller, copy.callee)) {
                edge.calls += copy.calls;
                edge.is_estimate = true;
            }
        }
        edges
    }

    /// Returns the names of the functions from the outermost to `node`, preceded by the thread if there are several threads.
    pub fn stack(&self, node: u32) -> Vec<&str> {
        let mut names = Vec::new();
        if self.threads.len() > 1 {
            names.extend(self.threads.get(self.tree.thread_of(node) as usize).map(String::as_str));
        }
        let nodes = self.tree.nodes();
        names.extend(self.tree.path(node).iter().map(|&at| self.functions.name(nodes[at as usize].function)));
        names
    }
}

pub use rows::{NumberedRow, TreeRow, TreeRowKind};
pub use stack::{DEEPEST, How, StackedCall, Watch};
pub use tracker::{Losses, Thread, Tracker};
pub use tree::{CallSums, Calls, Edge, Node, Tree};
