//! The current position of execution, and how it moves.

use alloc::vec::Vec;

use tracewright_core::{Block, Class, Element, Ended, Flow, Isa, Role};
use tracewright_flow::{Calls, ElementSink, Graph, Instructions, Node, NodeId, Stop};
use tracewright_image::{Halves, Image};

use super::rows::Row;
use crate::packet::History;
use crate::{ImplicitReturn, Mode, Params};

/// Position of execution in a program, and the half-words that are known to have retired from there on.
#[derive(Clone, Debug)]
pub(super) struct Walk<'i> {
    pub(super) graph: Graph<'i>,
    pub(super) calls: Calls,
    pub(super) rows: Vec<Row>,
    isa: Isa,
    spaces: Halves,
    pub(super) rules: Rules,
    pub place: Place,
    /// Half-words that retired after the place was reached. They are below 0 while a history went ahead of the count.
    pub owed: i64,
    /// Number of blocks that the current message may still stand for.
    pub budget: u64,
}

/// A position of execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At the start of a node.
    At(NodeId),
    /// After the indirect jump at the end of the first node. The second is the one after the call, if the jump is a return and the
    /// call is known.
    After(NodeId, NodeId),
}

/// What a message leaves out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub mode: Mode,
    pub returns: bool,
    pairs: bool,
    /// Whether direct jumps have a bit in the history.
    pub jumps: bool,
}

/// Reason why execution cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stuck {
    /// The known program ends in this node.
    End(NodeId),
    /// The message has no outcome for the branch at the end of this node.
    NoOutcome(NodeId),
    /// The direct jump at the end of this node was not taken.
    NotTaken(NodeId),
    /// The message has no target for the indirect jump at the end of this node.
    NoTarget(NodeId),
    /// There is no call for the return at the end of this node.
    NoCall(NodeId),
    /// The history has branches that the count does not reach, or that were never reached.
    Unreached(NodeId),
    /// The message stands for more blocks than are allowed, or the sink takes nothing more.
    TooMany,
}

/// The way that the last instruction of a message went, if it is a branch without a bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last {
    Taken,
    NotTaken,
    /// It is not known yet.
    Unknown,
}

/// Maximum number of open calls. Encoders have fewer, which does no harm.
const MOST_CALLS: usize = 32;
/// Number of blocks without a branch after which the walk checks whether there is one.
const CAUTIOUS: u32 = 32;
/// Maximum number of blocks without a branch in real programs.
const MOST_JUMPS: u32 = 1 << 20;
/// Maximum number of nodes, after which the graph is emptied.
const MAX_NODES: usize = 1 << 18;

impl<'i> Walk<'i> {
    pub fn new(image: &'i Image, isa: Isa, params: &Params) -> Self {
        Self {
            graph: Graph::new(image, false),
            calls: Calls::new(MOST_CALLS, 0),
            rows: Vec::new(),
            isa,
            spaces: Halves::ANY,
            rules: Rules {
                mode: params.mode,
                returns: params.implicit_return != ImplicitReturn::Off,
                pairs: params.sequential_jump,
                jumps: params.all_jumps && params.mode == Mode::History,
            },
            place: Place::At(NodeId::NONE),
            owed: 0,
            budget: 0,
        }
    }

