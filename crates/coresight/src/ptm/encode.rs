//! Elements to packets: the trace unit.
//!
//! A waypoint's packet is made when it is known where execution went on and how long it took: with the next block. Every option of the
//! registers is followed: cycle counts, timestamps, branch broadcast, return stack, context and virtual machine IDs.

use core::num::NonZero;

use tracewright_core::{Block, Context, Element, Ended, Flow, Isa, Role, Security, TraceOn};

use super::Params;
use super::packet::{Address, Atoms, Branch, ISync, ISyncReason, Packet, Timestamp};
pub use crate::shared::address::CannotEncode;
use crate::shared::address::{State, place};
use crate::shared::exception::{self, ExceptionBytes};
use crate::shared::timestamp::TimestampBytes;

/// Options of an encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes after which an A-Sync and an I-Sync are written; `None` is never again after the first.
    pub sync_every: Option<NonZero<u32>>,
    /// Calls that the return stack holds, up to 16.
    pub return_stack: u8,
}

impl Default for Options {
    fn default() -> Self {
        Self { sync_every: NonZero::new(1024), return_stack: 8 }
    }
}

/// An encoder of executions.
#[derive(Clone, Debug)]
pub struct Encoder {
    params: Params,
    options: Options,
    /// What later packets are compressed against.
    address: Option<(u32, State)>,
    timestamp: u64,
    /// Waypoints that are not written yet.
    atoms: Atoms,
    /// Last waypoint or exception, until the next block.
    held: Option<Held>,
    /// Cycles that no packet has told.
    cycles: u32,
    /// Return addresses, newest last.
    calls: Vec<(u32, State)>,
    /// Address of the last instruction, if no packet tells yet that execution came there: it is no waypoint, but ends a block.
    untold: Option<(u32, State)>,
    /// Reason of the I-Sync that comes before the next block.
    due: Option<ISyncReason>,
    context: Context,
    /// IDs that were told.
    told: (Option<u32>, Option<u32>),
    since_sync: u64,
    has_synchronised: bool,
}

/// A packet that waits for where execution goes on, and for its cycles.
#[derive(Clone, Debug)]
struct Held {
    what: What,
    cycles: u32,
    /// Elements after it.
    after: Vec<Element>,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Atom {
        taken: bool,
    },
    /// A taken branch, and the address after it if it is a call.
    Branch {
        direct: bool,
        call: Option<(u32, State)>,
    },
    Exception {
        number: u16,
    },
}

impl Encoder {
    /// Creates an encoder for a trace unit with these parameters.
    pub fn new(params: Params, options: Options) -> Self {
        let security = Security::Secure;
        Self {
            params,
            options,
            address: None,
            timestamp: 0,
            atoms: Atoms::default(),
            held: None,
            cycles: 0,
            calls: Vec::new(),
            untold: None,
            due: Some(ISyncReason::TraceOn),
            context: Context { level: 1, security, is_64bit: false, vmid: None, context_id: None },
            told: (None, None),
            since_sync: 0,
            has_synchronised: false,
        }
    }

