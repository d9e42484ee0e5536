//! Elements other than whole blocks.

use tracewright_core::{Block, Class, Context, Element, Ended, Flow, GapReason, Isa, Mismatch, Security};
use tracewright_flow::{ElementSink, Instructions, Node, NodeId, Reached, Stop};
use tracewright_isa::riscv;

use super::Decoder;
use super::decoder::State;
use crate::packet::{self, Packet};

/// Where execution goes after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Address(u64),
    /// Target that only the trace can give.
    Indirect,
    /// Return that the trace may leave out, whose call is unknown.
    Unknown,
    /// The instruction is in no image.
    NoCode,
}

impl Next {
    fn known(self) -> Option<u64> {
        match self {
            Self::Address(address) => Some(address),
            Self::Indirect | Self::Unknown | Self::NoCode => None,
        }
    }
}

/// Part of a block.
struct Part {
    block: Block,
    /// Encoding of its last instruction.
    bits: u32,
}

impl Decoder<'_> {
    /// Emits the held-back block as far as it is known to have run. Returns where execution goes next. At a
    /// trap, an instruction that raises it did not retire.
    pub(super) fn close_at(&mut self, offset: u64, is_trap: bool, sink: &mut impl ElementSink) -> Next {
        let node = *self.runner.graph().node(self.here);
        let pending = self.pending.take();
        let Some(at) = self.at.take() else { return Next::Address(node.start()) };
        if at == node.last() && node.class().ends_block() {
            let taken = pending.unwrap_or(true);
            sink.node(offset, self.runner.graph(), self.here, taken);
            return self.after(&node, taken);
        }
        if node.count() == 0 {
            self.emit_no_code(offset, &node, sink);
            return Next::NoCode;
        }
        let Some(part) = self.part(&node, at) else { return Next::Address(node.start()) };
        if is_trap && makes_trap(node.isa(), part.bits) {
            if part.block.count > 1
                && let Some(before) = self.part_before(&node, at)
            {
                sink.block(offset, &before);
            }
            return Next::Address(at);
        }
        sink.block(offset, &part.block);
        Next::Address(part.block.end)
    }

    /// Emits the held-back block, which ended at the current position.
    pub(super) fn close(&mut self, offset: u64, sink: &mut impl ElementSink) {
        if self.here.is_some() {
            if self.inferred.is_some() {
                self.check_again(offset, sink);
            }
            self.close_at(offset, false, sink);
            self.here = NodeId::NONE;
        }
    }

    /// Emits the held-back block as far as it is known to have run, when the instructions after it are
    /// unknown.
    pub(super) fn close_uncertain(&mut self, offset: u64, sink: &mut impl ElementSink) {
        if !self.here.is_some() {
            return;
        }
        let reported = self.inferred.take().and(self.at);
        let next = self.close_at(offset, false, sink);
        // The last report may have meant a later occurrence.
        if let Some(next_occurrence) = reported {
            self.emit_unknown(offset, next.known(), next_occurrence, sink);
        }
        self.here = NodeId::NONE;
    }

    /// Reports that execution may have reached `at` any number of times.
    #[cold]
    pub(super) fn unknown_rounds(
        &mut self,
        offset: u64,
        at: u64,
        is_loop: bool,
        sink: &mut impl ElementSink,
    ) {
        let node = *self.runner.graph().node(self.here);
        if let Some(before) = self.part_before(&node, at) {
            sink.block(offset, &before);
        }
        self.emit_unknown(offset, is_loop.then_some(at), at, sink);
        (self.here, self.at, self.pending) = (self.runner.at(at), Some(at), None);
        // The open calls are unknown as well.
        self.runner.calls.clear();
    }

    /// Emits privilege, context and time where they are sent and have changed.
    pub(super) fn emit_context(
        &mut self,
        offset: u64,
        context: packet::Context,
        sink: &mut impl ElementSink,
    ) {
        if !self.params.notime {
            sink.element(offset, &Element::Timestamp { value: context.time, cycles: None });
        }
        let context = packet::Context { time: 0, ..context };
        if self.context == Some(context) {
            return;
        }
        self.context = Some(context);
        let isa = self.runner.isa();
        let told = Context {
            level: context.privilege,
            security: Security::NonSecure,
            is_64bit: isa == Isa::Rv64,
            vmid: None,
            context_id: (!self.params.nocontext).then_some(context.context as u32),
        };
        self.enter(&told);
        sink.element(offset, &Element::Context(told, isa));
    }

    /// Reports that the program cannot have run as the trace says, and waits for the next synchronisation
    /// packet. `to` is the address that execution should have reached.
    #[cold]
    #[inline(never)]
    pub(super) fn fail(
        &mut self,
        offset: u64,
        reached: Reached,
        to: Option<u64>,
        sink: &mut impl ElementSink,
    ) {
        let (Reached::Inline(id)
        | Reached::Indirect(id)
        | Reached::Branch(id)
        | Reached::End(id)
        | Reached::Nothing(id)
        | Reached::Several(id)) = reached;
        let node = *self.runner.graph().node(id);
        if let (Reached::End(_), Stop::NoCode) = (reached, node.stop()) {
            return self.no_code(offset, id, sink);
        }
        // Instructions reported earlier have run; emits them if that was not done yet.
        if id == self.here && self.at.is_some() && node.count() > 0 {
            self.close_at(offset, false, sink);
        }
        self.here = NodeId::NONE;
        if let Reached::Several(_) = reached {
            return self.lose(offset, GapReason::Ambiguous, sink);
        }
        let mismatch = match (reached, to) {
            (Reached::End(_), _) if node.stop() == Stop::NotCode => Mismatch::NotCode(node.end()),
            (Reached::End(_), _) if node.stop() == Stop::Endless => Mismatch::Endless(node.start()),
            (Reached::Indirect(_), _) | (_, None) => Mismatch::NoTarget(node.last()),
            (_, Some(to)) => Mismatch::Missed { from: node.start(), to },
        };
        sink.element(offset, &Element::Mismatch(mismatch));
        self.facts.mismatches += 1;
        self.forget();
        let reason = Some(GapReason::Mismatch);
        self.state = State::Waiting { reason, from: offset, skipped: true, resume: false };
    }

    /// Reports that execution went from `here` to `next` on an unknown path.
    #[cold]
    pub(super) fn unknown_path(&mut self, offset: u64, here: NodeId, next: u64, sink: &mut impl ElementSink) {
        // Instructions reported earlier have run; emits them if that was not done yet.
        let start = if here == self.here && self.at.is_some() {
            self.close_at(offset, false, sink).known()
        } else {
            Some(self.runner.graph().node(here).start())
        };
        self.emit_unknown(offset, start, next, sink);
    }

    fn emit_unknown(&self, offset: u64, start: Option<u64>, next: u64, sink: &mut impl ElementSink) {
        sink.element(offset, &Element::UnknownPath { start, next, isa: self.runner.isa(), count: None });
    }

    /// Reports that no image has the code at the end of this node, or that it is none.
    #[cold]
    #[inline(never)]
    pub(super) fn no_code(&mut self, offset: u64, id: NodeId, sink: &mut impl ElementSink) {
        let node = *self.runner.graph().node(id);
        if node.count() > 0 {
            sink.block(offset, &node.block(Ended::Cut));
            self.facts.mismatches += 1;
        }
        self.emit_no_code(offset, &node, sink);
        let address = self.address;
        self.forget();
        self.address = address;
        // Without their history, packets have a meaning only if no option needs that history.
        let options = self.options;
        let resume = !(options.implicit_return || options.jump_target_cache || options.branch_prediction);
        let reason = Some(GapReason::Mismatch);
        self.state = State::Waiting { reason, from: offset, skipped: false, resume };
    }

    fn emit_no_code(&self, offset: u64, node: &Node, sink: &mut impl ElementSink) {
        let element = match node.stop() {
            Stop::NotCode => Element::Mismatch(Mismatch::NotCode(node.end())),
            _ => Element::NoCode { address: node.end(), space: node.space() },
        };
        sink.element(offset, &element);
    }

    /// Resumes after missing code at the address of this packet, if it has one and there is code.
    pub(super) fn resume_at(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) -> bool {
        let (map, sent) = match packet {
            Packet::Address(sent) => (packet::BranchMap::default(), sent),
            Packet::Branches(map, Some(sent)) => (*map, sent),
            Packet::Branches(_, None) => return true,
            _ => return false,
        };
        let base = if self.options.full_address { 0 } else { self.address };
        self.address = self.params.address(base.wrapping_add(sent.value));
        let node = self.runner.at(self.address);
        if self.runner.graph().node(node).count() == 0 || self.is_branch(node) && map.is_empty() {
            return true;
        }
        self.facts.resumed += 1;
        let taken = !map.is_empty() && map.bits() >> (map.count() - 1) & 1 == 0;
        self.emit_unknown(offset, None, self.address, sink);
        self.go_to(offset, self.address, taken, sink);
        true
    }

    /// Returns where execution goes next, as far as it is known.
    pub(super) fn next(&mut self) -> Next {
        let node = *self.runner.graph().node(self.here);
        match self.at {
            None => Next::Address(node.start()),
            Some(at) if at == node.last() && node.class().ends_block() => {
                self.after(&node, self.pending.unwrap_or(true))
            }
            Some(at) => Next::Address(self.part(&node, at).map_or(at, |part| part.block.end)),
        }
    }

    /// Returns where execution goes from the end of `node`.
    fn after(&mut self, node: &Node, taken: bool) -> Next {
        let class = node.class();
        match class.flow {
            Flow::Direct if taken => node.direct_target().map_or(Next::Indirect, |(to, _)| Next::Address(to)),
            Flow::Pair | Flow::Indirect | Flow::Direct if taken => {
                match self.runner.inferred_target(self.here) {
                    Some(to) => Next::Address(to),
                    None if self.runner.is_open_return(self.here) => Next::Unknown,
                    None => Next::Indirect,
                }
            }
            _ => Next::Address(node.end()),
        }
    }

    /// Returns the part of a node up to and including the instruction at `at`.
    fn part(&self, node: &Node, at: u64) -> Option<Part> {
        let whole = node.block(Ended::Cut);
        let image = self.runner.graph().image();
        for (count, instruction) in (1..).zip(Instructions::new(image, node.space(), &whole)) {
            if instruction.address == at {
                let end = at.wrapping_add(instruction.len.into());
                let last_len = instruction.len;
                let block = Block { end, count, last_len, class: Class::NEXT, ..whole };
                return Some(Part { block, bits: u32::from_le_bytes(instruction.bytes) });
            }
        }
        None
    }

    /// Returns the address after the instruction at `at`.
    pub(super) fn after_instruction(&mut self, at: u64) -> Option<u64> {
        let id = self.runner.at(at);
        let node = *self.runner.graph().node(id);
        self.part(&node, at).map(|part| part.block.end)
    }

    /// Returns the part of a node before the instruction at `at`.
    fn part_before(&self, node: &Node, at: u64) -> Option<Block> {
        let whole = node.block(Ended::Cut);
        let image = self.runner.graph().image();
        let before = Instructions::new(image, node.space(), &whole).take_while(|found| found.address != at);
        let last = before.last()?;
        self.part(node, last.address).map(|part| part.block)
    }
}

/// Returns whether the instruction never retires because it raises a trap.
fn makes_trap(isa: Isa, bits: u32) -> bool {
    let xlen = if isa == Isa::Rv32 { riscv::Xlen::Rv32 } else { riscv::Xlen::Rv64 };
    matches!(riscv::decode(xlen, bits).op, riscv::Op::Ecall | riscv::Op::Ebreak)
}
