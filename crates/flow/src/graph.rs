use tracewright_core::{Flow, Isa, MemorySpace};
use tracewright_image::Image;

use crate::edges::{Edge, Edges};
use crate::index::Index;
use crate::node::{Found, Node, NodeId, Stop};
use crate::scan::{Scan, scan};

/// Maximum number of bytes without a branch in real code.
const MAX_LEN: u32 = 1 << 18;

/// The blocks of a program that execution has reached, and the links between them.
///
/// The graph is an arena: nodes never move, so following a direct branch is one array access. Each worker has a graph
/// of its own. The image is shared.
#[derive(Clone, Debug)]
pub struct Graph<'i> {
    image: &'i Image,
    /// Whether to treat all bytes as code.
    trust: bool,
    nodes: Vec<Node>,
    index: Index,
    edges: Edges,
}

impl<'i> Graph<'i> {
    /// Creates an empty graph of a program. With `trust`, bytes that cannot be code are treated as code.
    pub fn new(image: &'i Image, trust: bool) -> Self {
        Self { image, trust, nodes: Vec::new(), index: Index::new(), edges: Edges::new() }
    }

    /// Returns the program.
    pub fn image(&self) -> &'i Image {
        self.image
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Removes all nodes. Their numbers lose their meaning.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.index = Index::new();
        self.edges = Edges::new();
    }

    /// Returns a node.
    #[inline(always)]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Returns all nodes with their numbers.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        (0..).map(NodeId).zip(&self.nodes)
    }

    /// Returns the node that starts at `address`.
    #[inline(always)]
    pub fn at(&mut self, address: u64, isa: Isa, space: MemorySpace) -> NodeId {
        match self.index.get(address, isa, space) {
            Some(id) => id,
            None => self.find(address, isa, space),
        }
    }

    /// Returns the target of the direct branch at the end of `id`, or of the pair.
    #[inline(always)]
    pub fn taken(&mut self, id: NodeId) -> NodeId {
        let node = &self.nodes[id.index()];
        debug_assert!(matches!(node.class().flow, Flow::Direct | Flow::Pair));
        if node.taken.is_some() { node.taken } else { self.link_taken(id) }
    }

    /// Returns the node after `id`, where a branch that is not taken goes and a call returns.
    #[inline(always)]
    pub fn next(&mut self, id: NodeId) -> NodeId {
        let node = &self.nodes[id.index()];
        if node.next.is_some() { node.next } else { self.link_next(id) }
    }

    /// Counts that the indirect branch at the end of `from` went to `to`.
    ///
    /// This is separate from looking up `to` by its address: the lookup does not depend on `from`, so a processor can
    /// run it far ahead.
    #[inline(always)]
    pub fn went(&mut self, from: NodeId, to: NodeId) {
        self.edges.count(from, to);
    }

    /// Removes and returns the counted targets of indirect branches.
    pub(crate) fn take_edges(&mut self) -> Edges {
        if self.edges.is_empty() {
            // Most often there are none, and no table is allocated.
            return Edges::none();
        }
        std::mem::replace(&mut self.edges, Edges::new())
    }

    /// Returns the memory in bytes of the counted targets. The table of nodes is small, since walkers limit it.
    pub fn memory(&self) -> usize {
        self.edges.memory()
    }

    /// Returns the counted targets of indirect branches.
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

    /// Creates the node at `address`, and those that scans on the way find.
    #[cold]
    fn find(&mut self, address: u64, isa: Isa, space: MemorySpace) -> NodeId {
        // Scans that ended at a boundary, and what the next one found.
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
            // From a later start, the end of what seemed endless may be in reach.
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
