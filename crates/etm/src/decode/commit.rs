//! What happened: moves the walker and tells elements.

use tracewright_core::{
    Block, Contradiction, Element, Ended, Exception, Flow, Isa, Mismatch, Role, Sink, TraceOn, Transaction,
};
use tracewright_flow::Stuck;

use super::decoder::Decoder;
use super::queue::Item;
use crate::packet::{Address, Atoms, Context, InstructionSet, Q};
use crate::{Profile, packet};

/// An M-profile exception without a return address: it comes right after another.
const TAIL_CHAINED: u64 = 0xffff_fffe;

impl Decoder<'_> {
    /// Tells what `item`, which happened, means. Returns how many P0 elements were told.
    pub(super) fn commit_item(
        &mut self,
        offset: u64,
        item: Item,
        sink: &mut impl Sink,
    ) -> Result<u32, Contradiction> {
        match item {
            Item::Atoms(atoms) => self.atoms(offset, atoms, sink)?,
            Item::SourceAddress(address) => self.source_address(offset, address, sink)?,
            Item::Exception { number, at_target } => self.exception(offset, number, at_target, sink)?,
            Item::ExceptionOnly { number } => {
                let exception = Exception { number, return_address: None, at_target: false };
                sink.element(offset, &Element::Exception(exception));
                self.walker.lose();
            }
            Item::Q(q) => self.q(offset, q, sink)?,
            Item::ExceptionReturn { .. } => sink.element(offset, &Element::ExceptionReturn),
            Item::TransactionStart { .. } => {
                sink.element(offset, &Element::Transaction(Transaction::Start));
            }
            Item::Transaction(transaction) => sink.element(offset, &Element::Transaction(transaction)),
            Item::Address(address) => self.set_address(address),
            Item::Context(context, is) => self.set_context(offset, context, is, sink),
            Item::TraceOn => {
                let reason = if self.overflowed { TraceOn::Overflow } else { TraceOn::Normal };
                self.overflowed = false;
                self.walker.restart();
                sink.element(offset, &Element::TraceOn(reason));
            }
            Item::TraceInfo => self.walker.flush_returns(),
            Item::FunctionReturn | Item::Unseen(_) => {}
            survivor => self.tell_survivor(offset, survivor, sink),
        }
        Ok(item.p0())
    }

    pub(super) fn tell_survivor(&mut self, offset: u64, item: Item, sink: &mut impl Sink) {
        let element = match item {
            Item::Event(events) => Element::Event(events),
            Item::Timestamp(packet::Timestamp { value, cycles, .. }) => Element::Timestamp { value, cycles },
            Item::TimestampMarker => Element::TimestampMarker,
            Item::Cycles(cycles) => Element::Cycles(cycles),
            Item::Instrumentation { level, value } => Element::Instrumentation { level, value },
            _ => return,
        };
        sink.element(offset, &element);
    }

    pub(super) fn set_address(&mut self, address: Address) {
        self.missing = None;
        self.walker.set_address(address.value, self.isa(address.is));
    }

    pub(super) fn set_context(
        &mut self,
        offset: u64,
        context: Context,
        is: InstructionSet,
        sink: &mut impl Sink,
    ) {
        let (vmid, context_id) = self.context.map_or((None, None), |last| (last.vmid, last.context_id));
        let context = tracewright_core::Context {
            level: context.el(),
            security: context.security(),
            is_64bit: context.is_aarch64(),
            vmid: context.vmid().or(vmid),
            context_id: context.context_id().or(context_id),
        };
        self.context = Some(context);
        self.needs_context = false;
        self.walker.set_space(context.space());
        let isa = self.isa(is);
        self.walker.set_isa(isa);
        sink.element(offset, &Element::Context(context, isa));
    }

    fn isa(&self, is: InstructionSet) -> Isa {
        match is {
            InstructionSet::Is1 => Isa::T32,
            InstructionSet::Is0 if self.context.is_some_and(|context| context.is_64bit) => Isa::A64,
            InstructionSet::Is0 => Isa::A32,
        }
    }

    /// Runs through the P0 instructions that the atoms stand for.
    #[inline(always)]
    pub(super) fn atoms(
        &mut self,
        offset: u64,
        atoms: Atoms,
        sink: &mut impl Sink,
    ) -> Result<(), Contradiction> {
        if self.needs_context {
            return Ok(());
        }
        // ETE has no packet for the return from an exception.
        let synthesise = self.params.is_ete();
        let Atoms { mut bits, count } = atoms;
        let mut left = u32::from(count);
        loop {
            let result = self.walker.branches(bits, left, &mut |node, ended| {
                sink.block(offset, &node.block(ended));
                if synthesise && node.class().role == Role::ExceptionReturn && ended == Ended::Taken {
                    sink.element(offset, &Element::ExceptionReturn);
                }
            });
            let Err((stuck, used)) = result else { return Ok(()) };
            self.stuck(offset, stuck, 0, sink)?;
            bits >>= used;
            left -= used;
        }
    }

    /// Runs to the instruction at `source`, through branches that were not taken, and through it.
    fn source_address(
        &mut self,
        offset: u64,
        source: Address,
        sink: &mut impl Sink,
    ) -> Result<(), Contradiction> {
        if self.needs_context {
            return Ok(());
        }
        if let Err(stuck) = self.walker.resolve_return() {
            self.stuck(offset, stuck, 0, sink)?;
        }
        let isa = self.isa(source.is);
        match self.walker.address() {
            Some((address, _)) if address <= source.value => {}
            // What ran before is not known.
            _ => self.walker.set_address(source.value, isa),
        }
        // The blocks so far, if they are to be told as one.
        let mut joined: Option<Block> = None;
        let join = self.options.join_source_walks;
        loop {
            let Some(node) = self.walker.here() else { return Ok(()) };
            let is_here = (node.start()..node.end()).contains(&source.value) && node.count() > 0;
            let at_end = node.block(Ended::Taken).last() == source.value;
            let (is_branch, from, end) = (node.class().is_branch(), node.start(), node.end());
            if is_here && !at_end {
                // In the middle of a block, or where a block of another instruction set begins.
                let to = source.value;
                self.walker.lose();
                sink.element(offset, &Element::Mismatch(Mismatch::Missed { from, to }));
                return Ok(());
            }
            let mut returned = false;
            let mut told = |block: &Block| {
                returned = block.class.role == Role::ExceptionReturn && block.ended == Ended::Taken;
                let start = joined.map_or(block.start, |joined| joined.start);
                let count = joined.map_or(0, |joined| joined.count).saturating_add(block.count);
                joined = Some(Block { start, count, ..*block });
                if !join {
                    sink.block(offset, block);
                }
            };
            // A wait that is not told of does not end a walk to the next branch, but this one ends with its block.
            let result = if at_end || is_branch {
                self.walker.branch(at_end, &mut |node, ended| told(&node.block(ended)))
            } else {
                self.walker.run_to(end, &mut told)
            };
            if let (Some(joined), true) = (joined, join && (at_end || result.is_err())) {
                sink.block(offset, &joined);
            }
            if let Err(stuck) = result {
                return self.stuck(offset, stuck, source.value, sink);
            }
            if returned && self.params.is_ete() {
                sink.element(offset, &Element::ExceptionReturn);
            }
            if at_end {
                return Ok(());
            }
        }
    }

    /// An exception: takes the address, and perhaps the context, that come with it.
    fn exception(
        &mut self,
        offset: u64,
        number: u16,
        at_target: bool,
        sink: &mut impl Sink,
    ) -> Result<(), Contradiction> {
        if let Err(stuck) = self.walker.resolve_return() {
            self.stuck(offset, stuck, 0, sink)?;
        }
        if let Some(&(_, Item::Context(context, is))) = self.queue.peek() {
            self.queue.pop();
            self.set_context(offset, context, is, sink);
        }
        let Some((_, Item::Address(address))) = self.queue.pop() else {
            return Err(Contradiction::UnexpectedPacket);
        };
        let is_m = self.params.profile() == Profile::M;
        let tail_chained = is_m && address.value == TAIL_CHAINED;
        let return_address = (!tail_chained).then_some(address.value);
        if !tail_chained {
            if at_target {
                self.set_address(address);
            } else if let (Some(missing), true) = (self.missing, self.options.repeat_no_code) {
                if missing < address.value {
                    let space = self.walker.space();
                    sink.element(offset, &Element::NoCode { address: missing, space });
                }
            } else if self.walker.address().is_some_and(|(here, _)| here < address.value)
                && !self.needs_context
            {
                let result = self.walker.run_to(address.value, &mut |block| sink.block(offset, block));
                if let Err(stuck) = result {
                    self.stuck(offset, stuck, address.value, sink)?;
                }
            } else if let (Err(stuck), false) = (self.walker.no_target(), is_m) {
                // On M-profile a branch may return from an exception, and another be taken at once.
                self.stuck(offset, stuck, 0, sink)?;
            }
        }
        sink.element(offset, &Element::Exception(Exception { number, return_address, at_target }));
        Ok(())
    }

    /// Some instructions ran, perhaps with branches among them.
    fn q(&mut self, offset: u64, q: Q, sink: &mut impl Sink) -> Result<(), Contradiction> {
        if let Err(stuck) = self.walker.resolve_return() {
            self.stuck(offset, stuck, 0, sink)?;
        }
        let address = match q.address {
            Some(address) => address,
            None => {
                if let Some(&(_, Item::Context(context, is))) = self.queue.peek() {
                    self.queue.pop();
                    self.set_context(offset, context, is, sink);
                }
                let Some((_, Item::Address(address))) = self.queue.pop() else {
                    return Err(Contradiction::UnexpectedPacket);
                };
                address
            }
        };
        if !self.needs_context {
            if let Err(stuck) = self.walker.no_target() {
                self.stuck(offset, stuck, 0, sink)?;
            }
            self.q_range(offset, q.count, address, sink);
        }
        self.set_address(address);
        Ok(())
    }

    fn q_range(&mut self, offset: u64, count: Option<u32>, next: Address, sink: &mut impl Sink) {
        let start = self.walker.address().map(|(start, _)| start);
        if let Some(count) = count.filter(|&count| count > 0)
            && let Some(block) = self.walker.first(count)
            && block.count == count
            && (block.end == next.value || block.class.is_branch())
        {
            let ended = match block.class.flow {
                Flow::Direct | Flow::Indirect if block.end == next.value && block.class.conditional => {
                    Ended::NotTaken
                }
                Flow::Direct | Flow::Indirect => Ended::Taken,
                Flow::Next => Ended::Cut,
                _ => Ended::Through,
            };
            sink.block(offset, &Block { ended, ..block });
        } else {
            sink.element(
                offset,
                &Element::UnknownPath { start, next: next.value, isa: self.isa(next.is), count },
            );
        }
    }

    /// Tells why the walk ended. `to` is where it should have come to.
    #[cold]
    fn stuck(
        &mut self,
        offset: u64,
        stuck: Stuck,
        to: u64,
        sink: &mut impl Sink,
    ) -> Result<(), Contradiction> {
        let space = self.walker.space();
        if let Stuck::NoCode(address) = stuck {
            self.missing = Some(address);
        }
        let element = match stuck {
            Stuck::NoCode(address) => Element::NoCode { address, space },
            Stuck::Endless(address) => Element::Mismatch(Mismatch::Endless(address)),
            Stuck::NotCode(address) => Element::Mismatch(Mismatch::NotCode(address)),
            Stuck::NoTarget(address) => Element::Mismatch(Mismatch::NoTarget(address)),
            Stuck::NotTaken(address) => Element::Mismatch(Mismatch::NotTaken(address)),
            Stuck::Missed(from) => Element::Mismatch(Mismatch::Missed { from, to }),
            Stuck::NoCall => return Err(Contradiction::ReturnStackEmpty),
        };
        sink.element(offset, &element);
        Ok(())
    }
}
