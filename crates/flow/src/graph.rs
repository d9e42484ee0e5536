use tracewright_core::{Flow, Isa, MemorySpace};
use tracewright_image::Image;

use crate::edges::{Edge, Edges};
use crate::index::Index;
use crate::node::{Found, Node, NodeId, Stop};
use crate::scan::{Scan, scan};

/// So many bytes without a branch cannot be code.
const MAX_LEN: u32 = 1 << 18;

/// The blocks of a program that execution came to so far, and how they follow each other.
///
/// An arena: nodes are never moved, so following a direct branch is one array access. It belongs to one worker; the
/// image under it is shared.
#[derive(Clone, Debug)]
pub struct Graph<'i> {
    image: &'i Image,
    /// Whether to take all bytes for code.
    trust: bool,
    nodes: Vec<Node>,
    index: Index,
    edges: Edges,
}

impl<'i> Graph<'i> {
    /// The graph of a program of which nothing has run yet. `trust`: take also for code what cannot be.
    pub fn new(image: &'i Image, trust: bool) -> Self {
        Self { image, trust, nodes: Vec::new(), index: Index::new(), edges: Edges::new() }
    }

    /// The program.
    pub fn image(&self) -> &'i Image {
        self.image
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Forgets all nodes: their numbers mean nothing any more.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.index = Index::new();
        self.edges = Edges::new();
    }

    /// A node.
    #[inline(always)]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// All nodes with their numbers.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        (0..).map(NodeId).zip(&self.nodes)
    }

    /// The node that starts at `address`.
    #[inline(always)]
    pub fn at(&mut self, address: u64, isa: Isa, space: MemorySpace) -> NodeId {
        match self.index.get(address, isa, space) {
            Some(id) => id,
            None => self.find(address, isa, space),
        }
    }

    /// Where the direct branch at the end of `id` goes.
    #[inline(always)]
    pub fn taken(&mut self, id: NodeId) -> NodeId {
        let node = &self.nodes[id.index()];
        debug_assert_eq!(node.class().flow, Flow::Direct);
        if node.taken.is_some() { node.taken } else { self.link_taken(id) }
    }

    /// The node after `id`: where a branch that is not taken goes, and where a call returns to.
    #[inline(always)]
    pub fn next(&mut self, id: NodeId) -> NodeId {
        let node = &self.nodes[id.index()];
        if node.next.is_some() { node.next } else { self.link_next(id) }
    }

    /// The indirect branch at the end of `from` went to `to`.
    ///
    /// Kept apart from looking up `to` by its address: that does not have to wait until `from` is known, so a processor
    /// can be far ahead with it.
    #[inline(always)]
    pub fn went(&mut self, from: NodeId, to: NodeId) {
        self.edges.count(from, to);
    }

    /// Where indirect branches went up to now: they are counted anew.
    pub(crate) fn take_edges(&mut self) -> Edges {
        if self.edges.is_empty() {
            // Most often there is nothing to take, and a table is not made for nothing.
            return Edges::none();
        }
        std::mem::replace(&mut self.edges, Edges::new())
    }

    /// Bytes of the table of where indirect branches went. That of nodes is small: walkers start it anew.
    pub fn memory(&self) -> usize {
        self.edges.memory()
    }

    /// Where indirect branches went.
    pub fn edges(&self) -> impl Iterator<Item = &Edge> {
        self.edges.iter()
    }

    #[cold]
    fn link_taken(&mut self, id: NodeId) -> NodeId {
        let Node { target, target_isa, .. } = self.nodes[id.index()];
        let taken = self.at(target, target_isa, self.nodes[id.index()].space());
        self.nodes[id.index()].taken = taken;
        taken
    }

    #[cold]
    fn link_next(&mut self, id: NodeId) -> NodeId {
        let node = self.nodes[id.index()];
        let next = self.at(node.end(), node.isa(), node.space());
        self.nodes[id.index()].next = next;
        next
    }

    /// Makes the node at `address`, and those that scans on the way make.
    #[cold]
    fn find(&mut self, address: u64, isa: Isa, space: MemorySpace) -> NodeId {
        // Scans that came to a boundary, and what the one after them found.
        let mut parts = Vec::new();
        let mut at = address;
        let mut found = loop {
            if let Some(id) = self.index.get(at, isa, space) {
                break self.nodes[id.index()].found();
            }
            match scan(self.image, space, at, isa, self.trust) {
                Scan::Done(found) => {
                    self.add(Node::new(at, isa, space, found));
                    break found;
                }
                Scan::Boundary { len, count } => {
                    parts.push((at, len, count));
                    at = at.wrapping_add(len.into());
                    if at.wrapping_sub(address) > MAX_LEN.into() {
                        break Found::endless(isa);
                    }
                }
            }
        };
        for (start, len, count) in parts.into_iter().rev() {
            found = Found { len: found.len + len, count: found.count + count, ..found };
            if found.stop == Stop::Endless || found.len > MAX_LEN {
                found = Found::endless(isa);
            }
            // From a part of what has no end, the end may be in reach.
            if found.stop != Stop::Endless || start == address {
                self.add(Node::new(start, isa, space, found));
            }
        }
        self.index.get(address, isa, space).unwrap_or(NodeId::NONE)
    }

    fn add(&mut self, node: Node) {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(node);
        self.index.insert(node.start(), node.isa(), node.space(), id);
    }
}
