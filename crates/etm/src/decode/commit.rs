//! Committed elements: moves the walker and emits elements.

use tracewright_core::{
    Block, Contradiction, Element, Ended, Exception, Flow, Isa, Mismatch, Role, TraceOn, Transaction,
};
use tracewright_flow::{Branches, ElementSink, End, Graph, NodeId, Stuck, Trail};

use super::decoder::{Awaited, Decoder};
use super::queue::Item;
use crate::CoreProfile;
use crate::packet::{Address, AtomRun, Atoms, Context, InstructionSet, Packet, Q};

/// The result of handling an element that may contradict others.
pub(super) type Outcome<T = ()> = Result<T, Contradiction>;

/// The address of an M-profile exception without a return address: it follows another exception directly.
const TAIL_CHAINED: u64 = 0xffff_fffe;

impl Decoder<'_> {
    /// Emits the meaning of `item`, which is committed. Returns the number of P0 elements committed.
    pub(super) fn commit_item(
        &mut self,
        offset: u64,
        item: Item,
        sink: &mut impl ElementSink,
    ) -> Outcome<u32> {
        match item {
            Item::Atoms(atoms) if self.options.no_image => self.await_target(atoms),
            Item::SourceAddress(_) if self.options.no_image => self.stream.awaited = Awaited::Branch,
            Item::Atoms(atoms) => {
                self.atoms(offset, atoms, sink)?;
            }
            Item::SourceAddress(address) => self.source_address(offset, address, sink)?,
            Item::Exception { number, at_target } => self.exception(offset, number, at_target, sink)?,
            Item::ExceptionOnly { number } => {
                self.tell_after_count(offset, taken(number, None, false), sink);
                self.stream.awaited = Awaited::Other;
                self.walker.lose();
            }
            Item::Q(q) => self.q(offset, q, sink)?,
            Item::Taken(exception) => sink.element(offset, &Element::Exception(exception)),
            Item::Path { next, isa, count } => {
                sink.element(offset, &Element::UnknownPath { start: None, next, isa, count });
            }
            Item::ExceptionReturn { p0: true } => {
                self.tell_after_count(offset, Item::ExceptionReturn { p0: false }, sink);
            }
            Item::TransactionStart { p0: true } => {
                self.tell_after_count(offset, Item::TransactionStart { p0: false }, sink);
            }
            Item::ExceptionReturn { .. } => sink.element(offset, &Element::ExceptionReturn),
            Item::TransactionStart { .. } => {
                sink.element(offset, &Element::Transaction(Transaction::Start));
            }
            Item::Transaction(transaction) => {
                if transaction == Transaction::Fail {
                    self.stream.awaited = Awaited::Other;
                }
                sink.element(offset, &Element::Transaction(transaction));
            }
            Item::Address(address) => self.arrive(offset, address, sink),
            Item::Context(context, is) => self.set_context(offset, context, is, sink),
            Item::TraceOn => {
                let reason = if self.stream.overflowed { TraceOn::Overflow } else { TraceOn::Normal };
                self.stream.overflowed = false;
                self.stream.awaited = Awaited::Other;
                self.stream.is_unseen = false;
                self.walker.restart();
                sink.element(offset, &Element::TraceOn(reason));
            }
            Item::TraceInfo => self.trace_info(),
            other => {
                if let Some(element) = other.survivor() {
                    sink.element(offset, &element);
                }
            }
        }
        Ok(item.p0())
    }

    /// Emits `item`, which belongs to a P0 element. Without a program, the cycle count of that element, which comes
    /// later in the queue, is emitted first.
    fn tell_after_count(&mut self, offset: u64, item: Item, sink: &mut impl ElementSink) {
        if let (true, Some(&(at, Item::Cycles(cycles)))) = (self.options.no_image, self.queue.peek()) {
            self.queue.pop();
            sink.element(at, &Element::Cycles(cycles));
        } else if self.options.no_image {
            return self.queue.put_back(offset, item);
        }
        // None of these can fail.
        let _ = self.commit_item(offset, item, sink);
    }

    /// Handles a Trace Info during tracing: compressed values are reset. So a wrong ID ends here.
    pub(super) fn trace_info(&mut self) {
        self.walker.flush_returns();
        if let Some(context) = &mut self.stream.context {
            (context.vmid, context.context_id) = (None, None);
        }
    }

    /// Expects an address after these atoms, without a program.
    #[inline]
    pub(super) fn await_target(&mut self, atoms: Atoms) {
        let taken = atoms.count > 0 && atoms.bits >> (atoms.count - 1) & 1 == 1;
        self.stream.awaited = if taken { Awaited::Branch } else { Awaited::Nothing };
    }

    /// Continues execution at `address`.
    pub(super) fn arrive(&mut self, offset: u64, address: Address, sink: &mut impl ElementSink) {
        if !self.options.no_image {
            self.seen_again(offset, address, sink);
            return self.set_address(address);
        }
        let branch = self.stream.awaited == Awaited::Branch;
        self.stream.awaited = Awaited::Nothing;
        let isa = self.isa(address.is);
        sink.element(offset, &Element::Target { address: address.value, isa, branch });
    }

    /// Emits that a path was not seen, if so, which led to `address`.
    fn seen_again(&mut self, offset: u64, address: Address, sink: &mut impl ElementSink) {
        if core::mem::take(&mut self.stream.is_unseen) {
            let (next, isa) = (address.value, self.isa(address.is));
            sink.element(offset, &Element::UnknownPath { start: None, next, isa, count: None });
        }
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
        sink: &mut impl ElementSink,
    ) {
        let (vmid, context_id) =
            self.stream.context.map_or((None, None), |last| (last.vmid, last.context_id));
        let context = tracewright_core::Context {
            level: context.el(),
            security: context.security(),
            is_64bit: context.is_aarch64(),
            vmid: context.vmid().or(vmid),
            context_id: context.context_id().or(context_id),
        };
        self.stream.context = Some(context);
        self.stream.needs_context = false;
        self.walker.set_space(self.walker.graph().image().space(&context, &self.moment));
        let isa = self.isa(is);
        self.walker.set_isa(isa);
        sink.element(offset, &Element::Context(context, isa));
    }

    fn isa(&self, is: InstructionSet) -> Isa {
        // AArch64 has only one, whatever a damaged address says.
        match is {
            _ if self.stream.context.is_some_and(|context| context.is_64bit) => Isa::A64,
            InstructionSet::Is1 => Isa::T32,
            InstructionSet::Is0 => Isa::A32,
        }
    }

    /// Walks through the P0 instructions of the atoms. Returns whether they lead to the same place every time, and
    /// nothing but blocks is emitted.
    #[inline(always)]
    pub(super) fn atoms(&mut self, offset: u64, atoms: Atoms, sink: &mut impl ElementSink) -> Outcome<bool> {
        if self.stream.needs_context {
            return Ok(false);
        }
        let synthesise = self.params.is_ete();
        let Atoms { mut bits, count } = atoms;
        let mut left = u32::from(count);
        let mut all = true;
        loop {
            let mut tell = Tell::new(offset, synthesise, sink);
            match self.walker.branches(bits, left, &mut tell) {
                Ok(straight) => return Ok(all && straight && !tell.returned),
                Err((stuck, used)) => {
                    self.stuck(offset, stuck, 0, sink)?;
                    bits >>= used;
                    left -= used;
                    all = false;
                }
            }
        }
    }

    /// Walks atoms packet by packet, if the sink has not seen them here before.
    #[inline(never)]
    pub(super) fn walk_run(&mut self, offset: u64, run: AtomRun, start: NodeId, sink: &mut impl ElementSink) {
        let mut branches = Some(Branches::NONE);
        for (offset, (_, atoms)) in (offset..).zip(run.packets()) {
            if !self.is_straight() {
                self.packet(offset, &Packet::Atom(atoms), sink);
                branches = None;
                continue;
            }
            match self.atoms(offset, atoms, sink) {
                Ok(true) => branches = branches.and_then(|these| these.then(atoms.bits, atoms.count.into())),
                Ok(false) => branches = None,
                Err(contradiction) => {
                    self.contradiction(offset, contradiction, sink);
                    branches = None;
                }
            }
        }
        if let Some(branches) = branches {
            let mut tell = Tell::new(offset, false, sink);
            self.walker.learn(start, run.code(), branches, &mut tell);
        }
    }

    /// Walks to the instruction at `source`, through branches that were not taken, and over it.
    fn source_address(&mut self, offset: u64, source: Address, sink: &mut impl ElementSink) -> Outcome {
        if self.stream.needs_context {
            return Ok(());
        }
        self.resolve_return(offset, sink)?;
        let isa = self.isa(source.is);
        match self.walker.address() {
            Some((address, _)) if address <= source.value => {}
            // What ran before is not known.
            _ => {
                self.seen_again(offset, source, sink);
                self.walker.set_address(source.value, isa);
            }
        }
        let synthesise = self.params.is_ete();
        let result = if self.options.join_source_walks {
            let mut join = Join { joined: None, sink };
            let result = self.walker.run_over(source.value, &mut Tell::new(offset, synthesise, &mut join));
            if let Some(joined) = join.joined {
                sink.block(offset, &joined);
            }
            result
        } else {
            self.walker.run_over(source.value, &mut Tell::new(offset, synthesise, sink))
        };
        result.or_else(|stuck| self.stuck(offset, stuck, source.value, sink))
    }

    /// Goes where the last branch returns to, if it is a return.
    fn resolve_return(&mut self, offset: u64, sink: &mut impl ElementSink) -> Outcome {
        self.walker.resolve_return().or_else(|stuck| self.stuck(offset, stuck, 0, sink))
    }

    /// Removes the address that belongs to the last P0 element, and the context before it.
    fn pop_address(&mut self, offset: u64, sink: &mut impl ElementSink) -> Outcome<Address> {
        if let Some(&(_, Item::Context(context, is))) = self.queue.peek() {
            self.queue.pop();
            self.set_context(offset, context, is, sink);
        }
        match self.queue.pop() {
            Some((_, Item::Address(address))) => Ok(address),
            _ => Err(Contradiction::UnexpectedPacket),
        }
    }

    /// Handles an exception, with the address, and perhaps the context, that follow it.
    fn exception(
        &mut self,
        offset: u64,
        number: u16,
        at_target: bool,
        sink: &mut impl ElementSink,
    ) -> Outcome {
        self.resolve_return(offset, sink)?;
        let address = self.pop_address(offset, sink)?;
        let is_m = self.params.profile() == CoreProfile::M;
        let tail_chained = is_m && address.value == TAIL_CHAINED;
        let return_address = (!tail_chained).then_some(address.value);
        if !tail_chained {
            self.seen_again(offset, address, sink);
            if at_target {
                if !self.options.no_image || self.stream.awaited != Awaited::Nothing {
                    self.arrive(offset, address, sink);
                }
            } else if let (Some(missing), true) = (self.missing, self.options.repeat_no_code) {
                if missing < address.value {
                    let space = self.walker.space();
                    sink.element(offset, &Element::NoCode { address: missing, space });
                }
            } else if let (Some((here, _)), false) = (self.walker.address(), self.stream.needs_context) {
                let mut tell = Tell::new(offset, false, sink);
                let result = if here <= address.value && is_m {
                    // Loads and stores of several registers can be interrupted halfway.
                    self.walker.run_into(address.value, &mut tell)
                } else if here <= address.value {
                    self.walker.run_to(address.value, &mut tell)
                } else {
                    // Only a branch leads back there.
                    self.walker.lose_way();
                    Err(Stuck::Missed(here))
                };
                if let Err(stuck) = result {
                    self.stuck(offset, stuck, address.value, sink)?;
                }
            } else if let (Err(stuck), false) = (self.walker.no_target(), is_m) {
                // On M profile, a branch may return from an exception, and another exception may follow at once.
                self.stuck(offset, stuck, 0, sink)?;
            }
        }
        self.walker.divert();
        self.stream.awaited = Awaited::Other;
        self.tell_after_count(offset, taken(number, return_address, at_target), sink);
        Ok(())
    }

    /// Handles instructions that ran, perhaps with branches among them.
    fn q(&mut self, offset: u64, q: Q, sink: &mut impl ElementSink) -> Outcome {
        self.resolve_return(offset, sink)?;
        let address = match q.address {
            Some(address) => address,
            None => self.pop_address(offset, sink)?,
        };
        if self.options.no_image {
            let (next, isa) = (address.value, self.isa(address.is));
            self.tell_after_count(offset, Item::Path { next, isa, count: q.count }, sink);
            self.stream.awaited = Awaited::Nothing;
            return Ok(());
        }
        self.stream.is_unseen = false;
        if !self.stream.needs_context {
            if let Err(stuck) = self.walker.no_target() {
                self.stuck(offset, stuck, 0, sink)?;
            }
            self.q_range(offset, q.count, address, sink);
        }
        self.set_address(address);
        Ok(())
    }

    fn q_range(&mut self, offset: u64, count: Option<u32>, next: Address, sink: &mut impl ElementSink) {
        let start = self.walker.address().map(|(start, _)| start);
        if let Some(count) = count.filter(|&count| count > 0)
            && let Some(block) = self.walker.first(count, &mut Tell::new(offset, false, sink))
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

    /// Emits why the walk ended. `to` is where it should have ended.
    #[cold]
    fn stuck(&mut self, offset: u64, stuck: Stuck, to: u64, sink: &mut impl ElementSink) -> Outcome {
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
            Stuck::UnseenCall => {
                self.stream.is_unseen = true;
                return Ok(());
            }
        };
        sink.element(offset, &element);
        Ok(())
    }
}