    /// Appends the bytes that the trace unit writes for `element`. Some may come later: end with [`Element::End`].
    ///
    /// # Errors
    /// Fails if a PTM cannot trace the element.
    pub fn element(&mut self, element: &Element, bytes: &mut Vec<u8>) -> Result<(), CannotEncode> {
        let before = bytes.len();
        match element {
            Element::Block(block) => {
                let start = place(block.start, block.isa)?;
                // The last block may end where addresses do.
                place(block.end.wrapping_sub(block.isa.shortest().into()), block.isa)?;
                self.arrive(start, bytes);
                self.synchronise_at(start, true, bytes);
                self.block(block, bytes);
            }
            Element::Exception(exception) => {
                // No instruction ran after a branch that went to its return address.
                if let Some(address) = exception.return_address {
                    let isa = self.isa_of(address);
                    let at = place(address, isa)?;
                    // The instruction set is a guess: the target of a direct branch, or a periodic I-Sync, must not tell it.
                    match self.held {
                        Some(Held { what: What::Branch { direct: true, .. }, .. }) => self.release(bytes),
                        _ => self.arrive(at, bytes),
                    }
                    self.synchronise_at(at, false, bytes);
                }
                self.release(bytes);
                self.update(bytes);
                if self.has_synchronised {
                    self.hold(What::Exception { number: exception.number });
                }
            }
            Element::TraceOn(reason) => {
                self.release(bytes);
                self.update(bytes);
                self.flush(bytes);
                self.due = Some(match reason {
                    TraceOn::Normal => ISyncReason::TraceOn,
                    TraceOn::Overflow => ISyncReason::Overflow,
                    TraceOn::Debug => ISyncReason::Debug,
                });
            }
            Element::Cycles(Some(cycles)) => match &mut self.held {
                Some(held) if held.after.is_empty() => held.cycles = held.cycles.saturating_add(*cycles),
                _ => self.cycles = self.cycles.saturating_add(*cycles),
            },
            Element::Context(..)
            | Element::Timestamp { .. }
            | Element::Trigger
            | Element::ExceptionReturn => match &mut self.held {
                Some(held) => held.after.push(*element),
                None => self.beside(element, bytes),
            },
            Element::Lost(_) | Element::End => {
                self.release(bytes);
                self.update(bytes);
                self.flush(bytes);
                // Every trace has one, even if nothing ran.
                if *element == Element::End && !self.has_synchronised {
                    self.write(&Packet::Async, bytes);
                }
            }
            _ => {}
        }
        self.since_sync += (bytes.len() - before) as u64;
        Ok(())
    }

    /// Returns the instruction set that an exception's return address most likely has: that of the last address.
    fn isa_of(&self, address: u64) -> Isa {
        match self.address {
            Some((_, State::Thumb)) => Isa::T32,
            _ if address & 3 != 0 => Isa::T32,
            _ => Isa::A32,
        }
    }

    fn hold(&mut self, what: What) {
        self.held = Some(Held { what, cycles: 0, after: Vec::new() });
    }

    fn block(&mut self, block: &Block, bytes: &mut Vec<u8>) {
        let after = (block.end as u32, State::of(block.isa));
        let class = block.class;
        self.untold = None;
        let call = (class.role == Role::Call).then_some(after);
        match (block.ended, class.flow) {
            (Ended::Taken, Flow::Direct) => self.hold(What::Branch { direct: true, call }),
            (Ended::Taken, _) => self.hold(What::Branch { direct: false, call }),
            (Ended::NotTaken, _) => self.hold(What::Atom { taken: false }),
            (Ended::Through, Flow::Isb) => self.hold(What::Atom { taken: true }),
            // Waits are no waypoints.
            (Ended::Through, _) => self.untold = Some((block.last() as u32, after.1)),
            (Ended::Cut, _) => {
                self.untold = Some((block.last() as u32, after.1));
                self.update(bytes);
            }
        }
    }

    /// Tells how far execution came, if no packet does.
    fn update(&mut self, bytes: &mut Vec<u8>) {
        if let Some(last) = self.untold.take() {
            self.flush(bytes);
            let address = self.shorten(last, false);
            self.write(&Packet::WaypointUpdate(address), bytes);
        }
    }

    /// Writes what is held when execution goes on at `address`.
    fn arrive(&mut self, address: (u32, State), bytes: &mut Vec<u8>) {
        if let Some(Held { what, cycles, after }) = self.held.take() {
            let security = self.security_after(&after);
            match what {
                What::Atom { taken } => self.atom(taken, cycles, bytes),
                What::Branch { direct, call } => {
                    let changes = security != (self.context.security, self.context.level);
                    let is_told = if direct {
                        self.params.branch_broadcast || changes
                    } else {
                        changes || !self.pops(address)
                    };
                    if is_told {
                        let exception = changes.then(|| exception_bytes(0, security));
                        self.branch(address, exception, cycles, bytes);
                    } else {
                        self.atom(true, cycles, bytes);
                    }
                    if let Some(call) = call {
                        self.push(call);
                    }
                }
                What::Exception { number } => {
                    self.branch(address, Some(exception_bytes(number, security)), cycles, bytes);
                }
            }
            (self.context.security, self.context.level) = security;
            for element in after {
                self.beside(&element, bytes);
            }
        }
    }

