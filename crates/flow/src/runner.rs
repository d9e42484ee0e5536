//! Following execution by a trace that has the outcomes of branches, and few addresses.

use tracewright_core::{Ended, Flow, Isa, Role};
use tracewright_image::{Halves, Image};
use tracewright_isa::riscv;

use crate::leaps::{Known, Leaps};
use crate::scan::instruction;
use crate::strides::{self, Step, Strides};
use crate::{Calls, ElementSink, Graph, Instructions, Leap, NodeId, Stop};

/// A follower of execution with a table that has a row for each block: every branch or jump is one lookup.
///
/// Use it for traces that have one bit for each conditional branch, and no jumps whose target is in the program, such
/// as those of RISC-V. The caller keeps the current position.
#[derive(Clone, Debug)]
pub struct Runner<'i> {
    graph: Graph<'i>,
    rows: Vec<Row>,
    strides: Strides,
    leaps: Leaps,
    rules: Inferred,
    /// Calls whose returns are not in the trace.
    pub calls: Calls,
    isa: Isa,
    spaces: Halves,
}

/// The jumps, besides direct ones, that the trace omits because a decoder can infer them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inferred {
    /// Whether jumps whose target is in the instruction before ([`Flow::Pair`]) are omitted.
    pub pairs: bool,
    /// Whether returns to the address of the last call are omitted.
    pub returns: bool,
    /// Whether a return to another address, which the trace reports with the number of open calls, leaves its call
    /// open.
    pub keeps_failed: bool,
}

/// The place where a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// At the address, in this node, with nothing on the way but what the program determines.
    Inline(NodeId),
    /// At the end of this node, whose last instruction has a target that only the trace can give.
    Indirect(NodeId),
    /// At a branch at the end of this node, which is not in the trace.
    Branch(NodeId),
    /// At the end of this node, where the known program ends, or at an instruction in it that never retires.
    End(NodeId),
    /// Nowhere: execution loops for ever from this node on.
    Nothing(NodeId),
    /// At a return at the end of this node that may lead to the address, but so may a later one; or that may lead
    /// anywhere, since its call is not known.
    Several(NodeId),
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// Address at which the run ends.
    pub address: u64,
    /// Whether the run ends when it reaches the address. Otherwise it ends only where the program does not determine
    /// the next address.
    pub inline: bool,
    /// Whether a branch is at the address. Execution does not pass it, however many calls are open.
    pub is_branch: bool,
    /// Knowledge about the calls at the address.
    pub returns: Returns,
}

/// The knowledge about the calls at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// Nothing is known.
    Any,
    /// The number of open calls is known.
    Depth {
        /// Number of open calls, of which only the lowest bits are valid.
        count: u32,
        /// Mask of the valid bits.
        mask: u32,
        /// Whether the number may also be that just before the return that leads to the address.
        explicit: bool,
    },
    /// The number of returns that were inferred on the way is known.
    Passed {
        /// Number of returns.
        count: u32,
        /// Whether another return after those leads to the address. Otherwise no inferred return does.
        explicit: bool,
    },
}

#[derive(Clone, Copy, Debug)]
struct Row {
    /// Next nodes: by the bit of a branch in the trace (0 is taken), otherwise the first. [`NodeId::NONE`]: not known
    /// yet.
    to: [NodeId; 2],
    /// Node after a call.
    after: NodeId,
    /// Number of bits that it consumes: 1 for a branch.
    takes: u8,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    /// Not determined yet.
    Unknown,
    Branch,
    Jump,
    Call,
    /// A return that may be inferred.
    Return,
    /// A jump that is also a return.
    JumpBack,
    Indirect,
    IndirectCall,
    End,
}

const UNKNOWN: Row = Row { to: [NodeId::NONE; 2], after: NodeId::NONE, takes: 0, kind: Kind::Unknown };
const _: () = assert!(size_of::<Row>() == 16, "rows are read at random: keep them small");