/// Returns an exception of the core, which has no interrupt numbers and no values.
fn taken(number: u16, return_address: Option<u64>, at_target: bool) -> Item {
    Item::Taken(Exception { number, interrupt: false, value: None, return_address, at_target })
}

/// A trail that emits what a walker reports as elements.
pub(super) struct Tell<'s, S> {
    pub offset: u64,
    /// Whether to emit returns from exceptions, for which ETE has no packet.
    pub synthesise: bool,
    /// Whether a return was emitted.
    pub returned: bool,
    pub sink: &'s mut S,
}

impl<'s, S> Tell<'s, S> {
    #[inline(always)]
    pub fn new(offset: u64, synthesise: bool, sink: &'s mut S) -> Self {
        Self { offset, synthesise, returned: false, sink }
    }
}

impl<S: ElementSink> Trail for Tell<'_, S> {
    #[inline(always)]
    fn node(&mut self, graph: &Graph<'_>, id: NodeId, taken: bool) {
        self.sink.node(self.offset, graph, id, taken);
        if self.synthesise && taken && graph.node(id).class().role == Role::ExceptionReturn {
            self.sink.element(self.offset, &Element::ExceptionReturn);
            self.returned = true;
        }
    }

    #[inline]
    fn block(&mut self, block: &Block) {
        self.sink.block(self.offset, block);
    }

    #[inline(always)]
    fn follow(&mut self, start: NodeId, code: u32) -> Option<End> {
        self.sink.follow(start, code)
    }

    #[inline(always)]
    fn learn(&mut self, graph: &Graph<'_>, start: NodeId, code: u32, branches: Branches, end: End) {
        self.sink.learn(graph, start, code, branches, end);
    }

    fn forget(&mut self, graph: &Graph<'_>) {
        self.sink.forget(graph);
    }
}

/// A sink that joins all blocks into one.
struct Join<'s, S> {
    joined: Option<Block>,
    sink: &'s mut S,
}

impl<S: ElementSink> ElementSink for Join<'_, S> {
    fn element(&mut self, offset: u64, element: &Element) {
        let Element::Block(block) = element else {
            if let Some(joined) = self.joined.take() {
                self.sink.block(offset, &joined);
            }
            return self.sink.element(offset, element);
        };
        let start = self.joined.map_or(block.start, |joined| joined.start);
        let count = self.joined.map_or(0, |joined| joined.count).saturating_add(block.count);
        self.joined = Some(Block { start, count, ..*block });
    }
}
