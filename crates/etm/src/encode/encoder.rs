use core::num::NonZero;

use tracewright_core::{
    Block, Context, Element, Ended, Exception, Flow, GapReason, Isa, Role, Security, TraceOn, Transaction,
};

use super::atoms::AtomQueue;
use super::options::Options;
use super::random::Random;
use super::return_stack::ReturnStack;
use super::speculation::{Plan, Speculation};
use crate::packet::{
    self, AddressForm, Atoms, CycleCount, EmitError, Emitter, InstructionSet, Packet, Q, ReturnAddress,
    Timestamp, TraceInfo,
};
use crate::{CoreProfile, Params, ParamsError, Registers, field};

/// A destination of bytes: a `Vec<u8>`, or anything else that can be extended.
pub trait Bytes: for<'a> Extend<&'a u8> {}

impl<T: for<'a> Extend<&'a u8>> Bytes for T {}

/// An encoder of executions. See the [module](super).
///
/// ```
/// use tracewright_core::{Block, Class, Context, Element, Ended, Flow, Isa, Role, Security, TraceOn};
/// use tracewright_etm::{Registers, encode::{Encoder, Options}};
///
/// let context =
///     Context { level: 0, security: Security::NonSecure, is_64bit: true, vmid: None, context_id: None };
/// let class = Class { flow: Flow::Direct, role: Role::Jump, conditional: true };
/// let block = Block {
///     start: 0x1000, end: 0x100c, count: 3, isa: Isa::A64, last_len: 4, class, ended: Ended::Taken,
/// };
/// let mut encoder = Encoder::new(&Registers::default(), Options::default()).unwrap();
/// let mut bytes = Vec::new();
/// for element in [
///     Element::TraceOn(TraceOn::Normal),
///     Element::Context(context, Isa::A64),
///     Element::Block(block),
///     Element::Block(Block { ended: Ended::NotTaken, ..block }),
///     Element::End,
/// ] {
///     encoder.element(&element, &mut bytes).unwrap();
/// }
/// let sync = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x01, 0x00];
/// assert_eq!(bytes[..14], sync);
/// // Trace On, Context, Address, atoms E and N.
/// assert_eq!(bytes[14..], [0x04, 0x81, 0x30, 0x95, 0x80, 0x08, 0xd9]);
/// ```
#[derive(Clone, Debug)]
pub struct Encoder {
    emitter: Emitter,
    options: Options,
    atoms: AtomQueue,
    stack: ReturnStack,
    speculation: Speculation,
    /// Selection of the branches that are traced by Source Address packets.
    sources: Option<Random>,
    /// Whether a decoder has no synchronisation point yet, or trace is missing since the last.
    lost: bool,
    /// Bytes since the last synchronisation point, and their limit.
    since_sync: u64,
    sync_every: u64,
    packets: u64,
    context: Context,
    isa: Isa,
    /// Context that a decoder assumes.
    told: Option<Context>,
    /// Whether an Address must come before the next atom.
    address_due: bool,
    /// Knowledge of a decoder about where execution goes on.
    target: Target,
    /// Whether the return stack gave the address at which execution goes on, since the last taken branch.
    popped: bool,
    /// Whether instructions ran since the last P0 element: no address can be emitted here.
    in_run: bool,
    in_transaction: bool,
    /// Whether a decoder knows the current address and context: nothing is due before the next atom.
    quiet: bool,
    /// Whether atoms need no special treatment: no speculation, no Source Address packets.
    is_plain: bool,
    /// Whether timestamps refer to markers (TRCIDR0.TSMARK).
    has_markers: bool,
}

/// The knowledge of a decoder about where execution goes on after the last P0 element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// The program gives the address.
    Known,
    /// The program gives the address, but branch broadcast emits it.
    Taken,
    /// The return stack gives the address, if no Address comes.
    Indirect,
    /// An Address is needed.
    Unknown,
}

