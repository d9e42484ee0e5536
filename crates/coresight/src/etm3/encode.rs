//! Encoding of an execution: the reverse of decoding.
//!
//! An [`Encoder`] accepts [`Element`]s in the order of execution, as a decoder emits them, and appends bytes as a trace unit with the
//! given registers could:
//!
//! * Each instruction is an atom: N for a branch that was not taken, else E. Blocks do not tell which other instructions failed their
//!   condition.
//! * A branch address gives the target of a taken indirect branch, and with branch broadcast (ETMCR, bit 8) that of every taken branch.
//! * With cycles (ETMCR, bit 12), the cycles that follow a block are told with its atoms.
//! * What the registers do not enable is left out, so that one execution can be encoded for many trace units.
//! * An access follows the block whose last instruction makes it: the block is cut there ([`Ended::Cut`]). The first access of an
//!   instruction has an address; those after it follow in memory.

use core::num::NonZero;
use std::collections::VecDeque;

use tracewright_core::{
    Block, Context, DataAccess, DataKind, Element, Ended, Exception, Flow, Isa, Security, TraceOn,
};

use super::packet::{Atoms, Emitter, ExceptionBytes, Form, ISync, InstructionState, Packet, Reason};
use super::{Params, ParamsError, Registers};
pub use crate::shared::address::CannotEncode;
use crate::shared::address::place;
use crate::shared::exception;

/// The choices that the architecture leaves to a trace unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes after which an A-Sync and an I-Sync come. `None`: only at the start.
    pub sync_every: Option<NonZero<u32>>,
    /// Accesses whose values come later, out of order: 3 at most. With 0, each value comes with its access.
    pub late_values: u8,
}

impl Default for Options {
    fn default() -> Self {
        Self { sync_every: NonZero::new(1024), late_values: 0 }
    }
}

/// An encoder of executions. See the [module](self).
///
/// ```
/// use tracewright_coresight::etm3::{Registers, encode::{Encoder, Options}};
/// use tracewright_core::{Block, Class, Element, Ended, Flow, Isa, Role, TraceOn};
///
/// let class = Class { flow: Flow::Direct, role: Role::Jump, conditional: true };
/// let block = Block { start: 0x8000, end: 0x800c, count: 3, isa: Isa::A32, last_len: 4, class, ended: Ended::NotTaken };
/// let mut encoder = Encoder::new(&Registers::default(), Options::default()).unwrap();
/// let mut bytes = Vec::new();
/// for element in [Element::TraceOn(TraceOn::Normal), Element::Block(block), Element::End] {
///     encoder.element(&element, &mut bytes).unwrap();
/// }
/// // A-Sync, I-Sync, atoms EEN.
/// assert_eq!(bytes, [0, 0, 0, 0, 0, 0x80, 0x08, 0x21, 0x00, 0x80, 0, 0, 0xc8]);
/// ```
#[derive(Clone, Debug)]
pub struct Encoder {
    emitter: Emitter,
    options: Options,
    /// Atoms that were not emitted, without cycles.
    atoms: Vec<bool>,
    /// With cycles: the atoms of the last block, whose cycles come next.
    timed: Vec<bool>,
    context: Context,
    /// Context that a decoder knows.
    told: Option<Context>,
    /// An I-Sync that is due: its reason, and cycles.
    sync: Option<(Reason, Option<u32>)>,
    /// An exception whose handler comes next.
    exception: Option<Exception>,
    /// Where execution goes on, as far as a decoder knows; `None` if a branch address must say so.
    next: Option<(u64, Isa)>,
    /// Whether a branch address says so in any case.
    broadcast: bool,
    /// Instruction set of the last block.
    isa: Isa,
    since_sync: usize,
    started: bool,
    /// Number of accesses of the last instruction, while a decoder knows it.
    accesses: Option<u32>,
    /// Values that come later, oldest first: their tags, and they.
    late: VecDeque<(u8, u32)>,
    last_tag: u8,
}

