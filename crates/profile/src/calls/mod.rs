//! Who called whom: calls and returns found in elements in order.
//!
//! [`Tracker`] takes elements and tells a [`Watch`] which functions are entered and left; [`Tree`] is one that sums up what ran under
//! which callers.

mod stack;
mod tracker;
mod tree;

use crate::functions::Functions;

/// A call tree with the names of all that is in it.
#[derive(Clone, Debug, Default)]
pub struct CallTree {
    /// What ran under which callers.
    pub tree: Tree,
    /// Its functions.
    pub functions: Functions,
    /// The names of its threads.
    pub threads: Vec<String>,
    /// Whether cycles are known.
    pub has_cycles: bool,
}

impl CallTree {
    /// Adds the tree of a source, with the names of its threads. Threads of the same name are one.
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

    /// Functions from the outermost on, the thread before them where there are several.
    #[must_use]
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

pub use stack::{DEEPEST, How, Watch};
pub use tracker::{Losses, Thread, Tracker};
pub use tree::{Calls, Edge, Node, Sums, Tree};
