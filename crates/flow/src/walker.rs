mod source;

use tracewright_core::{Block, Class, Ended, Flow, Isa, MemorySpace, Role};
use tracewright_image::Image;
use tracewright_isa::ItState;

use crate::scan::instruction;
use crate::{Branches, End, Graph, Node, NodeId, ReturnStack, Stop};

/// Maximum number of nodes, after which the graph is emptied. This bounds the memory for a program of any size (to
/// about 30 MB).
const MAX_NODES: usize = 1 << 18;

/// The current position of execution in a program.
///
/// A protocol decoder calls the walker: it sets the address ([`set_address`](Self::set_address)), gives the outcome
/// of the branch at the end of the current block ([`branch`](Self::branch)), or the address up to which execution ran
/// ([`run_to`](Self::run_to)). The walker reports the blocks that ran to a [`Trail`].
#[derive(Clone, Debug)]
pub struct Walker<'i> {
    graph: Graph<'i>,
    /// For each node, the next node if its last instruction is not taken, and if it is, as far as it can be followed
    /// without further checks. All others are [`NodeId::NONE`].
    links: Vec<[NodeId; 2]>,
    space: MemorySpace,
    /// Node where execution is.
    here: NodeId,
    /// Address where execution is, if its node has not been looked up.
    address: Option<(u64, Isa)>,
    /// Node with the indirect branch that was taken last.
    from: NodeId,
    returns: ReturnStack,
    rules: Rules,
    /// Whether an indirect branch was taken whose target may be on the return stack.
    return_pending: bool,
    /// Indirect call that is added to the return stack when it is known where it went, if the rules say so.
    call_pending: NodeId,
    may_push: bool,
    /// Whether the trace unit's stack may have calls that were not seen.
    unseen_calls: bool,
}

/// A consumer of what a walker reports.
pub trait Trail {
    /// Accepts a node that was passed, and whether its last instruction was taken.
    fn node(&mut self, graph: &Graph<'_>, id: NodeId, taken: bool);
    /// Accepts a part of a node that was passed.
    fn block(&mut self, block: &Block);
    /// Counts several branches at once. See [`ElementSink::follow`](crate::ElementSink::follow).
    #[inline(always)]
    fn follow(&mut self, _start: NodeId, _code: u32) -> Option<End> {
        None
    }
    /// Learns a path. See [`ElementSink::learn`](crate::ElementSink::learn).
    #[inline(always)]
    fn learn(&mut self, _graph: &Graph<'_>, _start: NodeId, _code: u32, _branches: Branches, _end: End) {}
    /// Prepares for the graph being emptied.
    fn forget(&mut self, _graph: &Graph<'_>) {}
}

/// The state of a [`Walker`]. Walkers in equal states walk the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    address: Option<(u64, Isa)>,
    space: MemorySpace,
    /// Return addresses, newest first.
    returns: Vec<(u64, Isa, MemorySpace)>,
    return_pending: bool,
    /// Return address of the indirect call that is not on the stack yet.
    call_pending: Option<(u64, Isa, MemorySpace)>,
    may_push: bool,
    unseen_calls: bool,
}

/// The behaviour of a trace unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Whether the trace unit traces instructions that wait for an event or interrupt.
    pub waits_are_traced: bool,
    /// Whether the trace unit omits the addresses of returns that a stack of calls predicts.
    pub return_stack: bool,
    /// Whether an indirect call may go where the return stack predicts, before its own return address is added to it.
    pub calls_pop: bool,
    /// Whether to continue if the trace and the program contradict each other: an unconditional branch that was not
    /// taken, or bytes that are not code.
    pub trust_program: bool,
}

/// The reason why a walk cannot continue. The current address is then unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// No image has the code at this address.
    NoCode(u64),
    /// There is no branch within reach of this address.
    Endless(u64),
    /// The branch at this address is unconditional, but was not taken.
    NotTaken(u64),
    /// Execution from this address did not reach the expected address without a branch.
    Missed(u64),
    /// There is no valid instruction at this address.
    NotCode(u64),
    /// The trace does not have the target of the branch at this address.
    NoTarget(u64),
    /// There is a return, but no call on the stack.
    NoCall,
    /// There is a return to a call that was not seen, in code that is missing or was not followed.
    UnseenCall,
}