impl Encoder {
    /// Creates an encoder for a trace unit with these registers.
    ///
    /// # Errors
    /// Fails if a register has a value that no ETMv3 can have.
    pub fn new(registers: &Registers, options: Options) -> Result<Self, ParamsError> {
        let context =
            Context { level: 1, security: Security::Secure, is_64bit: false, vmid: None, context_id: None };
        Ok(Self {
            emitter: Emitter::new(Params::new(registers)?),
            options,
            atoms: Vec::new(),
            timed: Vec::new(),
            context,
            told: None,
            sync: Some((Reason::TraceOn, None)),
            exception: None,
            next: None,
            broadcast: false,
            isa: Isa::A32,
            since_sync: 0,
            started: false,
            accesses: None,
            late: VecDeque::new(),
            last_tag: 0,
        })
    }

    /// Returns the parameters.
    pub fn params(&self) -> &Params {
        self.emitter.params()
    }

    /// Accepts the next element, and appends what can be said.
    ///
    /// # Errors
    /// Fails if an ETMv3 cannot trace the element.
    pub fn element(&mut self, element: &Element, bytes: &mut Vec<u8>) -> Result<(), CannotEncode> {
        match *element {
            Element::Block(Block { start, end, isa, .. }) => {
                place(start, isa)?;
                // The last block may end where addresses do.
                place(end.wrapping_sub(isa.shortest().into()), isa)?;
            }
            Element::Exception(Exception { return_address: Some(address), .. }) => {
                place(address, self.isa_at(address))?;
            }
            Element::Data { access: DataAccess { address, value, .. }, .. } => {
                if let Some(wide) =
                    address.into_iter().chain(value).find(|&word| u32::try_from(word).is_err())
                {
                    return Err(CannotEncode { address: wide });
                }
            }
            _ => {}
        }
        let start = bytes.len();
        if !matches!(element, Element::Cycles(_)) {
            self.time(0, bytes);
        }
        match *element {
            Element::Block(ref block) => self.block(block, bytes),
            Element::Context(context, _) => {
                let context_id = context.context_id.filter(|_| self.params().context_id_bytes() > 0);
                let vmid = context.vmid.filter(|_| self.params().vmids());
                let level = if context.level == 2 && self.params().has_virtualisation() { 2 } else { 1 };
                self.context = Context { level, context_id, vmid, ..context };
            }
            Element::TraceOn(reason) => {
                let reason = match reason {
                    TraceOn::Normal => Reason::TraceOn,
                    TraceOn::Overflow => Reason::Overflow,
                    TraceOn::Debug => Reason::DebugExit,
                };
                self.leave(bytes);
                self.sync = Some((reason, None));
            }
            Element::Exception(exception) => {
                // No instruction ran after a branch that went to its return address.
                if let Some(address) = exception.return_address {
                    let isa = self.isa_at(address);
                    self.go_to(address, isa, true, bytes);
                    self.next = Some((address, isa));
                }
                self.exception = Some(exception);
            }
            Element::ExceptionReturn => self.packet(&Packet::ExceptionReturn, bytes),
            Element::Timestamp { value, .. } if self.params().timestamps() => {
                let packet = self.emitter.timestamp(value);
                self.packet(&packet, bytes);
            }
            Element::Cycles(Some(cycles)) if self.params().cycle_accurate() => match &mut self.sync {
                Some((_, of_sync)) if self.timed.is_empty() => *of_sync = Some(cycles),
                _ => self.time(cycles, bytes),
            },
            Element::Cycles(_) => self.time(0, bytes),
            Element::Data { ref access, .. } => self.data(access, bytes),
            Element::DataLost if self.params().data() => self.packet(&Packet::DataSuppressed, bytes),
            Element::Trigger => self.packet(&Packet::Trigger, bytes),
            Element::Lost(_) => {
                self.leave(bytes);
                self.flush(bytes);
            }
            Element::End => {
                self.leave(bytes);
                self.flush(bytes);
                self.start(bytes);
            }
            _ => {}
        }
        self.since_sync += bytes.len() - start;
        Ok(())
    }

    /// Returns the instruction set that an exception's return address most likely has.
    fn isa_at(&self, address: u64) -> Isa {
        if address & 3 == 0 { self.isa } else { Isa::T32 }
    }

    /// Appends a packet, after the atoms before it.
    fn packet(&mut self, packet: &Packet, bytes: &mut Vec<u8>) {
        self.flush(bytes);
        self.start(bytes);
        self.emitter.packet(packet, bytes);
    }