impl Encoder {
    /// Creates an encoder for a trace unit with these registers.
    ///
    /// # Errors
    /// If a register has a value that the architecture does not define.
    pub fn new(registers: &Registers, options: Options) -> Result<Self, ParamsError> {
        let params = Params::new(registers)?;
        Ok(Self {
            atoms: AtomQueue::default(),
            stack: ReturnStack::new(options.return_stack),
            speculation: Speculation::new(params.max_spec, &options),
            sources: options.source_addresses.filter(|_| params.is_ete()).map(Random::new),
            lost: true,
            since_sync: 0,
            packets: 0,
            sync_every: options.sync_every.map_or(u64::MAX, |every: NonZero<u32>| every.get().into()),
            context: Context {
                level: 0,
                security: Security::Secure,
                is_64bit: false,
                vmid: None,
                context_id: None,
            },
            isa: Isa::A32,
            told: None,
            address_due: true,
            target: Target::Known,
            popped: false,
            in_run: false,
            in_transaction: false,
            quiet: false,
            is_plain: params.max_spec == 0 && (options.source_addresses.is_none() || !params.is_ete()),
            has_markers: params.timestamps && field(registers.trcidr0, 23, 23) == 1,
            emitter: Emitter::new(params),
            options,
        })
    }

    /// Appends the bytes that the trace unit emits for `element`. Some of them may come later: end with
    /// [`Element::End`].
    ///
    /// # Errors
    /// If the configuration has no packet for the element, or a value is out of range. The element is then left out.
    #[inline]
    pub fn element(&mut self, element: &Element, out: &mut impl Bytes) -> Result<(), EmitError> {
        match element {
            Element::Block(block) => self.block(block, out),
            other => self.other(other, out),
        }
    }

    /// Returns whether instructions ran since the last P0 element. If tracing ends here, they are not in the trace.
    #[inline]
    pub fn in_run(&self) -> bool {
        self.in_run
    }

    fn is_m_profile(&self) -> bool {
        self.emitter.params.profile() == CoreProfile::M
    }

    pub(super) fn packets(&self) -> u64 {
        self.packets
    }

    /// Returns the number of atoms that are not written yet.
    pub(super) fn waiting_atoms(&self) -> usize {
        self.atoms.len()
    }

    /// Writes atoms as soon as possible, in the same packets.
    pub(super) fn write_atoms_early(&mut self) {
        self.atoms = AtomQueue::early();
    }

    /// Discards the state after a loss. The next element must be [`TraceOn::Overflow`].
    pub(super) fn abandon(&mut self) {
        self.atoms.clear();
        self.speculation.abandon();
        self.stack.flush();
        (self.in_run, self.quiet, self.popped) = (false, false, false);
        self.target = Target::Known;
    }

    /// Appends the bytes of a block. Nearly all elements are blocks.
    ///
    /// # Errors
    /// As for [`element`](Self::element).
    #[inline]
    pub fn block(&mut self, block: &Block, out: &mut impl Bytes) -> Result<(), EmitError> {
        if !(self.quiet || self.in_run) {
            self.begin(block, out)?;
        }
        self.isa = block.isa;
        let Some(taken) = self.atom_of(block) else {
            self.in_run = true;
            return Ok(());
        };
        self.in_run = false;
        if self.is_plain {
            self.push_atom(taken, out);
        } else {
            self.special_atom(block, taken, out)?;
        }
        let is_jump = block.class.flow == Flow::Direct && block.class.role != Role::Call;
        if block.ended == Ended::Taken && (!is_jump || self.emitter.params.branch_broadcast) {
            self.went(block);
        }
        Ok(())
    }

    /// Returns the atom of a block, if it ends in a P0 instruction.
    #[inline]
    fn atom_of(&self, block: &Block) -> Option<bool> {
        let p0 = match block.class.flow {
            Flow::Next => false,
            Flow::Direct | Flow::Indirect | Flow::Pair | Flow::Isb => true,
            Flow::Wait => self.emitter.params.waits_are_p0,
            Flow::TransactionStart => self.emitter.params.is_ete(),
        };
        (p0 && block.ended != Ended::Cut).then_some(block.ended != Ended::NotTaken)
    }

    /// Emits where execution is, and what else is due.
    #[inline(never)]
    fn begin(&mut self, block: &Block, out: &mut impl Bytes) -> Result<(), EmitError> {
        if self.lost || self.since_sync >= self.sync_every {
            self.sync(out)?;
        }
        self.arrive(block.start, block.isa, out)?;
        self.quiet = self.since_sync < self.sync_every;
        Ok(())
    }

    #[inline(never)]
    fn special_atom(&mut self, block: &Block, taken: bool, out: &mut impl Bytes) -> Result<(), EmitError> {
        if self.sources.is_some() && block.ended == Ended::Taken {
            self.branch(block, out)?;
        } else {
            self.atom(taken, out)?;
        }
        self.popped &= block.ended != Ended::Taken;
        Ok(())
    }

