use tracewright_core::{Block, Class, Ended, Flow, Isa, MemorySpace, Role};
use tracewright_image::Image;
use tracewright_isa::ItState;

use crate::scan::instruction;
use crate::{Branches, End, Graph, Node, NodeId, ReturnStack, Stop};

/// The most not-taken branches that one source address may stand for. More is damage.
const MOST_NOT_TAKEN: usize = 1 << 12;

/// When there are more nodes than this, they are forgotten and found anew: bounds the memory of a walk through a
/// program of any size (to 30 MB or so).
const MAX_NODES: usize = 1 << 18;

/// Where execution is, and where it goes from there.
///
/// Protocol decoders drive it: they say where execution is ([`set_address`](Self::set_address)), whether the branch at
/// the end of this block was taken ([`branch`](Self::branch)), or how far execution ran ([`run_to`](Self::run_to)).
/// It tells the blocks that ran.
#[derive(Clone, Debug)]
pub struct Walker<'i> {
    graph: Graph<'i>,
    /// For each node, where execution goes if the instruction at its end is not taken, and if it is: what can be followed
    /// without a further thought. All else is [`NodeId::NONE`].
    links: Vec<[NodeId; 2]>,
    space: MemorySpace,
    /// The node where execution is.
    here: NodeId,
    /// Where execution is, if that node has not been looked up.
    address: Option<(u64, Isa)>,
    /// The node with the indirect branch that was taken last.
    from: NodeId,
    returns: ReturnStack,
    rules: Rules,
    /// Whether an indirect branch was taken whose target may be on the return stack.
    return_pending: bool,
    may_push: bool,
}

/// What a walker tells.
pub trait Trail {
    /// A node was passed; its last instruction was taken or not.
    fn node(&mut self, graph: &Graph<'_>, id: NodeId, taken: bool);
    /// Part of a node was passed.
    fn block(&mut self, block: &Block);
    /// Several branches at once; see [`Sink::follow`](crate::Sink::follow).
    #[inline(always)]
    fn follow(&mut self, _start: NodeId, _code: u32) -> Option<End> {
        None
    }
    /// See [`Sink::learn`](crate::Sink::learn).
    #[inline(always)]
    fn learn(&mut self, _graph: &Graph<'_>, _start: NodeId, _code: u32, _branches: Branches, _end: End) {}
    /// The graph is about to be emptied.
    fn forget(&mut self, _graph: &Graph<'_>) {}
}

/// The state of a [`Walker`]: two that are equal walk the same ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    address: Option<(u64, Isa)>,
    space: MemorySpace,
    /// Return addresses, the newest first.
    returns: Vec<(u64, Isa, MemorySpace)>,
    return_pending: bool,
    may_push: bool,
}

/// What a trace unit does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Whether it tells of instructions that wait for an event or interrupt.
    pub waits_are_traced: bool,
    /// Whether it leaves out the addresses of returns that a stack of calls predicts.
    pub return_stack: bool,
    /// Whether to go on where the program cannot be the one that ran: a branch without a condition that was not taken,
    /// code that is none.
    pub trust_program: bool,
}

/// Why the walk cannot go on. Where execution is, is not known then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// No image knows the code at this address.
    NoCode(u64),
    /// There is no branch within reach of this address.
    Endless(u64),
    /// The branch at this address has no condition, and yet it was not taken.
    NotTaken(u64),
    /// Execution did not come to where it should from this address without a branch.
    Missed(u64),
    /// What lies at this address is no instruction.
    NotCode(u64),
    /// The trace does not say where the branch at this address went.
    NoTarget(u64),
    /// A return, and no call on the stack.
    NoCall,
}