    /// Appends the A-Sync that every trace begins with.
    fn start(&mut self, bytes: &mut Vec<u8>) {
        if !self.started {
            self.started = true;
            self.emitter.packet(&Packet::Async, bytes);
        }
    }

    /// Says that an exception was taken whose handler is not traced. The table of handlers is at 0.
    fn leave(&mut self, bytes: &mut Vec<u8>) {
        self.tell_late(0, bytes);
        self.accesses = None;
        if let Some(exception) = self.exception.filter(|_| self.sync.is_none()) {
            self.go_to(exception::vector(exception.number).into(), Isa::A32, true, bytes);
        }
        self.exception = None;
    }

    fn block(&mut self, block: &Block, bytes: &mut Vec<u8>) {
        self.go_to(block.start, block.isa, false, bytes);
        self.isa = block.isa;
        self.accesses = Some(0);
        let last = block.ended != Ended::NotTaken;
        let atoms = (1..block.count).map(|_| true).chain((block.count > 0).then_some(last));
        if self.params().cycle_accurate() {
            self.timed.extend(atoms);
        } else {
            self.atoms.extend(atoms);
        }
        // Bounded: the longest run of atoms.
        if self.atoms.len() > 256 {
            self.flush(bytes);
        }
        let taken = block.ended == Ended::Taken;
        self.broadcast = taken && self.params().branch_broadcast();
        // A direct branch leads where the program says, which is where execution goes on.
        self.next = match block.class.flow {
            Flow::Indirect | Flow::Pair if taken => None,
            Flow::Direct if taken => Some((u64::MAX, block.isa)),
            _ => Some((block.end, block.isa)),
        };
    }

    /// Says where execution goes on, where a decoder does not know. If the instruction set is a guess, nothing says so that need not.
    fn go_to(&mut self, address: u64, isa: Isa, is_guess: bool, bytes: &mut Vec<u8>) {
        let state = InstructionState::of(isa);
        let context = self.context;
        let exception = |number, context: &Context| ExceptionBytes {
            number,
            non_secure: context.security != Security::Secure,
            hyp: context.level == 2,
            ..ExceptionBytes::default()
        };
        let same_state =
            self.told.is_some_and(|told| (told.security, told.level) == (context.security, context.level));
        if self.sync.is_none() {
            let number = self.exception.take().map(|exception| exception.number);
            let is_known = match self.next {
                // A change of the instruction set is told, though a decoder could infer it: OpenCSD forgets it with the next P-header.
                Some((u64::MAX, before)) => !self.broadcast && isa == before || is_guess,
                Some(next) => next == (address, isa),
                None => false,
            };
            if number.is_some() || !same_state {
                let bytes_of = exception(number.unwrap_or(0), &context);
                let packet = self.emitter.branch(address as u32, state, Some(bytes_of));
                self.packet(&packet, bytes);
            } else if !is_known {
                let packet = self.emitter.branch(address as u32, state, None);
                self.packet(&packet, bytes);
            }
        }
        let due = self.options.sync_every.is_some_and(|every| self.since_sync >= every.get() as usize);
        if self.sync.is_none() && due && !is_guess {
            self.tell_late(0, bytes);
            self.packet(&Packet::Async, bytes);
            self.since_sync = 0;
            self.emitter.forget_timestamp();
            self.sync = Some((Reason::Periodic, None));
        }
        if let Some((reason, cycles)) = self.sync.take() {
            self.exception = None;
            let sync = ISync {
                cycles,
                context_id: (self.params().context_id_bytes() > 0).then(|| context.context_id.unwrap_or(0)),
                reason,
                non_secure: context.security != Security::Secure,
                hyp: context.level == 2,
                alternative: false,
                address: Some(address as u32),
                state,
                current: None,
            };
            self.packet(&Packet::ISync(sync), bytes);
            let vmid = self.told.and_then(|told| told.vmid);
            self.told = Some(Context { vmid, ..context });
        }
        let told = self.told.unwrap_or(context);
        if let (Some(id), true) = (context.context_id, told.context_id != context.context_id) {
            self.packet(&Packet::ContextId(id), bytes);
        }
        if let (Some(id), true) = (context.vmid, told.vmid != context.vmid) {
            self.packet(&Packet::Vmid(id as u8), bytes);
        }
        self.told = Some(context);
    }