    /// Handles a taken branch that may need more than an atom.
    #[inline]
    fn went(&mut self, block: &Block) {
        let call = block.class.role == Role::Call;
        if call && self.emitter.params.return_stack {
            self.stack.push(block.end, block.isa);
        }
        self.target = match (block.class.flow, block.class.role) {
            // A call first pushes its own return address, and exception returns are not predicted.
            (Flow::Indirect, Role::Call | Role::ExceptionReturn) => Target::Unknown,
            (Flow::Indirect, _) if self.emitter.params.return_stack => Target::Indirect,
            (Flow::Indirect, _) => Target::Unknown,
            _ => Target::Taken,
        };
        self.quiet &= self.target == Target::Taken && !self.emitter.params.branch_broadcast;
    }

    #[inline(never)]
    fn other(&mut self, element: &Element, out: &mut impl Bytes) -> Result<(), EmitError> {
        self.quiet = false;
        match *element {
            Element::Block(ref block) => self.block(block, out),
            Element::Context(context, isa) => {
                let Params { vmids, context_ids, .. } = self.emitter.params;
                let vmid = context.vmid.filter(|_| vmids);
                let context_id = context.context_id.filter(|_| context_ids);
                self.context = Context { vmid, context_id, ..context };
                self.isa = isa;
                Ok(())
            }
            Element::TraceOn(reason) => self.trace_on(reason, out),
            Element::Exception(exception) => self.exception(exception, out),
            Element::ExceptionReturn if self.emitter.params.is_ete() => Ok(()),
            Element::ExceptionReturn => {
                self.say_synced(&Packet::ExceptionReturn, out)?;
                if self.is_m_profile() {
                    self.speculation.p0();
                }
                Ok(())
            }
            Element::Timestamp { value, cycles } if self.emitter.params.timestamps => {
                self.synced(out)?;
                let bytes = self.emitter.trace_state().timestamp_bytes(value);
                let cycles = cycles.filter(|_| self.emitter.params.cycle_counting);
                self.say(&Packet::Timestamp(Timestamp { value, bytes, cycles }), out)
            }
            Element::Cycles(cycles) if self.emitter.params.cycle_counting => self.cycles(cycles, out),
            Element::TimestampMarker if self.has_markers => self.say_synced(&Packet::TimestampMarker, out),
            Element::Timestamp { .. } | Element::TimestampMarker | Element::Cycles(_) => Ok(()),
            Element::Event(events) => self.say_synced(&Packet::Event(events), out),
            Element::Instrumentation { level, value } => {
                self.say_synced(&Packet::Instrumentation { el: level, value }, out)
            }
            Element::Transaction(transaction) => self.transaction(transaction, out),
            Element::UnknownPath { start, next, count, isa } => {
                self.unknown_path(start, next, count, isa, out)
            }
            Element::Lost(reason) => self.lose(reason, out),
            Element::End => self.settle(out),
            // An ETMv4 has no data trace here, no trigger packets, and no messages.
            Element::Data { .. }
            | Element::DataLost
            | Element::Trigger
            | Element::LocalTime { .. }
            | Element::Message(_) => Ok(()),
            // Decoders infer these. A trace unit does not emit them.
            Element::Target { .. } | Element::NoCode { .. } | Element::Mismatch(_) | Element::Gap { .. } => {
                Ok(())
            }
        }
    }

    fn trace_on(&mut self, reason: TraceOn, out: &mut impl Bytes) -> Result<(), EmitError> {
        if reason == TraceOn::Overflow && !self.lost {
            self.lose(GapReason::Overflow, out)?;
        }
        self.say_synced(&Packet::TraceOn, out)?;
        self.stack.flush();
        self.address_due = true;
        self.in_run = false;
        Ok(())
    }

    fn exception(&mut self, exception: Exception, out: &mut impl Bytes) -> Result<(), EmitError> {
        let Exception { number, return_address, at_target, .. } = exception;
        self.synced(out)?;
        let isa = self.isa;
        match return_address {
            None if self.emitter.params.is_ete() && number == 0 => self.say(&Packet::PeReset, out)?,
            // On M profile, this address means that there is none.
            None if self.is_m_profile() => {
                self.exception_packets(number, ReturnAddress::Follows, 0xffff_fffe, Isa::T32, out)?;
            }
            None => return Err(EmitError::Value),
            Some(address) => {
                // With a return stack, decoders disagree on whether the exception pops it. So an Address says that
                // nothing is popped.
                let branch = matches!(self.target, Target::Indirect | Target::Unknown);
                let may_pop = self.emitter.params.return_stack && branch;
                self.address_due |= may_pop;
                if !self.in_run && (!at_target || may_pop) {
                    self.arrive(address, isa, out)?;
                } else {
                    self.tell_context(out)?;
                }
                let ee = if at_target { ReturnAddress::FollowsAtTarget } else { ReturnAddress::Follows };
                self.exception_packets(number, ee, address, isa, out)?;
            }
        }
        self.target = Target::Known;
        self.address_due = true;
        self.in_run = false;
        Ok(())
    }