impl<'i> Walker<'i> {
    /// Creates a walker through a program, at an unknown address.
    pub fn new(image: &'i Image, rules: Rules) -> Self {
        Self {
            graph: Graph::new(image, rules.trust_program),
            links: Vec::new(),
            space: MemorySpace::ANY,
            here: NodeId::NONE,
            address: None,
            from: NodeId::NONE,
            returns: ReturnStack::new(),
            rules,
            return_pending: false,
            call_pending: NodeId::NONE,
            may_push: true,
            unseen_calls: false,
        }
    }

    /// Returns the blocks found so far.
    pub fn graph(&self) -> &Graph<'i> {
        &self.graph
    }

    /// Returns the graph, for sinks that count by node ([`Counts::absorb`](crate::Counts::absorb)).
    pub fn graph_mut(&mut self) -> &mut Graph<'i> {
        &mut self.graph
    }

    /// Returns the rules.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// Returns the memory space of the code.
    pub fn space(&self) -> MemorySpace {
        self.space
    }

    /// Sets the memory space of the code from now on.
    pub fn set_space(&mut self, space: MemorySpace) {
        if space != self.space {
            // The code here may be different now.
            self.address = self.address();
            self.here = NodeId::NONE;
            self.space = space;
        }
    }

    /// Sets the address where execution is.
    #[inline(always)]
    pub fn set_address(&mut self, address: u64, isa: Isa) {
        self.address = Some((address, isa));
        self.here = NodeId::NONE;
        self.return_pending = false;
        self.push_pending();
        self.may_push = true;
    }

    /// Adds the indirect call that waits to the return stack.
    #[inline(always)]
    fn push_pending(&mut self) {
        if self.call_pending.is_some() {
            self.returns.push(self.call_pending);
            self.call_pending = NodeId::NONE;
        }
    }

    /// Sets the instruction set at the current address.
    pub fn set_isa(&mut self, isa: Isa) {
        if let Some((address, _)) = self.address() {
            self.address = Some((address, isa));
            self.here = NodeId::NONE;
        }
    }

    /// Makes the current address unknown.
    pub fn lose(&mut self) {
        self.address = None;
        self.here = NodeId::NONE;
        self.from = NodeId::NONE;
        self.return_pending = false;
        self.call_pending = NodeId::NONE;
    }

    /// Makes the current address unknown, and what the trace unit's stack holds: code runs that cannot be followed.
    pub fn lose_way(&mut self) {
        self.lose();
        if !self.rules.trust_program {
            self.returns.flush();
            self.unseen_calls = true;
        }
    }

    /// Reports that the next address is not the target of the last branch.
    pub fn divert(&mut self) {
        self.from = NodeId::NONE;
    }

    /// Returns the current address, if it is known.
    pub fn address(&self) -> Option<(u64, Isa)> {
        if self.here.is_some() {
            let node = self.graph.node(self.here);
            return Some((node.start(), node.isa()));
        }
        self.address
    }

    /// Returns the state that determines how the walk continues.
    pub fn snapshot(&self) -> Snapshot {
        let after = |caller| {
            let caller = self.graph.node(caller);
            (caller.end(), caller.isa(), caller.space())
        };
        Snapshot {
            address: self.address(),
            space: self.space,
            returns: self.returns.iter().map(after).collect(),
            return_pending: self.return_pending,
            call_pending: self.call_pending.is_some().then(|| after(self.call_pending)),
            may_push: self.may_push,
            unseen_calls: self.unseen_calls,
        }
    }

    /// Makes the current address and the way to it unknown.
    pub fn restart(&mut self) {
        self.lose();
        self.returns.flush();
        (self.may_push, self.unseen_calls) = (true, false);
    }

    /// Removes the calls on the return stack. Calls before the next address are not added either. A return that the
    /// stack predicted before remains, unless the next address contradicts it.
    pub fn flush_returns(&mut self) {
        if self.return_pending
            && let Some(caller) = self.returns.iter().next()
        {
            let caller = self.graph.node(caller);
            self.address = Some((caller.end(), caller.isa()));
            self.return_pending = false;
        }
        self.returns.flush();
        self.call_pending = NodeId::NONE;
        (self.may_push, self.unseen_calls) = (false, false);
    }

    /// Resolves a return that the trace omitted with the return stack. Does nothing if there was no such return.
    ///
    /// # Errors
    /// [`Stuck::NoCall`] or [`Stuck::UnseenCall`] if the stack is empty.
    #[inline(always)]
    pub fn resolve_return(&mut self) -> Result<(), Stuck> {
        if !self.return_pending {
            return Ok(());
        }
        self.return_pending = false;
        let Some(caller) = self.returns.pop() else { return Err(self.no_call()) };
        self.here = self.graph.next(caller);
        if self.from.is_some() {
            self.graph.went(self.from, self.here);
        }
        self.from = NodeId::NONE;
        self.push_pending();
        Ok(())
    }

    #[cold]
    fn no_call(&mut self) -> Stuck {
        if !self.unseen_calls {
            return Stuck::NoCall;
        }
        self.lose_way();
        Stuck::UnseenCall
    }

    /// Follows branches that `told` has learnt before, all at once. `code` identifies them.
    ///
    /// # Errors
    /// Returns the node where they start, if `told` does not know where they lead from there.
    #[inline(always)]
    pub fn follow(&mut self, code: u32, told: &mut impl Trail) -> Result<(), NodeId> {
        if self.address.is_some() {
            self.look_up(told);
        }
        let Some(end) = told.follow(self.here, code) else { return Err(self.here) };
        let (node, indirect) = end.node();
        (self.here, self.from) = if indirect { (NodeId::NONE, node) } else { (node, self.from) };
        Ok(())
    }

    /// Lets `told` learn that the branches identified by `code`, which were straight, lead from `start` to the
    /// current node.
    pub fn learn(&self, start: NodeId, code: u32, branches: Branches, told: &mut impl Trail) {
        let end = if self.here.is_some() { End::at(self.here) } else { End::after(self.from) };
        if let (Some(end), true) = (end, start.is_some()) {
            told.learn(&self.graph, start, code, branches, end);
        }
    }

    /// Runs over the next `count` traced instructions, each of which is taken or not: the bits of `taken`, lowest
    /// first. Does nothing if the current address is not known. Returns whether they were straight: from this node,
    /// they always lead to the same place.
    ///
    /// # Errors
    /// If the program does not allow it. What certainly ran before was reported. The second value is the number of
    /// bits used, including the one that failed.
    #[inline(always)]
    pub fn branches(&mut self, taken: u32, count: u32, told: &mut impl Trail) -> Result<bool, (Stuck, u32)> {
        if self.address.is_some() {
            self.look_up(told);
        }
        let mut here = self.here;
        let mut straight = true;
        let mut i = 0;
        loop {
            // Nodes that can be followed without checks. If the address is not known, `here` is beyond all nodes.
            let links = &self.links[..];
            let mut link = NodeId::NONE;
            while i < count {
                let taken = taken >> i & 1;
                link = links.get(here.index()).map_or(NodeId::NONE, |links| links[taken as usize]);
                if link >= NodeId::INDIRECT {
                    break;
                }
                told.node(&self.graph, here, taken == 1);
                here = link;
                i += 1;
            }
            if i >= count {
                self.here = here;
                return Ok(straight);
            }
            if link == NodeId::INDIRECT {
                told.node(&self.graph, here, true);
                self.from = here;
                here = NodeId::NONE;
                // More branches would need an address first.
                straight &= i + 1 == count;
            } else {
                straight = false;
                self.here = here;
                if let Err(stuck) = self.branch(taken >> i & 1 == 1, told) {
                    return Err((stuck, i + 1));
                }
                here = self.here;
            }
            i += 1;
        }
    }

    /// Runs over the next traced instruction, which is taken or not. Does nothing if the current address is not
    /// known.
    ///
    /// # Errors
    /// If the program does not allow it. What certainly ran before was reported.
    #[inline(never)]
    pub fn branch(&mut self, taken: bool, told: &mut impl Trail) -> Result<(), Stuck> {
        self.resolve_return()?;
        loop {
            if !self.here.is_some() && !self.look_up(told) {
                return self.no_target();
            }
            let (here, node) = (self.here, self.graph.node(self.here));
            let class = node.class();
            match class.flow {
                Flow::Direct if taken => {
                    told.node(&self.graph, here, true);
                    self.here = self.graph.taken(here);
                    if class.role == Role::Call && self.rules.return_stack {
                        if self.may_push {
                            self.returns.push(here);
                        }
                    } else {
                        self.link(here, 1, self.here);
                    }
                    return Ok(());
                }
                Flow::Direct | Flow::Indirect | Flow::Pair if !taken => {
                    if !class.conditional && !self.rules.trust_program {
                        self.check_fall_through()?;
                    }
                    told.node(&self.graph, here, false);
                    self.here = self.graph.next(here);
                    self.link(here, 0, self.here);
                    return Ok(());
                }
                Flow::Direct | Flow::Indirect | Flow::Pair => {
                    told.node(&self.graph, here, true);
                    if self.rules.return_stack {
                        if class.role == Role::Call && self.may_push {
                            if self.rules.calls_pop {
                                self.call_pending = here;
                            } else {
                                self.returns.push(here);
                            }
                        }
                        self.return_pending = true;
                    } else {
                        self.link(here, 1, NodeId::INDIRECT);
                    }
                    self.from = here;
                    self.here = NodeId::NONE;
                    return Ok(());
                }
                Flow::Isb | Flow::Wait | Flow::TransactionStart => {
                    told.node(&self.graph, here, true);
                    let is_told = class.flow != Flow::Wait || self.rules.waits_are_traced;
                    self.here = self.graph.next(here);
                    if is_told {
                        self.link(here, 0, self.here);
                        self.link(here, 1, self.here);
                        return Ok(());
                    }
                }
                Flow::Next => return self.stuck(told),
            }
        }
    }

    /// Records that `to` follows `from` without further checks.
    fn link(&mut self, from: NodeId, bit: usize, to: NodeId) {
        if self.links.len() < self.graph.len() {
            self.links.resize(self.graph.len(), [NodeId::NONE; 2]);
        }
        self.links[from.index()][bit] = to;
    }

    /// Runs to `address`, without any branch on the way. Does nothing if the current address is not known.
    ///
    /// # Errors
    /// If the program does not allow it. What certainly ran before was reported: nothing if there is a branch on the
    /// way.
    pub fn run_to(&mut self, address: u64, told: &mut impl Trail) -> Result<(), Stuck> {
        self.run(address, false, told)
    }

    /// Runs to `address`, or to the start of the instruction that `address` is inside: an interrupt stopped it halfway.
    /// Otherwise like [`run_to`](Self::run_to).
    ///
    /// # Errors
    /// As `run_to`.
    pub fn run_into(&mut self, address: u64, told: &mut impl Trail) -> Result<(), Stuck> {
        self.run(address, true, told)
    }

    fn run(&mut self, address: u64, inside: bool, told: &mut impl Trail) -> Result<(), Stuck> {
        self.resolve_return()?;
        if self.here(told).is_some()
            && let Some(start) = self.branch_before(address)
        {
            self.lose_way();
            return Err(Stuck::Missed(start));
        }
        loop {
            if !self.here.is_some() && !self.look_up(told) {
                return Ok(());
            }
            let node = self.graph.node(self.here);
            let distance = address.wrapping_sub(node.start());
            if distance == 0 {
                return Ok(());
            }
            if distance < u64::from(node.len())
                || distance == u64::from(node.len()) && node.class() == Class::NEXT
            {
                // No instruction of these instruction sets is longer than two half-words.
                let whole = self.cut(node, address);
                let before = if inside && distance >= 2 { address - 2 } else { address };
                let Some(block) = whole.or_else(|| self.cut(node, before)) else {
                    let start = node.start();
                    self.lose_way();
                    return Err(Stuck::Missed(start));
                };
                if block.count > 0 {
                    told.block(&block);
                }
                let isa = node.isa();
                self.here = NodeId::NONE;
                self.address = Some((block.end, isa));
                return Ok(());
            }
            match node.class().flow {
                // An exception may follow a barrier or a wait like any other instruction. After a branch, the trace
                // would have its outcome.
                Flow::Isb | Flow::Wait | Flow::TransactionStart => {
                    told.node(&self.graph, self.here, true);
                    self.here = self.graph.next(self.here);
                }
                Flow::Next | Flow::Direct | Flow::Indirect | Flow::Pair => return self.stuck(told),
            }
        }
    }

    /// Returns the start of the node with a branch between here and `address`, if there is one.
    fn branch_before(&mut self, address: u64) -> Option<u64> {
        let mut here = self.here;
        loop {
            let node = self.graph.node(here);
            if address.wrapping_sub(node.start()) < u64::from(node.len()).max(1) {
                return None;
            }
            match node.class().flow {
                _ if node.start() > address => return Some(node.start()),
                Flow::Isb | Flow::Wait | Flow::TransactionStart => here = self.graph.next(here),
                Flow::Next => return None,
                Flow::Direct | Flow::Indirect | Flow::Pair => return Some(node.start()),
            }
        }
    }

    /// Fails, once, if a branch was taken and the trace does not have its target.
    ///
    /// # Errors
    /// [`Stuck::NoTarget`].
    #[cold]
    pub fn no_target(&mut self) -> Result<(), Stuck> {
        if !self.from.is_some() || self.address.is_some() || self.return_pending {
            return Ok(());
        }
        let branch = self.graph.node(self.from).block(Ended::Taken).last();
        self.lose_way();
        Err(Stuck::NoTarget(branch))
    }

    /// Returns the node where execution is.
    pub fn here(&mut self, told: &mut impl Trail) -> Option<&Node> {
        (self.here.is_some() || self.look_up(told)).then(|| self.graph.node(self.here))
    }

    /// Returns the first `count` instructions of the current node, or all of them if there are fewer.
    pub fn first(&mut self, count: u32, told: &mut impl Trail) -> Option<Block> {
        let node = *self.here(told)?;
        if count >= node.count() {
            return Some(node.block(Ended::Cut));
        }
        let mut it = ItState::default();
        let (mut end, mut last_len) = (node.start(), 0);
        let mut class = Class::NEXT;
        for _ in 0..count {
            let found = instruction(self.graph.image(), node.space(), end, node.isa(), &mut it)?;
            (last_len, class) = (found.len, found.class);
            end = end.wrapping_add(found.len.into());
        }
        Some(Block { end, count, last_len, class, ..node.block(Ended::Cut) })
    }

    /// Looks up the node at the current address.
    #[inline]
    fn look_up(&mut self, told: &mut impl Trail) -> bool {
        let Some((address, isa)) = self.address else { return false };
        if self.graph.len() > MAX_NODES {
            told.forget(&self.graph);
            self.forget_nodes();
        }
        self.here = self.graph.at(address, isa, self.space);
        if self.from.is_some() {
            self.graph.went(self.from, self.here);
        }
        self.address = None;
        self.from = NodeId::NONE;
        true
    }

    #[cold]
    fn forget_nodes(&mut self) {
        let callers: Vec<_> = self.returns.iter().map(|caller| *self.graph.node(caller)).collect();
        self.graph.clear();
        self.links.clear();
        self.from = NodeId::NONE;
        self.call_pending = NodeId::NONE;
        self.returns.flush();
        for caller in callers.iter().rev() {
            let caller = self.graph.at(caller.start(), caller.isa(), caller.space());
            self.returns.push(caller);
        }
    }

    /// Accepts a not-taken branch to the next instruction, since some trace units report "not taken" there.
    #[cold]
    fn check_fall_through(&mut self) -> Result<(), Stuck> {
        let node = self.graph.node(self.here);
        if node.direct_target() == Some((node.end(), node.isa())) {
            return Ok(());
        }
        let address = node.block(Ended::Cut).last();
        self.lose_way();
        Err(Stuck::NotTaken(address))
    }

    /// Returns the part of `node` before `address`, if an instruction begins there.
    fn cut(&self, node: &Node, address: u64) -> Option<Block> {
        let (mut at, mut count, mut last_len) = (node.start(), 0, 0);
        if node.isa().shortest() == 2 {
            let mut it = ItState::default();
            while at != address {
                let found = instruction(self.graph.image(), node.space(), at, node.isa(), &mut it)?;
                if address.wrapping_sub(at) < found.len.into() {
                    return None;
                }
                at = at.wrapping_add(found.len.into());
                (count, last_len) = (count + 1, found.len);
            }
        } else {
            let len = address.wrapping_sub(at);
            if len % 4 != 0 {
                return None;
            }
            (count, last_len) = ((len / 4) as u32, 4);
        }
        let class = Class::NEXT;
        Some(Block { end: address, count, last_len, class, ..node.block(Ended::Cut) })
    }

    #[cold]
    fn stuck(&mut self, told: &mut impl Trail) -> Result<(), Stuck> {
        let node = self.graph.node(self.here);
        let (start, end, stop) = (node.start(), node.end(), node.stop());
        // If code leads to bytes that are not code, it was not code either.
        if node.count() > 0 && stop == Stop::NoCode {
            told.block(&node.block(Ended::Cut));
        }
        self.lose_way();
        Err(match stop {
            Stop::NoCode => Stuck::NoCode(end),
            Stop::NotCode => Stuck::NotCode(end),
            Stop::Endless | Stop::Class => Stuck::Endless(start),
        })
    }
}