/// Number of jumps in a row after which the runner checks whether there is an end.
const CAUTIOUS: u32 = 32;
/// Maximum number of jumps without a branch in real programs.
const MOST_JUMPS: u32 = 1 << 20;
/// Maximum number of nodes, after which the graph is emptied.
const MAX_NODES: usize = 1 << 18;

impl<'i> Runner<'i> {
    /// Creates a runner through a program. It has no room for calls yet.
    pub fn new(image: &'i Image, isa: Isa) -> Self {
        Self {
            graph: Graph::new(image, false),
            rows: Vec::new(),
            strides: Strides::default(),
            leaps: Leaps::default(),
            rules: Inferred::default(),
            calls: Calls::new(0, 0),
            isa,
            spaces: Halves::ANY,
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

    /// Returns the instruction set.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Sets what the trace omits from now on.
    pub fn set_inferred(&mut self, rules: Inferred) {
        if rules != self.rules {
            self.rules = rules;
            self.rows.fill(UNKNOWN);
            self.strides.clear();
            self.leaps.clear();
        }
    }

    /// Returns the node that starts at `address`.
    #[inline(always)]
    pub fn at(&mut self, address: u64) -> NodeId {
        self.graph.at(address, self.isa, self.spaces.at(address))
    }

    /// Returns the memory spaces of the code that runs.
    pub fn spaces(&self) -> Halves {
        self.spaces
    }

    /// Sets the memory spaces of the code that runs from now on. Returns the number of the current position's node, which may change
    /// with them.
    pub fn set_spaces(&mut self, spaces: Halves, here: NodeId) -> NodeId {
        if spaces == self.spaces {
            return here;
        }
        self.spaces = spaces;
        self.leaps.clear();
        let start_of = |node: NodeId| node.is_some().then(|| self.graph.node(node).start());
        let callers: Vec<_> = self.calls.iter().map(|(node, _)| start_of(node)).collect();
        let here = start_of(here);
        self.renumber(callers, here)
    }

    /// Counts that the indirect branch at the end of `from` went to `to`.
    #[inline(always)]
    pub fn went(&mut self, from: NodeId, to: NodeId) {
        self.graph.went(from, to);
    }

    /// Empties the graph if it has become too large, and updates `here` to its new number.
    #[inline]
    pub fn make_room(&mut self, here: &mut NodeId, sink: &mut impl ElementSink) {
        if self.graph.len() > MAX_NODES {
            self.forget_nodes(here, sink);
        }
    }

    #[cold]
    fn forget_nodes(&mut self, here: &mut NodeId, sink: &mut impl ElementSink) {
        sink.forget(&self.graph);
        let start = here.is_some().then(|| self.graph.node(*here).start());
        let start_of = |node: NodeId| node.is_some().then(|| self.graph.node(node).start());
        let callers: Vec<_> = self.calls.iter().map(|(node, _)| start_of(node)).collect();
        self.graph.clear();
        self.rows.clear();
        self.strides.clear();
        self.leaps.clear();
        *here = self.renumber(callers, start);
    }

    /// Looks up the callers anew, and the current position.
    fn renumber(&mut self, callers: Vec<Option<u64>>, here: Option<u64>) -> NodeId {
        let node_at = |start: Option<u64>| start.map_or(NodeId::NONE, |start| self.at(start));
        let nodes: Vec<_> = callers.into_iter().chain([here]).map(node_at).collect();
        let mut nodes = nodes.into_iter();
        self.calls.renumber(|_| nodes.next().unwrap_or(NodeId::NONE));
        nodes.next().unwrap_or(NodeId::NONE)
    }

    /// Follows `count` branches from the start of `here`, or from anywhere within it. The bits are their outcomes,
    /// lowest first: 0 taken, 1 not. Returns the node after the last branch.
    ///
    /// # Errors
    /// Returns where execution went instead of the next branch, and how many bits were left.
    #[inline(always)]
    pub fn follow(
        &mut self,
        here: NodeId,
        bits: u32,
        count: u32,
        offset: u64,
        sink: &mut impl ElementSink,
    ) -> Result<NodeId, (Reached, u32)> {
        if self.rules.returns {
            self.follow_bits::<true, _>(here, bits, count, offset, sink)
        } else {
            self.follow_bits::<false, _>(here, bits, count, offset, sink)
        }
    }

    #[inline(always)]
    fn follow_bits<const RETURNS: bool, S: ElementSink>(
        &mut self,
        mut here: NodeId,
        mut bits: u32,
        mut count: u32,
        offset: u64,
        sink: &mut S,
    ) -> Result<NodeId, (Reached, u32)> {
        let mut jumps = 0;
        while count > 0 {
            let most = count.min(strides::MOST);
            if let Some((steps, stride)) = self.strides.get(here, bits, most) {
                for step in steps {
                    sink.node(offset, &self.graph, step.node, step.taken);
                }
                here = stride.end;
                bits >>= stride.takes;
                count -= u32::from(stride.takes);
                jumps = if stride.takes > 0 { 0 } else { jumps + u32::from(stride.len) };
            } else {
                let row = self.row(here);
                if matches!(row.kind, Kind::Branch | Kind::Jump) {
                    self.learn(here, bits, most);
                    continue;
                }
                // Comparisons are used because a jump table is hard to predict.
                let to = if RETURNS && row.kind == Kind::Call {
                    self.calls.push(row.after);
                    row.to[0]
                } else if RETURNS && row.kind == Kind::Return {
                    match self.calls.pop() {
                        Some(NodeId::NONE) => return Err((Reached::Several(here), count)),
                        Some(to) => self.returned::<S>(here, to),
                        None => return Err((Reached::Indirect(here), count)),
                    }
                } else if RETURNS && row.kind == Kind::JumpBack {
                    self.calls.pop();
                    row.to[0]
                } else if row.kind == Kind::End {
                    return Err((Reached::End(here), count));
                } else {
                    return Err((Reached::Indirect(here), count));
                };
                sink.node(offset, &self.graph, here, true);
                here = to;
                jumps += 1;
            }
            // Jumps in a circle would never end.
            if jumps > CAUTIOUS {
                if let Reached::Nothing(at) = self.look_ahead(here, 0, None, 0) {
                    return Err((Reached::Nothing(at), count));
                }
                jumps = 0;
            }
        }
        Ok(here)
    }

    /// Finds the stride from `here`, which ends with a branch or a jump, over `count` branches, or to something that
    /// depends on more than those.
    #[cold]
    fn learn(&mut self, here: NodeId, bits: u32, count: u32) {
        let start = self.strides.begin();
        let (mut at, mut takes) = (here, 0);
        while takes < count {
            let row = self.row(at);
            let not_taken = bits >> takes & 1;
            let (to, taken) = match row.kind {
                Kind::Jump => (row.to[0], true),
                Kind::Branch if row.to[not_taken as usize] == NodeId::NONE => {
                    (self.link(at, not_taken == 1), not_taken == 0)
                }
                Kind::Branch => (row.to[not_taken as usize], not_taken == 0),
                _ => break,
            };
            takes += u32::from(row.takes);
            let has_room = self.strides.step(start, Step { node: at, taken });
            at = to;
            if !has_room {
                break;
            }
        }
        self.strides.end(start, here, (bits, count), takes, at);
    }

    /// Runs to the target of the indirect jump in a packet, if the same packet was [seen](Self::see_leap) at the same
    /// place before. Returns the node at the target and its address. Otherwise does nothing.
    #[inline(always)]
    pub fn leap(&mut self, leap: &Leap, offset: u64, sink: &mut impl ElementSink) -> Option<(NodeId, u64)> {
        let Known::Steps(steps, target, to) = self.leaps.get(leap) else { return None };
        let mut from = leap.here;
        for step in steps {
            sink.node(offset, &self.graph, step.node, step.taken);
            from = step.node;
        }
        self.graph.went(from, target);
        Some((target, to))
    }

    /// Records that a packet leads over at most 31 branches with these outcomes to `to`. If there are only branches
    /// and direct jumps on the way, and an indirect jump at its end, [`leap`](Self::leap) can take it at once next
    /// time.
    #[inline(never)]
    pub fn see_leap(&mut self, leap: Leap, (bits, count): (u32, u32), to: u64) {
        match self.leaps.get(&leap) {
            Known::No => return self.leaps.see(leap, false),
            Known::Never | Known::Steps(..) => return,
            Known::Seen => {}
        }
        let start = self.leaps.begin();
        let target = self.leap_steps(&leap, bits | 1 << count, to, start);
        self.leaps.end(start, leap, to, target);
    }

    /// Removes all leaps, because packets have another meaning from now on.
    pub fn forget_leaps(&mut self) {
        self.leaps.clear();
    }

    /// Finds the steps of a leap. The outcomes are the bits below the highest 1 of `code`.
    fn leap_steps(&mut self, leap: &Leap, mut code: u32, address: u64, start: usize) -> Option<NodeId> {
        let goal = Goal { address, inline: true, is_branch: false, returns: Returns::Any };
        let target = self.at(address);
        let node = self.graph.node(target);
        if node.count() == 1 && node.class().conditional {
            // One of the outcomes belongs to this branch.
            return None;
        }
        let mut here = leap.here;
        let mut skip = leap.at.wrapping_sub(self.graph.node(here).start()) + 1;
        loop {
            if code == 1 && self.is_at(here, skip, &goal, 0) {
                return None;
            }
            skip = 0;
            let row = self.row(here);
            let not_taken = code & 1 == 1;
            let (to, taken) = match row.kind {
                Kind::Branch if code > 1 => {
                    code >>= 1;
                    let to = row.to[usize::from(not_taken)];
                    (if to == NodeId::NONE { self.link(here, not_taken) } else { to }, !not_taken)
                }
                Kind::Jump => (row.to[0], true),
                Kind::Indirect if code == 1 => (NodeId::NONE, true),
                _ => return None,
            };
            if !self.leaps.step(start, Step { node: here, taken }) {
                return None;
            }
            if to == NodeId::NONE {
                return Some(target);
            }
            here = to;
        }
    }

    /// Follows `count` branches. `taken` returns the outcome of the branch at an address. Returns the node after the
    /// last branch.
    ///
    /// # Errors
    /// Returns where execution went instead of the next branch, or the branch at which the sink was
    /// [full](ElementSink::is_full).
    #[inline(always)]
    pub fn follow_with(
        &mut self,
        mut here: NodeId,
        mut count: u64,
        offset: u64,
        sink: &mut impl ElementSink,
        mut taken: impl FnMut(u64) -> bool,
    ) -> Result<NodeId, Reached> {
        let mut jumps = 0;
        while count > 0 {
            let row = self.row(here);
            if row.kind == Kind::Branch {
                let node = self.graph.node(here);
                let is_taken = taken(node.last());
                let mut to = row.to[usize::from(!is_taken)];
                if to == NodeId::NONE {
                    to = self.link(here, !is_taken);
                }
                sink.node(offset, &self.graph, here, is_taken);
                if sink.is_full() {
                    return Err(Reached::Branch(here));
                }
                here = to;
                count -= 1;
                jumps = 0;
                continue;
            }
            jumps += 1;
            if jumps > CAUTIOUS {
                if let Reached::Nothing(at) = self.look_ahead(here, 0, None, 0) {
                    return Err(Reached::Nothing(at));
                }
                jumps = 0;
            }
            here = self.jump(here, row, offset, sink)?;
        }
        Ok(here)
    }

    /// Runs from `here` on without any branch. An address in the first `skip` bytes of the node does not count as
    /// reached. `passed` returns were inferred before.
    ///
    /// The last node is not emitted if the result is [`Inline`](Reached::Inline), [`Branch`](Reached::Branch) or
    /// [`End`](Reached::End).
    #[inline(always)]
    pub fn run(
        &mut self,
        mut here: NodeId,
        mut skip: u64,
        goal: &Goal,
        mut passed: u32,
        offset: u64,
        sink: &mut impl ElementSink,
    ) -> Reached {
        let mut jumps = 0;
        loop {
            if goal.inline && self.is_at(here, skip, goal, passed) {
                return Reached::Inline(here);
            }
            skip = 0;
            let row = self.row(here);
            if row.kind == Kind::Return {
                if self.is_explicit(goal, passed) {
                    return self.explicit_return(here, goal, offset, sink);
                }
                passed += 1;
            }
            here = match self.jump(here, row, offset, sink) {
                Ok(to) => to,
                Err(reached) => return reached,
            };
            jumps += 1;
            if jumps == CAUTIOUS
                && let Reached::Nothing(at) = self.look_ahead(here, 0, Some(goal), passed)
            {
                return Reached::Nothing(at);
            }
        }
    }

    /// Handles a return whose target is in the trace.
    #[cold]
    fn explicit_return(
        &mut self,
        here: NodeId,
        goal: &Goal,
        offset: u64,
        sink: &mut impl ElementSink,
    ) -> Reached {
        let calls = self.calls.clone();
        let popped = self.calls.pop();
        if let (Returns::Depth { .. }, Some(NodeId::NONE)) = (goal.returns, popped) {
            return Reached::Several(here);
        }
        if let (Returns::Depth { .. }, Some(to)) = (goal.returns, popped) {
            // It may also have been inferred, and the trace may mean a later one.
            let later = self.explore(to, 0, Some(&Goal { inline: true, ..*goal }), 0);
            let is_return = |id| self.rows.get(NodeId::index(id)).is_some_and(|row| row.kind == Kind::Return);
            match later {
                Reached::Inline(_) => return Reached::Several(here),
                Reached::Indirect(id) if is_return(id) => return Reached::Several(here),
                _ => {}
            }
            self.calls = calls;
            if !self.rules.keeps_failed {
                self.calls.pop();
            }
        }
        sink.node(offset, &self.graph, here, true);
        Reached::Indirect(here)
    }

    /// Returns what [`run`](Self::run) would, without emitting anything. Without a goal, the run ends at a branch.
    pub fn look_ahead(&mut self, here: NodeId, skip: u64, goal: Option<&Goal>, passed: u32) -> Reached {
        let calls = self.calls.clone();
        let reached = self.explore(here, skip, goal, passed);
        self.calls = calls;
        reached
    }

    fn explore(&mut self, mut here: NodeId, skip: u64, goal: Option<&Goal>, mut passed: u32) -> Reached {
        let inline = goal.filter(|goal| goal.inline);
        if inline.is_some_and(|goal| self.is_at(here, skip, goal, passed)) {
            return Reached::Inline(here);
        }
        // Brent's algorithm finds a circle: it compares with a mark that is moved at powers of two. The path from a
        // place on depends only on the open calls that it returns from, and on the distance from the returns, or the
        // depth, of the goal.
        let progress = |runner: &Self, passed: u32| match goal.map(|goal| goal.returns) {
            Some(Returns::Passed { count, .. }) => passed.min(count + 1),
            Some(Returns::Depth { .. }) => runner.calls.depth() as u32,
            Some(Returns::Any) | None => 0,
        };
        let (mut mark, mut next_mark) = ((here, progress(self, passed)), 1);
        // The lowest height of calls since the mark, relative to it.
        let (mut at_mark, mut least) = (self.calls.height(), 0);
        for step in 1..=MOST_JUMPS {
            let row = self.row(here);
            if row.kind == Kind::Return {
                if goal.is_some_and(|goal| self.is_explicit(goal, passed)) {
                    return Reached::Indirect(here);
                }
                passed += 1;
            }
            here = match self.jump(here, row, 0, &mut Nobody) {
                Ok(to) => to,
                Err(reached) => return reached,
            };
            if inline.is_some_and(|goal| self.is_at(here, 0, goal, passed)) {
                return Reached::Inline(here);
            }
            least = least.min(self.calls.height().wrapping_sub(at_mark) as i64);
            if (here, progress(self, passed)) == mark && least >= 0 {
                return Reached::Nothing(here);
            }
            if step == next_mark {
                (mark, at_mark, least) = ((here, progress(self, passed)), self.calls.height(), 0);
                next_mark *= 2;
            }
        }
        Reached::Nothing(here)
    }

    /// Returns whether `here` ends with a return that may be inferred.
    pub fn is_return(&mut self, here: NodeId) -> bool {
        self.row(here).kind == Kind::Return
    }

    /// Returns whether `here` ends with a return that may be inferred, and some call is open, known or not.
    pub fn is_open_return(&mut self, here: NodeId) -> bool {
        self.is_return(here) && self.calls.depth() > 0
    }

    /// Returns the target of the jump at the end of `here`, if it can be inferred.
    pub fn inferred_target(&mut self, here: NodeId) -> Option<u64> {
        let row = self.row(here);
        let to = match row.kind {
            Kind::Jump | Kind::JumpBack | Kind::Call => row.to[0],
            Kind::Return => self.calls.iter().next().map(|(to, _)| to).filter(|to| to.is_some())?,
            _ => return None,
        };
        Some(self.graph.node(to).start())
    }

    /// Returns whether the goal is in this node, beyond its first `skip` bytes.
    #[inline(always)]
    fn is_at(&self, here: NodeId, skip: u64, goal: &Goal, passed: u32) -> bool {
        let node = self.graph.node(here);
        let distance = goal.address.wrapping_sub(node.start());
        distance < u64::from(node.len()) && distance >= skip && self.is_there(here, goal, passed)
    }

    #[cold]
    fn is_there(&self, here: NodeId, goal: &Goal, passed: u32) -> bool {
        let fits = match goal.returns {
            _ if goal.is_branch => true,
            Returns::Any => true,
            Returns::Depth { count, mask, .. } => (self.calls.depth() as u32 ^ count) & mask == 0,
            Returns::Passed { count, .. } => passed == count,
        };
        fits && self.is_instruction(here, goal.address)
    }

    /// Returns whether an instruction of this node always traps and never retires.
    fn traps(&self, here: NodeId) -> bool {
        let node = self.graph.node(here);
        let xlen = match node.isa() {
            Isa::Rv32 => riscv::Xlen::Rv32,
            Isa::Rv64 => riscv::Xlen::Rv64,
            Isa::A64 | Isa::A32 | Isa::T32 => return false,
        };
        let block = node.block(Ended::Cut);
        Instructions::new(self.graph.image(), node.space(), &block).any(|found| {
            let op = riscv::decode(xlen, u32::from_le_bytes(found.bytes)).op;
            matches!(op, riscv::Op::Ecall | riscv::Op::Ebreak)
        })
    }

    /// Returns whether an instruction of this node begins at `address`.
    fn is_instruction(&self, here: NodeId, address: u64) -> bool {
        let node = self.graph.node(here);
        let (mut at, mut it) = (node.start(), Default::default());
        while at < address {
            let Some(found) = instruction(self.graph.image(), node.space(), at, node.isa(), &mut it) else {
                return false;
            };
            at = at.wrapping_add(found.len.into());
        }
        at == address
    }

    /// Returns whether the return at the current position leads to the goal.
    #[inline(always)]
    fn is_explicit(&self, goal: &Goal, passed: u32) -> bool {
        match goal.returns {
            Returns::Any => false,
            Returns::Depth { count, mask, explicit } => {
                explicit && (self.calls.depth() as u32 ^ count) & mask == 0
            }
            Returns::Passed { count, explicit } => explicit && passed == count,
        }
    }

    /// Returns the node after `here`, which ends with anything but a branch.
    #[inline(always)]
    fn jump<S: ElementSink>(
        &mut self,
        here: NodeId,
        row: Row,
        offset: u64,
        sink: &mut S,
    ) -> Result<NodeId, Reached> {
        // The most frequent case comes first, by comparison: a jump table is hard to predict.
        if row.kind == Kind::Jump {
            sink.node(offset, &self.graph, here, true);
            return Ok(row.to[0]);
        }
        if row.kind == Kind::Indirect {
            sink.node(offset, &self.graph, here, true);
            return Err(Reached::Indirect(here));
        }
        if row.kind == Kind::Branch {
            return Err(Reached::Branch(here));
        }
        let to = match row.kind {
            Kind::Call => {
                self.calls.push(row.after);
                row.to[0]
            }
            Kind::Return => match self.calls.pop() {
                Some(NodeId::NONE) => return Err(Reached::Several(here)),
                Some(to) => self.returned::<S>(here, to),
                None => {
                    sink.node(offset, &self.graph, here, true);
                    return Err(Reached::Indirect(here));
                }
            },
            Kind::JumpBack => {
                self.calls.pop();
                row.to[0]
            }
            Kind::IndirectCall => {
                self.calls.push(row.after);
                sink.node(offset, &self.graph, here, true);
                return Err(Reached::Indirect(here));
            }
            _ => return Err(Reached::End(here)),
        };
        sink.node(offset, &self.graph, here, true);
        Ok(to)
    }

    /// Counts the target of an inferred return, for sinks that count by node. Others see the next block.
    #[inline(always)]
    fn returned<S: ElementSink>(&mut self, from: NodeId, to: NodeId) -> NodeId {
        if S::FOLLOWS {
            self.graph.went(from, to);
        }
        to
    }

    /// Returns the row of a node, and determines it at first use.
    #[inline(always)]
    fn row(&mut self, here: NodeId) -> Row {
        match self.rows.get(here.index()) {
            Some(&row) if row.kind != Kind::Unknown => row,
            _ => self.find_out(here),
        }
    }

    /// Returns the node after a branch.
    #[cold]
    fn link(&mut self, here: NodeId, not_taken: bool) -> NodeId {
        let to = if not_taken { self.graph.next(here) } else { self.graph.taken(here) };
        self.rows[here.index()].to[usize::from(not_taken)] = to;
        to
    }

    #[cold]
    fn find_out(&mut self, here: NodeId) -> Row {
        let node = *self.graph.node(here);
        let class = node.class();
        let is_call = self.rules.returns && class.role == Role::Call;
        let is_return = self.rules.returns && class.role == Role::Return;
        let (kind, to) = match class.flow {
            _ if node.stop() != Stop::Class || self.traps(here) => (Kind::End, NodeId::NONE),
            Flow::Direct if class.conditional => (Kind::Branch, NodeId::NONE),
            Flow::Direct => (if is_call { Kind::Call } else { Kind::Jump }, self.graph.taken(here)),
            Flow::Pair if self.rules.pairs => {
                let to = self.graph.at(node.target, node.isa(), node.space());
                let kind = match class.role {
                    _ if is_call => Kind::Call,
                    _ if is_return => Kind::JumpBack,
                    _ => Kind::Jump,
                };
                (kind, to)
            }
            Flow::Pair | Flow::Indirect if is_return => (Kind::Return, NodeId::NONE),
            Flow::Pair | Flow::Indirect if is_call => (Kind::IndirectCall, NodeId::NONE),
            Flow::Pair | Flow::Indirect => (Kind::Indirect, NodeId::NONE),
            Flow::Next => (Kind::End, NodeId::NONE),
            Flow::Isb | Flow::Wait | Flow::TransactionStart => (Kind::Jump, self.graph.next(here)),
        };
        let after = if is_call { self.graph.next(here) } else { NodeId::NONE };
        let row = Row { to: [to; 2], after, takes: u8::from(kind == Kind::Branch), kind };
        if self.rows.len() < self.graph.len() {
            self.rows.resize(self.graph.len(), UNKNOWN);
        }
        self.rows[here.index()] = row;
        row
    }
}

/// A sink that discards everything.
struct Nobody;

impl ElementSink for Nobody {
    fn element(&mut self, _: u64, _: &tracewright_core::Element) {}

    #[inline(always)]
    fn node(&mut self, _: u64, _: &Graph<'_>, _: NodeId, _: bool) {}
}
