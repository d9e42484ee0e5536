//! The current position of execution, and how packets move it.

use tracewright_core::{Block, Class, Element, Ended, Flow, GapReason, MemorySpace, Mismatch, Role};
use tracewright_flow::{ElementSink, Instructions, Node, NodeId, Stop};

use super::Decoder;
use super::decoder::State;
use crate::Mode;

/// Maximum number of jumps without a branch in real programs.
const MOST_JUMPS: u32 = 1 << 20;

impl Decoder<'_> {
    /// Handles a branch with its outcome.
    #[inline(always)]
    pub(super) fn branch(&mut self, offset: u64, taken: bool, time: u64, sink: &mut impl ElementSink) {
        let here = self.here;
        if here.is_some() && self.graph.node(here).class().conditional {
            sink.node(offset, &self.graph, here, taken);
            self.here = if taken { self.graph.taken(here) } else { self.graph.next(here) };
        } else {
            let what = if taken { Mismatch::NoTarget } else { Mismatch::NotTaken };
            self.fail(offset, what, sink);
        }
        self.cycles(offset, time, sink);
    }

    /// Handles a direct jump.
    #[inline(always)]
    pub(super) fn direct_jump(&mut self, offset: u64, time: u64, sink: &mut impl ElementSink) {
        let here = self.here;
        if here.is_some() && is_direct_jump(self.graph.node(here)) {
            sink.node(offset, &self.graph, here, true);
            self.here = self.graph.taken(here);
        } else {
            self.fail(offset, Mismatch::NoTarget, sink);
        }
        self.cycles(offset, time, sink);
    }

    /// Handles branches that went as predicted.
    pub(super) fn hits(&mut self, offset: u64, count: u64, sink: &mut impl ElementSink) {
        for _ in 0..count {
            if self.budget == 0 || sink.is_full() {
                return self.contradiction(offset, sink);
            }
            if !self.predicted(offset, true, sink) {
                return;
            }
        }
    }

    /// Handles a branch that did not go as predicted.
    pub(super) fn miss(&mut self, offset: u64, time: u64, sink: &mut impl ElementSink) {
        self.predicted(offset, false, sink);
        self.cycles(offset, time, sink);
    }

    /// Follows execution over the next branch. Returns whether there is one.
    #[inline(always)]
    fn predicted(&mut self, offset: u64, is_hit: bool, sink: &mut impl ElementSink) -> bool {
        if !self.pass_jumps(offset, |node| node.class().conditional, sink) {
            self.fail(offset, Mismatch::NoTarget, sink);
            return false;
        }
        let here = self.here;
        let slot = self.predictor.slot(self.graph.node(here).last());
        let taken = self.predictor.predicts(slot) == is_hit;
        self.predictor.learn(slot, taken);
        sink.node(offset, &self.graph, here, taken);
        self.here = if taken { self.graph.taken(here) } else { self.graph.next(here) };
        self.budget = self.budget.saturating_sub(1);
        true
    }

    /// Handles a jump whose target is in the trace, relative to its own address.
    pub(super) fn indirect_jump(
        &mut self,
        offset: u64,
        difference: u64,
        time: u64,
        sink: &mut impl ElementSink,
    ) {
        if self.pass_jumps(offset, is_indirect_jump, sink) {
            let here = self.here;
            let to = self.params.whole(self.graph.node(here).last() ^ difference, self.isa);
            self.pass_indirect(offset, to, sink);
        } else if let Some(to) = self.target_of_direct(difference) {
            // Hardware may report every jump through a register so, also one whose target the program tells.
            sink.node(offset, &self.graph, self.here, true);
            self.here = to;
        } else {
            self.fail(offset, Mismatch::NoTarget, sink);
        }
        self.cycles(offset, time, sink);
    }

    /// Returns where the direct jump at this place leads, if that is where the trace says.
    #[cold]
    fn target_of_direct(&mut self, difference: u64) -> Option<NodeId> {
        let node = *self.graph.node(Some(self.here).filter(|here| here.is_some())?);
        let (target, _) = node.direct_target().filter(|_| is_direct_jump(&node))?;
        (self.params.whole(node.last() ^ difference, self.isa) == target).then(|| self.graph.taken(self.here))
    }

    /// Handles the return from a trap at `from`.
    pub(super) fn return_from(&mut self, offset: u64, from: u64, to: u64, sink: &mut impl ElementSink) {
        let is_there = |node: &Node| {
            is_indirect_jump(node) && node.class().role == Role::ExceptionReturn && node.last() == from
        };
        if self.pass_jumps(offset, is_there, sink) {
            self.pass_indirect(offset, to, sink);
        } else {
            self.missed(offset, from, sink);
        }
    }

    fn pass_indirect(&mut self, offset: u64, to: u64, sink: &mut impl ElementSink) {
        let from = self.here;
        self.go(to);
        self.graph.went(from, self.here);
        sink.node(offset, &self.graph, from, true);
    }

    /// Follows execution to an address on the way to the next branch, and ends the block there.
    pub(super) fn cut_at(&mut self, offset: u64, to: u64, sink: &mut impl ElementSink) {
        let part = self.pass_to(offset, to, sink);
        if let Some(block) = part {
            sink.block(offset, &block);
        }
    }

    /// Follows execution to the block with an address, on the way to the next branch. Returns the part of the block before the address.
    pub(super) fn pass_to(&mut self, offset: u64, to: u64, sink: &mut impl ElementSink) -> Option<Block> {
        let is_there = |node: &Node| {
            let last = if node.stop() == Stop::Class { node.last() } else { node.end() };
            (node.start()..=last).contains(&to)
        };
        if !self.pass_jumps(offset, is_there, sink) {
            self.missed(offset, to, sink);
            return None;
        }
        let node = *self.graph.node(self.here);
        if node.start() == to {
            return None;
        }
        let whole = node.block(Ended::Cut);
        for (count, found) in (1..).zip(Instructions::new(self.graph.image(), MemorySpace::ANY, &whole)) {
            if found.address.wrapping_add(found.len.into()) == to {
                return Some(Block { end: to, count, last_len: found.len, class: Class::NEXT, ..whole });
            }
        }
        self.missed(offset, to, sink);
        None
    }

    /// Follows execution over direct jumps to a node, where the trace leaves them out. Returns whether it is reached; nothing is emitted
    /// if not.
    #[inline(always)]
    fn pass_jumps(
        &mut self,
        offset: u64,
        is_there: impl Fn(&Node) -> bool,
        sink: &mut impl ElementSink,
    ) -> bool {
        if self.here.is_some() && is_there(self.graph.node(self.here)) {
            return true;
        }
        self.here.is_some()
            && self.params.mode == Mode::Predict
            && self.pass_several_jumps(offset, is_there, sink)
    }

    #[inline(never)]
    fn pass_several_jumps(
        &mut self,
        offset: u64,
        is_there: impl Fn(&Node) -> bool,
        sink: &mut impl ElementSink,
    ) -> bool {
        let (mut at, mut jumps) = (self.here, 0);
        while !is_there(self.graph.node(at)) {
            if !is_direct_jump(self.graph.node(at)) || jumps == MOST_JUMPS {
                return false;
            }
            at = self.graph.taken(at);
            jumps += 1;
        }
        for _ in 0..jumps {
            sink.node(offset, &self.graph, self.here, true);
            self.here = self.graph.taken(self.here);
        }
        self.budget = self.budget.saturating_sub(jumps.into());
        true
    }

    /// Reports that execution does not come to where the trace has it.
    #[cold]
    fn missed(&mut self, offset: u64, to: u64, sink: &mut impl ElementSink) {
        let from = self.graph.node(self.here).start();
        self.fail(offset, |_| Mismatch::Missed { from, to }, sink);
    }

    /// Reports that the program cannot have run as the trace says, or is not known here. `what` gets the address of the last instruction.
    #[cold]
    #[inline(never)]
    fn fail(&mut self, offset: u64, what: impl FnOnce(u64) -> Mismatch, sink: &mut impl ElementSink) {
        if let State::Waiting { reason, .. } = self.state {
            // A stream has to start first.
            if reason.is_none() {
                self.contradiction(offset, sink);
            }
            return;
        }
        let node = *self.graph.node(self.here);
        let mismatch = match node.stop() {
            Stop::Class => what(node.last()),
            Stop::NotCode => Mismatch::NotCode(node.end()),
            Stop::Endless => Mismatch::Endless(node.start()),
            Stop::NoCode => return self.no_code(offset, &node, sink),
        };
        sink.element(offset, &Element::Mismatch(mismatch));
        self.here = NodeId::NONE;
        self.state = State::Waiting { reason: Some(GapReason::Mismatch), from: offset, is_told: true };
    }

    /// Reports that no image has the code at the end of this node.
    fn no_code(&mut self, offset: u64, node: &Node, sink: &mut impl ElementSink) {
        if node.count() > 0 {
            sink.block(offset, &node.block(Ended::Cut));
        }
        sink.element(offset, &Element::NoCode { address: node.end(), space: MemorySpace::ANY });
        self.here = NodeId::NONE;
        // What the predictor misses now is not known: only another start helps.
        let is_told = self.params.mode == Mode::Predict;
        self.state = State::Waiting { reason: Some(GapReason::Mismatch), from: offset, is_told };
    }
}

/// Returns whether a node ends with a jump whose target is in the instruction.
#[inline(always)]
fn is_direct_jump(node: &Node) -> bool {
    let class = node.class();
    class.flow == Flow::Direct && !class.conditional
}

fn is_indirect_jump(node: &Node) -> bool {
    matches!(node.class().flow, Flow::Indirect | Flow::Pair)
}
