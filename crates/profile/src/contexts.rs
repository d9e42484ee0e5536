//! Counts of blocks by calling context: the call sites through which a block was reached.
//!
//! [`Contexts`] is a [`Watch`] beside a [`Tracker`](crate::Tracker). Recursion is collapsed: a call site that is already
//! part of the context leads back to the context that it led to first.

use crate::calls::{How, Watch};
use crate::counts::{Code, Place};
use tracewright_flow::hash::HashMap;

/// Counts of blocks by calling context.
#[derive(Clone, Debug)]
pub struct Contexts {
    /// Contexts; the first is that of code whose callers are not known.
    nodes: Vec<Node>,
    children: HashMap<(u32, Place), u32>,
    /// Number of runs of each block in each context.
    pub blocks: HashMap<(u32, Code), u64>,
    /// Number of calls by context, call site and called place.
    pub calls: HashMap<(u32, Place, Place), u64>,
    /// Suspended threads.
    others: HashMap<u32, Calling>,
    thread: u32,
    /// The running thread.
    calling: Calling,
    /// Start of the next block.
    next: Option<Place>,
    folded: u64,
    /// Calls deeper than [`DEEPEST`](crate::DEEPEST). What ran in them counts for the function at that depth.
    pub too_deep: u64,
}

/// What a thread does.
#[derive(Clone, Debug, Default)]
struct Calling {
    /// Contexts of its active functions.
    stack: Vec<u32>,
    /// Last instruction of its last block.
    last: Option<Place>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    site: Option<Place>,
}

/// Maximum number of contexts. What is called beyond them counts without a context.
const MOST_NODES: usize = 1 << 20;
/// The context of code whose callers are not known.
const ROOT: u32 = 0;

impl Default for Contexts {
    fn default() -> Self {
        Self {
            nodes: vec![Node { parent: ROOT, site: None }],
            children: HashMap::default(),
            blocks: HashMap::default(),
            calls: HashMap::default(),
            others: HashMap::default(),
            thread: 0,
            calling: Calling::default(),
            next: None,
            folded: 0,
            too_deep: 0,
        }
    }
}

impl Watch for Contexts {
    fn thread(&mut self, number: u32) {
        self.others.insert(self.thread, std::mem::take(&mut self.calling));
        self.calling = self.others.remove(&number).unwrap_or_default();
        self.thread = number;
    }

    fn enter(&mut self, _function: u32, how: How) {
        let context = match (how, self.calling.last) {
            (How::Call | How::Tail, Some(site)) => {
                let caller = self.current();
                if let Some(callee) = self.next {
                    *self.calls.entry((caller, site, callee)).or_default() += 1;
                }
                self.child(caller, site)
            }
            // A part that lies elsewhere is the same function.
            (How::Part, _) => self.current(),
            _ => ROOT,
        };
        self.calling.stack.push(context);
    }

    fn leave(&mut self) {
        self.calling.stack.pop();
    }
}

impl Contexts {
    /// Notes that a block begins at this place. To be called before the tracker takes the block.
    pub fn arrive(&mut self, start: Place) {
        self.next = Some(start);
    }

    /// Counts a block that ran, after the tracker has taken it; `None` if it does not count.
    pub fn ran(&mut self, code: Option<Code>, last: Place) {
        self.calling.last = Some(last);
        if let Some(code) = code {
            *self.blocks.entry((self.current(), code)).or_default() += 1;
        }
    }

    fn current(&self) -> u32 {
        self.calling.stack.last().copied().unwrap_or(ROOT)
    }

    fn child(&mut self, parent: u32, site: Place) -> u32 {
        if let Some(&known) = self.children.get(&(parent, site)) {
            return known;
        }
        if let Some(known) = self.up(parent).find(|&at| self.nodes[at as usize].site == Some(site)) {
            return known;
        }
        if self.nodes.len() >= MOST_NODES {
            self.folded += 1;
            return ROOT;
        }
        let node = self.nodes.len() as u32;
        self.nodes.push(Node { parent, site: Some(site) });
        self.children.insert((parent, site), node);
        node
    }

    /// Iterates over a context and those that it extends.
    fn up(&self, context: u32) -> impl Iterator<Item = u32> {
        let extended = |at: &u32| Some(self.nodes[*at as usize].parent).filter(|_| *at != ROOT);
        std::iter::successors(Some(context), extended)
    }

    /// Returns the call sites of a context, the outermost first.
    pub fn sites(&self, context: u32) -> Vec<Place> {
        let mut sites: Vec<_> = self.up(context).filter_map(|at| self.nodes[at as usize].site).collect();
        sites.reverse();
        sites
    }

    /// Returns the number of calls that lost their context because there were too many.
    pub fn folded(&self) -> u64 {
        self.folded
    }

    /// Adds the counts of another source.
    pub fn merge(&mut self, other: &Self) {
        let mut here = vec![ROOT];
        for node in &other.nodes[1..] {
            let parent = here[node.parent as usize];
            here.push(node.site.map_or(parent, |site| self.child(parent, site)));
        }
        for (&(context, code), count) in &other.blocks {
            *self.blocks.entry((here[context as usize], code)).or_default() += count;
        }
        for (&(context, site, callee), count) in &other.calls {
            *self.calls.entry((here[context as usize], site, callee)).or_default() += count;
        }
        self.folded += other.folded;
        self.too_deep += other.too_deep;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(address: u64) -> Place {
        Place { binary: 0, address }
    }

    /// Calls the function at `to` from the instruction at `from`.
    fn call(contexts: &mut Contexts, from: u64, to: u64) -> u32 {
        contexts.ran(None, place(from));
        contexts.arrive(place(to));
        contexts.enter(0, How::Call);
        contexts.current()
    }

    #[test]
    fn contexts_are_chains_of_call_sites() {
        let mut contexts = Contexts::default();
        contexts.thread(0);
        contexts.enter(0, How::Found);
        let first = call(&mut contexts, 0x10, 0x100);
        let inner = call(&mut contexts, 0x110, 0x200);
        assert_eq!(contexts.sites(inner), [0x10, 0x110].map(place));
        contexts.leave();
        contexts.leave();
        let second = call(&mut contexts, 0x20, 0x100);
        assert_ne!(first, second);
        contexts.thread(1);
        assert_eq!(contexts.current(), ROOT);
        contexts.thread(0);
        assert_eq!(contexts.current(), second);
        assert_eq!(contexts.calls[&(ROOT, place(0x10), place(0x100))], 1);
    }

    #[test]
    fn recursion_is_collapsed() {
        let mut contexts = Contexts::default();
        contexts.enter(0, How::Found);
        let outer = call(&mut contexts, 0x10, 0x100);
        let inner = call(&mut contexts, 0x110, 0x100);
        assert_ne!(outer, inner);
        for _ in 0..10 {
            assert_eq!(call(&mut contexts, 0x110, 0x100), inner);
        }
        assert_eq!(contexts.calls[&(inner, place(0x110), place(0x100))], 10);
        (0..11).for_each(|_| contexts.leave());
        assert_eq!(contexts.current(), outer);
        let mut both = Contexts::default();
        both.merge(&contexts);
        both.merge(&contexts);
        assert_eq!(both.nodes.len(), contexts.nodes.len());
        assert_eq!(both.calls[&(inner, place(0x110), place(0x100))], 20);
    }
}
