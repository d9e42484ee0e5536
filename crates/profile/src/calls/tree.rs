//! Instructions and cycles by call path.

use std::ops::AddAssign;

use super::stack::{How, Watch};
use tracewright_flow::hash::HashMap;

/// Instructions and cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallSums {
    /// Instructions executed.
    pub instructions: u64,
    /// Cycles of these instructions, as far as known.
    pub cycles: u64,
}

impl AddAssign for CallSums {
    fn add_assign(&mut self, other: Self) {
        self.instructions += other.instructions;
        self.cycles += other.cycles;
    }
}

/// A function on one call path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Node of the caller. `None` if this node is a thread.
    pub parent: Option<u32>,
    /// Number of the function, or of the thread.
    pub function: u32,
    /// Number of calls from the parent. Calls of inlined functions are not in it.
    pub calls: u64,
    /// Set if the function is only inlined into the parent, and never called.
    pub is_inlined: bool,
    /// CallSums of the function itself, without its callees.
    pub own: CallSums,
}

impl Node {
    /// Returns the number of calls; `None` for inlined functions and threads, which are not called.
    pub fn counted_calls(&self) -> Option<u64> {
        (!self.is_inlined && self.parent.is_some()).then_some(self.calls)
    }
}

/// Call tree: the sums of each function on each call path.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    children: HashMap<(Option<u32>, u32), u32>,
    /// Current node path of each suspended thread. The first node is the thread's.
    stacks: HashMap<u32, Vec<u32>>,
    thread: u32,
    /// Current node path of the running thread.
    stack: Vec<u32>,
    /// Node of the inlined function that the last block ended in, if it did: what is entered next is called from there.
    site: Option<u32>,
    /// Number of times that a node was not created because of [`MOST_NODES`].
    folded: u64,
    /// Set while calls are not counted because they are outside the requested time.
    is_quiet: bool,
}

/// Totals of a function over all call paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Number of calls.
    pub calls: u64,
    /// CallSums of the function itself.
    pub own: CallSums,
    /// CallSums of the function and everything it called. Recursion is counted once.
    pub inclusive: CallSums,
}

/// Totals of all calls from one function to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edge {
    /// Number of calls.
    pub calls: u64,
    /// CallSums of the calls. Recursion is counted once.
    pub inclusive: CallSums,
    /// Set if the callee is only inlined into the caller, and never called.
    pub is_inlined: bool,
    /// Set if `calls` is an estimate, because the callee is inlined: no instruction marks where it begins.
    pub is_estimate: bool,
}

/// Maximum number of nodes. Beyond it, sums are attributed to the caller.
const MOST_NODES: usize = 1 << 20;

impl Watch for Tree {
    fn thread(&mut self, number: u32) {
        self.stacks.insert(self.thread, std::mem::take(&mut self.stack));
        self.stack = self.stacks.remove(&number).unwrap_or_default();
        self.site = None;
        self.thread = number;
        if self.stack.is_empty() {
            let root = self.child(None, number);
            self.stack.push(root);
        }
    }

    fn enter(&mut self, function: u32, how: How) {
        let parent = self.site.take().unwrap_or_else(|| self.current());
        let node = self.child(Some(parent), function);
        if let Some(node) = self.nodes.get_mut(node as usize).filter(|_| node != parent) {
            node.calls += u64::from(how.is_call() && !self.is_quiet);
            node.is_inlined = false;
        }
        self.stack.push(node);
    }

    fn leave(&mut self) {
        self.site = None;
        // The thread's node stays.
        if self.stack.len() > 1 {
            self.stack.pop();
        }
    }
}

impl Tree {
    /// Returns the node of the function that runs now.
    pub fn current(&self) -> u32 {
        self.stack.last().copied().unwrap_or(0)
    }

    /// Returns the node of functions that are inlined into the function that runs now, the outermost first.
    #[inline]
    pub fn inlined(&mut self, functions: &[u32]) -> u32 {
        let mut node = self.current();
        for &function in functions {
            let before = self.nodes.len();
            node = self.child(Some(node), function);
            if self.nodes.len() > before {
                self.nodes[node as usize].is_inlined = true;
            }
        }
        node
    }