    /// Writes the I-Sync that is due at `address`. `periodic`: also one that may come anywhere.
    fn synchronise_at(&mut self, address: (u32, State), periodic: bool, bytes: &mut Vec<u8>) {
        let is_due = self.options.sync_every.is_some_and(|every| self.since_sync >= every.get().into());
        if is_due && self.due.is_none() {
            self.due = Some(ISyncReason::Periodic);
        }
        let may_be = |reason: &mut ISyncReason| periodic || *reason != ISyncReason::Periodic;
        if let Some(reason) = self.due.take_if(may_be) {
            self.update(bytes);
            self.synchronise(reason, address, bytes);
        }
    }

    /// Returns security state and level after these elements.
    fn security_after(&self, elements: &[Element]) -> (Security, u8) {
        let of = |element: &Element| match element {
            Element::Context(context, _) => Some((context.security, context.level)),
            _ => None,
        };
        elements.iter().rev().find_map(of).unwrap_or((self.context.security, self.context.level))
    }

    /// Writes what is held, where nobody knows where execution goes on: the handlers of exceptions are in a table at 0, and an indirect
    /// branch goes there, too.
    fn release(&mut self, bytes: &mut Vec<u8>) {
        let Some(Held { what, cycles, after }) = self.held.take() else { return };
        let security = self.security_after(&after);
        match what {
            What::Atom { taken } => self.atom(taken, cycles, bytes),
            What::Branch { direct: true, call } => {
                self.atom(true, cycles, bytes);
                if let Some(call) = call {
                    self.push(call);
                }
            }
            What::Branch { direct: false, .. } => self.branch((0, State::Arm), None, cycles, bytes),
            What::Exception { number } => {
                let handler = (exception::vector(number), State::Arm);
                self.branch(handler, Some(exception_bytes(number, security)), cycles, bytes);
                (self.context.security, self.context.level) = security;
            }
        }
        for element in after {
            self.beside(&element, bytes);
        }
    }

    fn atom(&mut self, taken: bool, cycles: u32, bytes: &mut Vec<u8>) {
        if self.params.cycle_accurate {
            let cycles = core::mem::take(&mut self.cycles).saturating_add(cycles);
            return self.write(&Packet::CycleAtom { taken, cycles }, bytes);
        }
        self.atoms.bits |= u8::from(taken) << self.atoms.count;
        self.atoms.count += 1;
        if self.atoms.count == 5 {
            self.flush(bytes);
        }
    }

    fn branch(
        &mut self,
        address: (u32, State),
        exception: Option<ExceptionBytes>,
        cycles: u32,
        bytes: &mut Vec<u8>,
    ) {
        self.flush(bytes);
        let cycles = core::mem::take(&mut self.cycles).saturating_add(cycles);
        let address = self.shorten(address, exception.is_some());
        let cycles = self.params.cycle_accurate.then_some(cycles);
        self.write(&Packet::Branch(Branch { address, exception, cycles }), bytes);
    }

    fn shorten(&mut self, address: (u32, State), exception: bool) -> Address {
        let short = Address::shortest(address.0, address.1, self.address, exception);
        self.address = Some(address);
        short
    }

    fn pops(&mut self, address: (u32, State)) -> bool {
        let pops =
            self.params.return_stack && !self.params.branch_broadcast && self.calls.last() == Some(&address);
        if pops {
            self.calls.pop();
        }
        pops
    }

    fn push(&mut self, address: (u32, State)) {
        self.calls.push(address);
        if self.calls.len() > usize::from(self.options.return_stack.min(16)) {
            self.calls.remove(0);
        }
    }