    pub fn graph(&self) -> &Graph<'i> {
        &self.graph
    }

    pub fn graph_mut(&mut self) -> &mut Graph<'i> {
        &mut self.graph
    }

    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Returns the memory spaces of the code that runs.
    pub fn spaces(&self) -> Halves {
        self.spaces
    }

    /// Returns whether addresses tell the level of privilege.
    #[inline(always)]
    pub fn has_halves(&self) -> bool {
        self.spaces != Halves::ANY
    }

    /// Returns the address of the current position, or of the block whose jump leads away from it.
    pub fn start(&self) -> Option<u64> {
        let (Place::At(here) | Place::After(here, _)) = self.place;
        here.is_some().then(|| self.graph.node(here).start())
    }

    /// Sets the memory spaces of the code that runs from now on.
    pub fn set_spaces(&mut self, spaces: Halves) {
        if spaces != self.spaces {
            self.look_up(|walk| walk.spaces = spaces);
        }
    }

    /// Returns the return addresses of the open calls, the newest first.
    pub fn open_calls(&self) -> Vec<u64> {
        self.calls.iter().map(|(node, _)| self.graph.node(node).start()).collect()
    }

    /// Forgets the open calls.
    pub fn forget_calls(&mut self) {
        self.calls.clear();
    }

    /// Moves to `address`, where an indirect jump, a trap or the start of tracing led.
    pub fn go(&mut self, address: u64) -> NodeId {
        let to = self.graph.at(address, self.isa, self.spaces.at(address));
        if let Place::After(from, _) = self.place
            && from.is_some()
        {
            self.graph.went(from, to);
        }
        (self.place, self.owed) = (Place::At(to), 0);
        to
    }

    /// Makes the position unknown.
    pub fn lose(&mut self) {
        (self.place, self.owed) = (Place::At(NodeId::NONE), 0);
        self.calls.clear();
    }

    /// Follows execution to the last branch of the history.
    pub fn follow(
        &mut self,
        history: &mut History,
        offset: u64,
        sink: &mut impl ElementSink,
    ) -> Result<(), Stuck> {
        let (mut jumps, mut is_checked) = (0, false);
        while !history.is_empty() {
            let before = history.len();
            let most = if is_checked { u32::MAX } else { CAUTIOUS - jumps };
            let since = self.quick::<false, _>(history, Last::NotTaken, most, offset, sink);
            if history.len() < before {
                (jumps, is_checked) = (0, false);
            }
            if history.is_empty() {
                return Ok(());
            }
            jumps += since;
            let here = self.resolve(sink)?;
            // Jumps in a circle would never end.
            if jumps >= CAUTIOUS && !is_checked {
                if !self.is_branch_ahead(*history) {
                    return Err(Stuck::Unreached(here));
                }
                is_checked = true;
            }
            let before = history.len();
            self.pass(here, history, Last::NotTaken, offset, sink)?;
            (jumps, is_checked) = if history.len() < before { (0, false) } else { (jumps + 1, is_checked) };
        }
        Ok(())
    }

    /// Returns whether execution comes to a branch, or to where it cannot be followed.
    #[cold]
    fn is_branch_ahead(&mut self, history: History) -> bool {
        let (calls, place, owed, budget) = (self.calls.clone(), self.place, self.owed, self.budget);
        let mut left = history;
        let found = (0..MOST_JUMPS).any(|_| {
            let passed = self
                .resolve(&Nobody)
                .and_then(|here| self.pass(here, &mut left, Last::NotTaken, 0, &mut Nobody));
            passed.is_err() || left.len() < history.len()
        });
        (self.calls, self.place, self.owed, self.budget) = (calls, place, owed, budget);
        found
    }

    /// Follows execution as far as half-words are owed. `last` is the way of a branch at the very end that has no bit.
    #[inline(always)]
    pub fn run(
        &mut self,
        history: &mut History,
        last: Last,
        offset: u64,
        sink: &mut impl ElementSink,
    ) -> Result<(), Stuck> {
        while self.owed > 0 {
            self.quick::<true, _>(history, last, u32::MAX, offset, sink);
            if self.owed <= 0 {
                break;
            }
            let here = self.resolve(sink)?;
            let node = self.graph.node(here);
            let len = half_words(node);
            if self.owed < len || self.owed == len && node.stop() != Stop::Class {
                break;
            }
            if self.owed == len && last == Last::Unknown && node.class().conditional && history.is_empty() {
                break;
            }
            self.pass(here, history, last, offset, sink)?;
        }
        Ok(())
    }

    /// Returns the node where execution is, after an indirect jump that the trace leaves out.
    #[inline(always)]
    fn resolve(&mut self, sink: &impl ElementSink) -> Result<NodeId, Stuck> {
        match self.place {
            Place::At(here) => Ok(here),
            Place::After(..) => self.resolve_return(sink),
        }
    }

    #[inline(never)]
    fn resolve_return<S: ElementSink>(&mut self, _: &S) -> Result<NodeId, Stuck> {
        let Place::After(from, to) = self.place else { return Err(Stuck::TooMany) };
        if !to.is_some() {
            let is_return = matches!(self.graph.node(from).class().role, Role::Return | Role::Swap);
            return Err(if self.rules.returns && is_return {
                Stuck::NoCall(from)
            } else {
                Stuck::NoTarget(from)
            });
        }
        // Sinks that do not count by node see the next block.
        if S::FOLLOWS {
            self.graph.went(from, to);
        }
        self.place = Place::At(to);
        Ok(to)
    }

    /// Passes the node `here`.
    #[inline(always)]
    fn pass(
        &mut self,
        here: NodeId,
        history: &mut History,
        last: Last,
        offset: u64,
        sink: &mut impl ElementSink,
    ) -> Result<(), Stuck> {
        let node = *self.graph.node(here);
        if node.stop() != Stop::Class {
            return Err(Stuck::End(here));
        }
        self.budget = self.budget.checked_sub(1).filter(|_| !sink.is_full()).ok_or(Stuck::TooMany)?;
        let class = node.class();
        let mut taken = true;
        if class.conditional || self.rules.jumps && class.flow == Flow::Direct {
            taken = match (history.next(), self.rules.mode) {
                (Some(taken), _) => taken,
                (None, Mode::History) => return Err(Stuck::NoOutcome(here)),
                (None, Mode::Branch) => last == Last::Taken && self.owed == half_words(&node),
            };
            if !taken && !class.conditional {
                return Err(Stuck::NotTaken(here));
            }
        }
        let place = match class.flow {
            _ if !taken => Place::At(self.graph.next(here)),
            Flow::Direct if self.is_call(class) => {
                let after = self.graph.next(here);
                self.calls.push(after);
                Place::At(self.graph.taken(here))
            }
            Flow::Direct => Place::At(self.graph.taken(here)),
            Flow::Indirect | Flow::Pair => self.jump(here, class),
            Flow::Next | Flow::Isb | Flow::Wait | Flow::TransactionStart => Place::At(self.graph.next(here)),
        };
        sink.node(offset, &self.graph, here, taken);
        (self.place, self.owed) = (place, self.owed - half_words(&node));
        Ok(())
    }

    pub(super) fn is_call(&self, class: Class) -> bool {
        self.rules.returns && matches!(class.role, Role::Call | Role::Swap)
    }

    /// Returns the position after an indirect jump.
    #[inline(never)]
    fn jump(&mut self, here: NodeId, class: Class) -> Place {
        let is_return = self.rules.returns && matches!(class.role, Role::Return | Role::Swap);
        let to = is_return.then(|| self.calls.pop()).flatten().unwrap_or(NodeId::NONE);
        if self.is_call(class) {
            let after = self.graph.next(here);
            self.calls.push(after);
        }
        match class.flow {
            Flow::Pair if self.rules.pairs => Place::At(self.graph.taken(here)),
            _ => Place::After(here, to),
        }
    }

    /// Returns the address of the next instruction, if the program says it.
    pub fn address(&mut self, sink: &impl ElementSink) -> Option<u64> {
        let here = self.resolve(sink).ok()?;
        match self.owed {
            0 => Some(self.graph.node(here).start()),
            _ => self.part().map(|block| block.end),
        }
    }

    /// Returns whether the last instruction is one that the specification leaves to vendors. It may jump.
    pub fn is_custom(&self) -> bool {
        let Some(block) = self.part() else { return false };
        let space = self.spaces.at(block.start);
        let last = Instructions::new(self.graph.image(), space, &block).last();
        last.is_some_and(|last| matches!(last.bytes[0] & 0x7f, 0x0b | 0x2b | 0x5b | 0x7b))
    }

    /// Returns the part of the current node that retired, if it ends with an instruction.
    pub fn part(&self) -> Option<Block> {
        let Place::At(here) = self.place else { return None };
        let node = here.is_some().then(|| self.graph.node(here))?;
        let end = node.start().wrapping_add(2 * u64::try_from(self.owed).ok()?);
        let whole = node.block(Ended::Cut);
        for (count, found) in (1..).zip(Instructions::new(self.graph.image(), node.space(), &whole)) {
            if found.address.wrapping_add(found.len.into()) == end {
                return Some(Block { end, count, last_len: found.len, class: Class::NEXT, ..whole });
            }
        }
        None
    }

    /// Follows execution as far as it is certain, when nothing more is known.
    pub fn run_out(&mut self, offset: u64, sink: &mut impl ElementSink) {
        let mut history = History::EMPTY;
        let result = self.run(&mut history, Last::Unknown, offset, sink);
        if let (Err(_), Place::At(here)) = (result, self.place)
            && here.is_some()
        {
            // It went on from the branch at the end.
            self.owed = self.owed.min(half_words(self.graph.node(here)));
        }
        self.cut(offset, sink);
    }

    /// Emits the part of the current node that retired, and forgets that it did.
    pub fn cut(&mut self, offset: u64, sink: &mut impl ElementSink) {
        if let Some(block) = self.part() {
            sink.block(offset, &block);
        }
        self.owed = 0;
    }

    /// Empties the graph if it has become too large.
    pub fn make_room(&mut self, sink: &mut impl ElementSink) {
        if self.graph.len() > MAX_NODES {
            self.forget_nodes(sink);
        }
    }

    #[cold]
    fn forget_nodes(&mut self, sink: &mut impl ElementSink) {
        sink.forget(&self.graph);
        self.look_up(|walk| {
            walk.graph.clear();
            walk.rows.clear();
        });
    }

    /// Looks up the current position and the open calls anew, after a change.
    fn look_up(&mut self, change: impl FnOnce(&mut Self)) {
        let start_of = |node: NodeId| node.is_some().then(|| self.graph.node(node).start());
        let calls = self.open_calls();
        let place = match self.place {
            Place::At(here) => [start_of(here), None],
            Place::After(from, to) => [start_of(from), start_of(to)],
        };
        change(self);
        self.calls.clear();
        let (isa, spaces) = (self.isa, self.spaces);
        let mut at = |start| self.graph.at(start, isa, spaces.at(start));
        calls.into_iter().rev().for_each(|start| self.calls.push(at(start)));
        let [first, second] = place.map(|start| start.map_or(NodeId::NONE, &mut at));
        self.place = match self.place {
            Place::At(_) => Place::At(first),
            Place::After(..) => Place::After(first, second),
        };
    }
}

/// A sink that discards everything.
struct Nobody;

impl ElementSink for Nobody {
    fn element(&mut self, _: u64, _: &Element) {}

    #[inline(always)]
    fn node(&mut self, _: u64, _: &Graph<'_>, _: NodeId, _: bool) {}
}

/// Returns the length of a node.
#[inline(always)]
pub(super) fn half_words(node: &Node) -> i64 {
    (node.end().wrapping_sub(node.start()) / 2) as i64
}