    /// Appends an access of the last instruction.
    fn data(&mut self, access: &DataAccess, bytes: &mut Vec<u8>) {
        let (addresses, values) = (self.params().data_addresses(), self.params().data_values());
        let Some(before) = self.accesses.filter(|_| addresses || values) else { return };
        if access.kind == DataKind::StoreFailed {
            if values {
                self.packet(&Packet::StoreFailed, bytes);
            }
            return;
        }
        self.accesses = Some(before.saturating_add(1));
        let address = access.address.filter(|_| addresses && before == 0);
        let address = address.map(|address| self.emitter.data_address(address as u32, false));
        // Addresses are left out of all packets if they are not traced, and of those that are not the first.
        let first = before == 0 && (address.is_some() || !addresses);
        let most = usize::from(self.options.late_values.min(3));
        let packet = match access.value.map(|value| value as u32) {
            Some(value) if values && most > 0 => {
                self.tell_late(most - 1, bytes);
                // Tag 0 would be other packets.
                let tag = 1 + self.last_tag % 3;
                self.last_tag = tag;
                self.late.push_back((tag, value));
                Packet::Placeholder { tag, first, address }
            }
            Some(value) if values => Packet::Data { first, address, size: shortest(value), value },
            None if values => Packet::ValueNotTraced { first, address },
            _ => Packet::Data { first, address, size: 0, value: 0 },
        };
        self.packet(&packet, bytes);
    }

    /// Appends values that come later, until no more than `most` are left.
    fn tell_late(&mut self, most: usize, bytes: &mut Vec<u8>) {
        while self.late.len() > most
            && let Some((tag, value)) = self.late.pop_front()
        {
            self.packet(&Packet::OutOfOrder { tag, size: shortest(value), value }, bytes);
        }
    }

    /// Appends the atoms that wait for cycles, which took so many.
    fn time(&mut self, cycles: u32, bytes: &mut Vec<u8>) {
        let timed = std::mem::take(&mut self.timed);
        let count = timed.len() as u32;
        let mut left = cycles;
        // Cycles that no atom needs come first, eight at a time.
        while left > count {
            let some = (left - count).min(8);
            let atoms = Atoms { bits: 0, count: 0, cycles: some as u8, form: Form::Cycles };
            self.packet(&Packet::Atoms(atoms), bytes);
            left -= some;
        }
        let mut rest = &timed[..];
        while !rest.is_empty() {
            let run = rest.iter().take_while(|&&passed| passed).count().min(7);
            let fits = rest.len() as u32 <= left;
            let atoms = match *rest {
                [first, second, ..] if left > 0 && !fits => {
                    let bits = u16::from(first) | u16::from(second) << 1;
                    Atoms { bits, count: 2, cycles: 1, form: Form::Pair }
                }
                [first, ..] if left == 0 => {
                    Atoms { bits: first.into(), count: 1, cycles: 0, form: Form::Single }
                }
                _ => {
                    let count = run as u8 + u8::from(run < 7 && run < rest.len());
                    Atoms { bits: (1 << run) - 1, count, cycles: count, form: Form::Run }
                }
            };
            self.packet(&Packet::Atoms(atoms), bytes);
            left -= u32::from(atoms.cycles);
            rest = &rest[usize::from(atoms.count)..];
        }
    }

    /// Appends the atoms that were not emitted.
    fn flush(&mut self, bytes: &mut Vec<u8>) {
        let atoms = std::mem::take(&mut self.atoms);
        let mut rest = &atoms[..];
        while !rest.is_empty() {
            let run = rest.iter().take_while(|&&passed| passed).count().min(15);
            let packet = match *rest {
                [false, second, ..] => {
                    Atoms { bits: u16::from(second) << 1, count: 2, cycles: 0, form: Form::Pair }
                }
                _ => {
                    let count = run as u8 + u8::from(run < rest.len() && !rest[run]);
                    Atoms { bits: (1 << run) - 1, count, cycles: 0, form: Form::Run }
                }
            };
            self.emitter.packet(&Packet::Atoms(packet), bytes);
            rest = &rest[usize::from(packet.count)..];
        }
    }
}

/// Returns the fewest bytes that a packet can tell a value with.
const fn shortest(value: u32) -> u8 {
    match value {
        0 => 0,
        1..=0xff => 1,
        0x100..=0xffff => 2,
        _ => 4,
    }
}