    fn flush(&mut self, bytes: &mut Vec<u8>) {
        let atoms = core::mem::take(&mut self.atoms);
        if atoms.count > 0 {
            self.write(&Packet::Atoms(atoms), bytes);
        }
    }

    fn write(&self, packet: &Packet, bytes: &mut Vec<u8>) {
        packet.write(&self.params, bytes);
    }

    fn synchronise(&mut self, reason: ISyncReason, address: (u32, State), bytes: &mut Vec<u8>) {
        self.flush(bytes);
        if reason == ISyncReason::Periodic || !self.has_synchronised {
            self.write(&Packet::Async, bytes);
        }
        self.has_synchronised = true;
        let has_cycles = self.params.cycle_accurate && reason != ISyncReason::Periodic;
        let has_ids = self.params.context_id_bytes > 0;
        let context_id = has_ids.then(|| self.context.context_id.unwrap_or(0));
        let sync = ISync {
            reason,
            address: address.0,
            thumb: address.1 == State::Thumb,
            non_secure: self.context.security != Security::Secure,
            alternative: false,
            hyp: self.context.level == 2,
            cycles: if has_cycles { Some(core::mem::take(&mut self.cycles)) } else { None },
            context_id,
        };
        self.write(&Packet::ISync(sync), bytes);
        self.told.0 = self.context.context_id.filter(|_| has_ids);
        if let Some(id) = self.context.vmid.filter(|_| self.params.vmids) {
            self.write(&Packet::Vmid(id as u8), bytes);
            self.told.1 = Some(id);
        }
        self.address = Some(address);
        // The next timestamp is whole, for who begins to read here.
        self.timestamp = !self.timestamp;
        self.calls.clear();
        self.since_sync = 0;
    }

    /// Writes what is told beside the flow.
    fn beside(&mut self, element: &Element, bytes: &mut Vec<u8>) {
        match element {
            Element::Context(context, _) => {
                let changes =
                    (context.security, context.level) != (self.context.security, self.context.level);
                if changes && self.due.is_none() {
                    self.due = Some(ISyncReason::Periodic);
                }
                self.context = *context;
                // An I-Sync that is due tells them.
                if self.due.is_some_and(|reason| reason != ISyncReason::Periodic) {
                    return;
                }
                if let Some(id) = context.context_id.filter(|_| self.params.context_id_bytes > 0)
                    && self.told.0 != Some(id)
                {
                    self.flush(bytes);
                    self.write(&Packet::ContextId(id), bytes);
                    self.told.0 = Some(id);
                }
                if let Some(id) = context.vmid.filter(|_| self.params.vmids)
                    && self.told.1 != Some(id)
                {
                    self.flush(bytes);
                    self.write(&Packet::Vmid(id as u8), bytes);
                    self.told.1 = Some(id);
                }
            }
            Element::Timestamp { value, .. } if self.params.timestamps && self.has_synchronised => {
                self.flush(bytes);
                let width = self.params.timestamp_width;
                let short = TimestampBytes::shortest(*value, self.timestamp, width);
                self.timestamp = *value;
                let cycles = core::mem::take(&mut self.cycles);
                let cycles = self.params.cycle_accurate.then_some(cycles);
                let timestamp = Timestamp { value: *value, told: short.told, clock_changed: false, cycles };
                self.write(&Packet::Timestamp(timestamp), bytes);
            }
            Element::Trigger if self.has_synchronised => {
                self.flush(bytes);
                self.write(&Packet::Trigger, bytes);
            }
            Element::ExceptionReturn if self.has_synchronised => {
                self.flush(bytes);
                self.write(&Packet::ExceptionReturn, bytes);
            }
            _ => {}
        }
    }
}

fn exception_bytes(number: u16, (security, level): (Security, u8)) -> ExceptionBytes {
    let non_secure = security != Security::Secure;
    ExceptionBytes { number, non_secure, hyp: level == 2, ..ExceptionBytes::default() }
}