    fn exception_packets(
        &mut self,
        number: u16,
        return_address: ReturnAddress,
        address: u64,
        isa: Isa,
        out: &mut impl Bytes,
    ) -> Result<(), EmitError> {
        self.commit_due(out)?;
        let exception = packet::Exception { number, return_address, fault_pending: false };
        self.say(&Packet::Exception(exception), out)?;
        self.say_address(address, isa, out)?;
        self.speculation.p0();
        Ok(())
    }

    fn transaction(&mut self, transaction: Transaction, out: &mut impl Bytes) -> Result<(), EmitError> {
        match transaction {
            // Trace Info holds this.
            Transaction::Before => {}
            Transaction::Start => {
                self.commit_due(out)?;
                self.say_synced(&Packet::TransactionStart, out)?;
                if self.emitter.params.transaction_start_is_p0 {
                    self.speculation.p0();
                }
            }
            Transaction::Commit => self.say_synced(&Packet::TransactionCommit, out)?,
            Transaction::Fail => {
                self.say_synced(&Packet::TransactionFailure, out)?;
                self.address_due = true;
            }
        }
        self.in_transaction = matches!(transaction, Transaction::Before | Transaction::Start);
        Ok(())
    }

    fn unknown_path(
        &mut self,
        start: Option<u64>,
        next: u64,
        count: Option<u32>,
        isa: Isa,
        out: &mut impl Bytes,
    ) -> Result<(), EmitError> {
        self.synced(out)?;
        if let Some(start) = start {
            self.arrive(start, isa, out)?;
        }
        self.commit_due(out)?;
        let address = self.emitter.trace_state().shortest(next, instruction_set(isa));
        let inside = count.is_some() && address.form != AddressForm::Long64;
        self.say(&Packet::Q(Q { address: inside.then_some(address), count }), out)?;
        if !inside {
            self.say(&Packet::Address(address), out)?;
        }
        self.speculation.p0();
        Ok(())
    }

    fn lose(&mut self, reason: GapReason, out: &mut impl Bytes) -> Result<(), EmitError> {
        self.settle(out)?;
        match reason {
            GapReason::Overflow if !self.lost => self.say(&Packet::Overflow, out)?,
            GapReason::Discard if !self.lost => self.say(&Packet::Discard, out)?,
            _ => {}
        }
        self.lost = true;
        self.in_run = false;
        Ok(())
    }

    fn cycles(&mut self, cycles: Option<u32>, out: &mut impl Bytes) -> Result<(), EmitError> {
        self.synced(out)?;
        let commit = if self.emitter.params.cycle_counts_commit {
            Some(self.speculation.with_cycle_count())
        } else {
            None
        };
        let above = cycles.map(|cycles| cycles.wrapping_sub(self.emitter.trace_state().cycle_threshold()));
        let count_back =
            |commit| commit <= self.emitter.params.max_spec && commit + 15 >= self.emitter.params.max_spec;
        let format = match (above, commit) {
            (Some(0..=3), None | Some(1..=4)) => 3,
            (Some(0..=15), None | Some(1..=16)) => 2,
            (Some(0..=15), Some(commit)) if count_back(commit) => 2,
            _ => 1,
        };
        let count = CycleCount { format, commit: commit.map(i64::from), cycles };
        self.say(&Packet::CycleCount(count), out)?;
        self.speculation.commit(commit.unwrap_or(0));
        Ok(())
    }

    /// Emits a taken branch, as an atom or as its address.
    #[inline(never)]
    fn branch(&mut self, block: &Block, out: &mut impl Bytes) -> Result<(), EmitError> {
        // The option explains why.
        let by_atom = block.class.role == Role::ExceptionReturn || self.popped;
        if by_atom || self.sources.as_mut().is_none_or(|sources| sources.below(4) != 0) {
            return self.atom(true, out);
        }
        if self.emitter.params.max_spec == 0 {
            self.atoms.forget_not_taken();
        }
        self.commit_due(out)?;
        let source = self.emitter.trace_state().shortest(block.last(), instruction_set(block.isa));
        self.say(&Packet::SourceAddress(source), out)?;
        self.speculation.p0();
        Ok(())
    }