    /// Says that what is entered next is called from this node: the function that runs now, or one inlined into it.
    pub fn call_from(&mut self, node: u32) {
        self.site = Some(node);
    }

    /// Sets whether calls are counted from now on. Initially they are.
    pub fn count_calls(&mut self, count: bool) {
        self.is_quiet = !count;
    }

    /// Adds to the sums of a node.
    pub fn add(&mut self, node: u32, sums: CallSums) {
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.own += sums;
        }
    }

    /// Returns the child of a node for a function. Returns the node itself if there are too many nodes.
    fn child(&mut self, parent: Option<u32>, function: u32) -> u32 {
        if let Some(&node) = self.children.get(&(parent, function)) {
            return node;
        }
        if self.nodes.len() >= MOST_NODES {
            self.folded += 1;
            return parent.unwrap_or(0);
        }
        let node = self.nodes.len() as u32;
        self.nodes.push(Node { parent, function, calls: 0, is_inlined: false, own: CallSums::default() });
        self.children.insert((parent, function), node);
        node
    }

    /// Returns all nodes. Callers come before their callees.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns how often something was attributed to the caller because there were too many nodes.
    pub fn folded(&self) -> u64 {
        self.folded
    }

    /// Adds another tree. `functions` and `threads` map its numbers to numbers of this tree.
    pub fn merge(&mut self, other: &Self, functions: &[u32], threads: &[u32]) {
        let mut here: Vec<u32> = Vec::with_capacity(other.nodes.len());
        for node in &other.nodes {
            let (parent, numbers) = match node.parent {
                Some(parent) => (Some(here[parent as usize]), functions),
                None => (None, threads),
            };
            let function = numbers.get(node.function as usize).copied().unwrap_or(node.function);
            let before = self.nodes.len();
            let to = self.child(parent, function);
            here.push(to);
            self.add(to, node.own);
            let is_new = self.nodes.len() > before;
            let of = &mut self.nodes[to as usize];
            of.is_inlined = node.is_inlined && (is_new || of.is_inlined);
            if Some(to) != parent {
                of.calls += node.calls;
            }
        }
        self.folded += other.folded;
    }

    /// Returns the sums of each node together with all nodes below it.
    pub fn inclusive(&self) -> Vec<CallSums> {
        let mut sums: Vec<_> = self.nodes.iter().map(|node| node.own).collect();
        for (at, node) in self.nodes.iter().enumerate().rev() {
            if let Some(parent) = node.parent {
                let own = sums[at];
                sums[parent as usize] += own;
            }
        }
        sums
    }

    /// Returns for each node whether its function also occurs further up the path.
    fn recursive(&self) -> Vec<bool> {
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); self.nodes.len()];
        let mut todo = Vec::new();
        for (at, node) in (0..).zip(&self.nodes) {
            match node.parent {
                Some(parent) => children[parent as usize].push(at),
                None => todo.push((at, false)),
            }
        }
        let mut recursive = vec![false; self.nodes.len()];
        let mut active: HashMap<u32, u32> = HashMap::default();
        while let Some((at, is_done)) = todo.pop() {
            let node = &self.nodes[at as usize];
            if node.parent.is_some() {
                let active = active.entry(node.function).or_default();
                if is_done {
                    *active -= 1;
                    continue;
                }
                recursive[at as usize] = *active > 0;
                *active += 1;
                todo.push((at, true));
            }
            todo.extend(children[at as usize].iter().map(|&child| (child, false)));
        }
        recursive
    }

    /// Returns the totals of all functions.
    pub fn functions(&self) -> HashMap<u32, Calls> {
        let (inclusive, recursive) = (self.inclusive(), self.recursive());
        let mut all: HashMap<u32, Calls> = HashMap::default();
        for (at, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.parent.is_some()) {
            let of = all.entry(node.function).or_default();
            of.calls += node.calls;
            of.own += node.own;
            if !recursive[at] {
                of.inclusive += inclusive[at];
            }
        }
        all
    }

    /// Returns the totals of all calls, keyed by caller and callee.
    pub fn edges(&self) -> HashMap<(u32, u32), Edge> {
        let (inclusive, recursive) = (self.inclusive(), self.recursive());
        let mut all: HashMap<(u32, u32), Edge> = HashMap::default();
        for (at, node) in self.nodes.iter().enumerate() {
            let Some(parent) = node.parent.map(|parent| &self.nodes[parent as usize]) else { continue };
            if parent.parent.is_none() {
                continue;
            }
            let new = Edge { is_inlined: true, ..Edge::default() };
            let edge = all.entry((parent.function, node.function)).or_insert(new);
            edge.is_inlined &= node.is_inlined;
            edge.calls += node.calls;
            if !recursive[at] {
                edge.inclusive += inclusive[at];
            }
        }
        all
    }

    /// Returns the nodes from the outermost function to `node`, without the thread.
    pub fn path(&self, node: u32) -> Vec<u32> {
        let mut path: Vec<_> = self.up(node).collect();
        path.pop();
        path.reverse();
        path
    }

    /// Returns the thread of a node.
    pub fn thread_of(&self, node: u32) -> u32 {
        self.up(node).last().map_or(0, |root| self.nodes[root as usize].function)
    }

    /// Iterates over a node and its callers, up to the thread.
    fn up(&self, node: u32) -> impl Iterator<Item = u32> {
        let known = Some(node).filter(|&node| (node as usize) < self.nodes.len());
        std::iter::successors(known, |&at| self.nodes[at as usize].parent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instructions(instructions: u64) -> CallSums {
        CallSums { instructions, cycles: 0 }
    }

    /// Function 1 runs, 2 is inlined into it, and 3 into 2, which calls 4.
    fn tree() -> Tree {
        let mut tree = Tree::default();
        tree.thread(0);
        tree.enter(1, How::Found);
        tree.add(tree.current(), instructions(5));
        let inner = tree.inlined(&[2, 3]);
        tree.add(inner, instructions(7));
        tree.call_from(inner);
        tree.enter(4, How::Call);
        tree.add(tree.current(), instructions(11));
        tree.leave();
        tree.add(tree.current(), instructions(13));
        // Nothing is inlined where this call is.
        tree.enter(4, How::Call);
        tree.leave();
        tree
    }

    #[test]
    fn inlined_functions_are_callers() {
        let tree = tree();
        let functions = tree.functions();
        assert_eq!(functions[&1].own, instructions(18));
        assert_eq!(functions[&1].inclusive, instructions(36));
        assert_eq!((functions[&2].own, functions[&2].inclusive), (instructions(0), instructions(18)));
        assert_eq!((functions[&4].calls, functions[&3].calls), (2, 0));
        let edges = tree.edges();
        assert_eq!(edges[&(3, 4)], Edge { calls: 1, inclusive: instructions(11), ..Edge::default() });
        assert_eq!(edges[&(1, 2)], Edge { inclusive: instructions(18), is_inlined: true, ..Edge::default() });
        assert_eq!(edges[&(1, 4)].calls, 1);
    }

    #[test]
    fn a_function_that_is_also_called_is_not_only_inlined() {
        let (mut tree, mut called) = (tree(), Tree::default());
        called.thread(0);
        called.enter(1, How::Found);
        called.enter(2, How::Call);
        let is_inlined = |tree: &Tree, function| {
            tree.nodes()
                .iter()
                .filter(|node| node.parent.is_some() && node.function == function)
                .any(|node| node.is_inlined)
        };
        assert!(is_inlined(&tree, 2) && !is_inlined(&called, 2));
        let numbers = [0, 1, 2, 3, 4];
        let mut other = called.clone();
        other.merge(&tree, &numbers, &[0]);
        tree.merge(&called, &numbers, &[0]);
        for tree in [tree, other] {
            assert!(!is_inlined(&tree, 2) && is_inlined(&tree, 3));
            assert_eq!(tree.edges()[&(1, 2)].calls, 1);
        }
    }
}