impl<'i> Walker<'i> {
    /// A walker through the program, who does not know where execution is.
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
            may_push: true,
        }
    }

    /// The blocks found so far.
    pub fn graph(&self) -> &Graph<'i> {
        &self.graph
    }

    /// The same, for who counts ([`Counts::absorb`](crate::Counts::absorb)).
    pub fn graph_mut(&mut self) -> &mut Graph<'i> {
        &mut self.graph
    }

    /// The rules it walks by.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// The memory space code is read from.
    pub fn space(&self) -> MemorySpace {
        self.space
    }

    /// From now on code is read from `space`.
    pub fn set_space(&mut self, space: MemorySpace) {
        if space != self.space {
            // The code here may be other code now.
            self.address = self.address();
            self.here = NodeId::NONE;
            self.space = space;
        }
    }

    /// Execution is at `address`.
    #[inline(always)]
    pub fn set_address(&mut self, address: u64, isa: Isa) {
        self.address = Some((address, isa));
        self.here = NodeId::NONE;
        self.return_pending = false;
        self.may_push = true;
    }

    /// The instruction set here is `isa`.
    pub fn set_isa(&mut self, isa: Isa) {
        if let Some((address, _)) = self.address() {
            self.address = Some((address, isa));
            self.here = NodeId::NONE;
        }
    }

    /// Where execution is, is not known.
    pub fn lose(&mut self) {
        self.address = None;
        self.here = NodeId::NONE;
        self.from = NodeId::NONE;
        self.return_pending = false;
    }

    /// Whatever comes next is not where the last branch went.
    pub fn divert(&mut self) {
        self.from = NodeId::NONE;
    }

    /// Where execution is, if that is known.
    pub fn address(&self) -> Option<(u64, Isa)> {
        if self.here.is_some() {
            let node = self.graph.node(self.here);
            return Some((node.start(), node.isa()));
        }
        self.address
    }

    /// All that decides where it goes.
    pub fn snapshot(&self) -> Snapshot {
        let returns = self.returns.iter().map(|caller| self.graph.node(caller));
        Snapshot {
            address: self.address(),
            space: self.space,
            returns: returns.map(|caller| (caller.end(), caller.isa(), caller.space())).collect(),
            return_pending: self.return_pending,
            may_push: self.may_push,
        }
    }

    /// Nothing is known: neither where execution is nor where it came from.
    pub fn restart(&mut self) {
        self.lose();
        self.returns.flush();
        self.may_push = true;
    }

    /// Forgets the calls on the return stack, and makes none of the calls before the next address one to return to. A
    /// return that the stack predicted before is still one, unless the next address says otherwise.
    pub fn flush_returns(&mut self) {
        if self.return_pending
            && let Some(caller) = self.returns.iter().next()
        {
            let caller = self.graph.node(caller);
            self.address = Some((caller.end(), caller.isa()));
            self.return_pending = false;
        }
        self.returns.flush();
        self.may_push = false;
    }

    /// Takes the address of a return that the trace left out from the return stack. Does nothing if there was no
    /// such return.
    ///
    /// # Errors
    /// [`Stuck::NoCall`] if there is none.
    #[inline(always)]
    pub fn resolve_return(&mut self) -> Result<(), Stuck> {
        if !self.return_pending {
            return Ok(());
        }
        self.return_pending = false;
        let caller = self.returns.pop().ok_or(Stuck::NoCall)?;
        self.here = self.graph.next(caller);
        if self.from.is_some() {
            self.graph.went(self.from, self.here);
        }
        self.from = NodeId::NONE;
        Ok(())
    }

    /// Follows branches that `told` has seen before, all at once; `code` stands for them.
    ///
    /// # Errors
    /// The node they start from, if `told` does not know where they lead from there.
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

    /// From now on, `code` stands for these branches, which were straight and led from `start` to where execution is now.
    pub fn learn(&self, start: NodeId, code: u32, branches: Branches, told: &mut impl Trail) {
        let end = if self.here.is_some() { End::at(self.here) } else { End::after(self.from) };
        if let (Some(end), true) = (end, start.is_some()) {
            told.learn(&self.graph, start, code, branches, end);
        }
    }

    /// Runs to the next `count` instructions that the trace tells of, each of which is taken or not: the bits of `taken`, the
    /// lowest first. Does nothing while it is not known where execution is. Returns whether they were straight: from this
    /// node, they lead there every time.
    ///
    /// # Errors
    /// When the program does not allow it; what certainly ran before was told. The second value is how many of the bits
    /// were used, the one that failed among them.
    #[inline(always)]
    pub fn branches(&mut self, taken: u32, count: u32, told: &mut impl Trail) -> Result<bool, (Stuck, u32)> {
        if self.address.is_some() {
            self.look_up(told);
        }
        let mut here = self.here;
        let mut straight = true;
        let mut i = 0;
        loop {
            // What can be followed without a thought. Where execution is not known, `here` is beyond all nodes.
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
                // More branches after it would need an address first.
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

    /// Runs to the next instruction that the trace tells of, which is taken or not. Does nothing if it is not known where
    /// execution is.
    ///
    /// # Errors
    /// When the program does not allow it; what certainly ran before was told.
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
                            self.returns.push(here);
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

    /// From now on, `to` follows `from` without a further thought.
    fn link(&mut self, from: NodeId, bit: usize, to: NodeId) {
        if self.links.len() < self.graph.len() {
            self.links.resize(self.graph.len(), [NodeId::NONE; 2]);
        }
        self.links[from.index()][bit] = to;
    }

    /// Runs to `address`, without any branch on the way. Does nothing if it is not known where execution is.
    ///
    /// # Errors
    /// When the program does not allow it; what certainly ran before was told: nothing if there is a branch on the way.
    pub fn run_to(&mut self, address: u64, told: &mut impl Trail) -> Result<(), Stuck> {
        self.resolve_return()?;
        if self.here(told).is_some()
            && let Some(start) = self.branch_before(address)
        {
            self.lose();
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
                let Some(block) = self.cut(node, address) else {
                    let start = node.start();
                    self.lose();
                    return Err(Stuck::Missed(start));
                };
                told.block(&block);
                let isa = node.isa();
                self.here = NodeId::NONE;
                self.address = Some((address, isa));
                return Ok(());
            }
            match node.class().flow {
                // An exception comes after a barrier or a wait like after any other instruction. After a branch
                // the trace would have told what became of it.
                Flow::Isb | Flow::Wait | Flow::TransactionStart => {
                    told.node(&self.graph, self.here, true);
                    self.here = self.graph.next(self.here);
                }
                Flow::Next | Flow::Direct | Flow::Indirect | Flow::Pair => return self.stuck(told),
            }
        }
    }

    /// Checks that the code from here on, through branches that are not taken, has a block that ends with the instruction at `last`,
    /// and that a trace tells of that instruction. Tells nothing but where execution is.
    ///
    /// # Errors
    /// When it has none; then it is not known any more where execution is.
    pub fn leads_to(&mut self, last: u64, told: &mut impl Trail) -> Result<(), Stuck> {
        if self.here(told).is_none() {
            return Ok(());
        }
        let mut here = self.here;
        let mut stuck = Stuck::Missed(self.graph.node(here).start());
        for _ in 0..MOST_NOT_TAKEN {
            let node = *self.graph.node(here);
            let is_told = node.class().flow != Flow::Wait || self.rules.waits_are_traced;
            if node.count() > 0 && node.last() == last && is_told {
                return Ok(());
            }
            let falls_through = node.direct_target() == Some((node.end(), node.isa()));
            if node.class().is_branch()
                && !node.class().conditional
                && !falls_through
                && !self.rules.trust_program
            {
                stuck = Stuck::NotTaken(node.last());
                break;
            }
            if node.start() > last || node.end() > last || node.class() == Class::NEXT {
                break;
            }
            here = self.graph.next(here);
        }
        let space = self.graph.node(here).space();
        if self.graph.image().read(last, space).is_empty() {
            stuck = Stuck::NoCode(last);
        }
        self.lose();
        Err(stuck)
    }

    /// The node with a branch that lies between here and `address`, if there is one: its start.
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

    /// Fails, once, if a branch was taken and the trace did not say where to.
    ///
    /// # Errors
    /// [`Stuck::NoTarget`].
    #[cold]
    pub fn no_target(&mut self) -> Result<(), Stuck> {
        if !self.from.is_some() || self.address.is_some() || self.return_pending {
            return Ok(());
        }
        let branch = self.graph.node(self.from).block(Ended::Taken).last();
        self.from = NodeId::NONE;
        Err(Stuck::NoTarget(branch))
    }

    /// The node where execution is.
    pub fn here(&mut self, told: &mut impl Trail) -> Option<&Node> {
        (self.here.is_some() || self.look_up(told)).then(|| self.graph.node(self.here))
    }

    /// The first `count` instructions of the node where execution is, or all of them if there are not so many.
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

    /// Starts the graph anew.
    #[cold]
    fn forget_nodes(&mut self) {
        let callers: Vec<_> = self.returns.iter().map(|caller| *self.graph.node(caller)).collect();
        self.graph.clear();
        self.links.clear();
        self.from = NodeId::NONE;
        self.returns.flush();
        for caller in callers.iter().rev() {
            let caller = self.graph.at(caller.start(), caller.isa(), caller.space());
            self.returns.push(caller);
        }
    }

    /// Some trace units say "not taken" of a branch to the next instruction.
    #[cold]
    fn check_fall_through(&mut self) -> Result<(), Stuck> {
        let node = self.graph.node(self.here);
        if node.direct_target() == Some((node.end(), node.isa())) {
            return Ok(());
        }
        let address = node.block(Ended::Cut).last();
        self.lose();
        Err(Stuck::NotTaken(address))
    }

    /// The part of `node` before `address`, if an instruction begins there.
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
        // What leads to what is no code was none either.
        if node.count() > 0 && stop == Stop::NoCode {
            told.block(&node.block(Ended::Cut));
        }
        self.lose();
        Err(match stop {
            Stop::NoCode => Stuck::NoCode(end),
            Stop::NotCode => Stuck::NotCode(end),
            Stop::Endless | Stop::Class => Stuck::Endless(start),
        })
    }
}