    /// Emits the atom of a P0 instruction.
    #[inline]
    fn atom(&mut self, taken: bool, out: &mut impl Bytes) -> Result<(), EmitError> {
        if self.emitter.params.max_spec == 0 {
            self.push_atom(taken, out);
            return Ok(());
        }
        self.speculative_atom(taken, out)
    }

    fn speculative_atom(&mut self, taken: bool, out: &mut impl Bytes) -> Result<(), EmitError> {
        self.commit_due(out)?;
        match self.speculation.plan() {
            Plan::Right => self.push_atom(taken, out),
            Plan::InOne => self.say(&Packet::Mispredict(Atoms::one(!taken)), out)?,
            Plan::ThenCancel(extra) => {
                self.push_atom(taken, out);
                self.wrong_path(extra, false, out)?;
                self.say(&Packet::CancelF1 { count: extra, mispredict: false }, out)?;
            }
            Plan::Mispredict(extra) => {
                self.push_atom(!taken, out);
                let in_packet = extra > 0 && self.speculation.whim(2) == 0;
                self.wrong_path(extra - u32::from(in_packet), true, out)?;
                let cancel = match extra {
                    0 => Packet::Mispredict(Atoms::NONE),
                    1 if in_packet => Packet::CancelF2(Atoms::one(self.speculation.whim(2) == 0)),
                    1 => Packet::CancelF2(Atoms::NONE),
                    2..=5 => Packet::CancelF3 { atom: in_packet, count: extra as u8 },
                    _ => {
                        if in_packet {
                            self.push_atom(true, out);
                        }
                        Packet::CancelF1 { count: extra, mispredict: true }
                    }
                };
                self.say(&cancel, out)?;
            }
        }
        self.speculation.p0();
        Ok(())
    }

    /// Emits atoms of a path that was not executed, with addresses. An Address at the start would be the target of
    /// the atom before, which a cancel keeps and a mispredict drops.
    fn wrong_path(&mut self, atoms: u32, mispredicted: bool, out: &mut impl Bytes) -> Result<(), EmitError> {
        for i in 0..atoms {
            if (mispredicted || i > 0) && self.speculation.whim(4) == 0 {
                let (last, is) = self.emitter.trace_state().history(0);
                let address = last ^ u64::from(self.speculation.whim(1 << 16) << 2);
                let address = self.emitter.trace_state().shortest(address, is);
                self.say(&Packet::Address(address), out)?;
            }
            let taken = self.speculation.whim(2) == 0;
            self.push_atom(taken, out);
        }
        Ok(())
    }

    #[inline]
    fn push_atom(&mut self, taken: bool, out: &mut impl Bytes) {
        if self.atoms.is_full() {
            self.write_atoms(AtomQueue::settled, out);
        }
        self.atoms.push(taken);
    }

    #[inline(never)]
    fn write_atoms(&mut self, next: impl Fn(&mut AtomQueue) -> Option<u8>, out: &mut impl Bytes) {
        let mut bytes = [0; 64];
        let mut len = 0;
        while let Some(header) = next(&mut self.atoms) {
            bytes[len] = header;
            len += 1;
        }
        self.packets += len as u64;
        self.count(len);
        out.extend(&bytes[..len]);
    }

    /// Emits that execution goes on at `address`, and the context, as far as a decoder does not know them.
    #[inline]
    fn arrive(&mut self, address: u64, isa: Isa, out: &mut impl Bytes) -> Result<(), EmitError> {
        let tell = self.address_due
            || match self.target {
                Target::Known => false,
                Target::Taken => self.emitter.params.branch_broadcast,
                Target::Indirect => {
                    self.popped = !self.emitter.params.branch_broadcast && self.stack.pop_if(address, isa);
                    !self.popped
                }
                Target::Unknown => true,
            };
        self.target = Target::Known;
        self.address_due = false;
        if self.told != Some(self.context) {
            self.tell_arrival(address, isa, tell, out)
        } else if tell {
            self.say_address(address, isa, out)
        } else {
            Ok(())
        }
    }

    /// Emits the context, and perhaps the address, in one packet if that is shorter.
    #[inline(never)]
    fn tell_arrival(
        &mut self,
        address: u64,
        isa: Isa,
        tell: bool,
        out: &mut impl Bytes,
    ) -> Result<(), EmitError> {
        let shortest = self.emitter.trace_state().shortest(address, instruction_set(isa));
        if tell && matches!(shortest.form, AddressForm::Long32 | AddressForm::Long64) {
            self.say(&Packet::AddressContext(shortest, self.context_packet()), out)?;
            self.told = Some(self.context);
            return Ok(());
        }
        self.tell_context(out)?;
        if tell { self.say_address(address, isa, out) } else { Ok(()) }
    }

    fn tell_context(&mut self, out: &mut impl Bytes) -> Result<(), EmitError> {
        if self.told != Some(self.context) {
            self.say(&Packet::Context(self.context_packet()), out)?;
            self.told = Some(self.context);
        }
        Ok(())
    }

    /// Returns the context, with the IDs that a decoder does not know.
    fn context_packet(&self) -> packet::Context {
        let Context { level, security, is_64bit, vmid, context_id } = self.context;
        let mut context = packet::Context::new(level, is_64bit, security);
        if let Some(vmid) = vmid.filter(|_| self.told.is_none_or(|told| told.vmid != vmid)) {
            context = context.with_vmid(vmid);
        }
        if let Some(id) = context_id.filter(|_| self.told.is_none_or(|told| told.context_id != context_id)) {
            context = context.with_context_id(id);
        }
        context
    }

    /// Emits a synchronisation point unless there was one. Nothing may come before the first.
    fn synced(&mut self, out: &mut impl Bytes) -> Result<(), EmitError> {
        if self.lost { self.sync(out) } else { Ok(()) }
    }

    #[inline(never)]
    fn sync(&mut self, out: &mut impl Bytes) -> Result<(), EmitError> {
        if self.options.commit_before_sync {
            self.settle(out)?;
        }
        self.say(&Packet::Async, out)?;
        let mut info = TraceInfo { info: u32::from(self.in_transaction) << 6, ..TraceInfo::default() };
        if self.emitter.params.cycle_counting {
            info.info |= 1;
            info.cyct = self.options.cycle_threshold;
        }
        info.spec = self.speculation.depth();
        for (bit, present) in [
            (TraceInfo::INFO, info.info != 0),
            (TraceInfo::SPEC, info.spec != 0),
            (TraceInfo::CYCT, self.emitter.params.cycle_counting),
        ] {
            info.plctl |= if present { bit } else { 0 };
        }
        self.say(&Packet::TraceInfo(info), out)?;
        self.since_sync = 0;
        self.stack.flush();
        self.told = None;
        self.address_due = true;
        self.lost = false;
        Ok(())
    }

    fn say_synced(&mut self, packet: &Packet, out: &mut impl Bytes) -> Result<(), EmitError> {
        self.synced(out)?;
        self.say(packet, out)
    }

    #[inline]
    fn say_address(&mut self, address: u64, isa: Isa, out: &mut impl Bytes) -> Result<(), EmitError> {
        if !self.atoms.is_empty() {
            self.write_atoms(AtomQueue::next, out);
        }
        let bytes = self.emitter.emit_address(address, instruction_set(isa))?;
        self.packets += 1;
        self.count(bytes.len());
        out.extend(&*bytes);
        Ok(())
    }

    /// Counts the bytes of a packet.
    #[inline]
    fn count(&mut self, len: usize) {
        self.since_sync += len as u64;
        self.quiet &= self.since_sync < self.sync_every;
    }

    /// Emits a packet, after the atoms that came before it.
    fn say(&mut self, packet: &Packet, out: &mut impl Bytes) -> Result<(), EmitError> {
        if !self.atoms.is_empty() {
            self.write_atoms(AtomQueue::next, out);
        }
        let bytes = self.emitter.emit(packet)?;
        self.packets += 1;
        self.count(bytes.len());
        out.extend(&*bytes);
        Ok(())
    }

    /// Commits what is due before the next P0 element.
    fn commit_due(&mut self, out: &mut impl Bytes) -> Result<(), EmitError> {
        let count = self.speculation.due();
        self.commit(count, out)
    }

    fn commit(&mut self, count: u32, out: &mut impl Bytes) -> Result<(), EmitError> {
        if count > 0 {
            self.say(&Packet::Commit(count), out)?;
            self.speculation.commit(count);
        }
        Ok(())
    }

    /// Commits and writes everything.
    fn settle(&mut self, out: &mut impl Bytes) -> Result<(), EmitError> {
        self.write_atoms(AtomQueue::next, out);
        self.commit(self.speculation.depth(), out)
    }
}

fn instruction_set(isa: Isa) -> InstructionSet {
    if isa == Isa::T32 { InstructionSet::Is1 } else { InstructionSet::Is0 }
}
