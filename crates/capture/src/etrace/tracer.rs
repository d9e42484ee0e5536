//! Encodes what a hart executes, while it executes.

use std::io::{self, Write};

use tracewright_core::{Block, DataAccess, Ended};
use tracewright_etrace::data::{self, Companion};
use tracewright_etrace::decode::Handler;
use tracewright_etrace::encode::{BlockEncoder, Encoder, Unfit};
use tracewright_etrace::ingress::{Entry, Executed};
use tracewright_etrace::packet::{NoPayload, Packet, Support};
use tracewright_etrace::stream::Writer;
use tracewright_hart::{HartSink, Privilege, Trap};

use super::delta::{Delta, synchronises};
use super::handlers::TrapTargets;
use super::port::{Step, Watched};
use super::{Gather, HartTracer, Seen, Settings, TraceFile};
use crate::protocol::Traced;
use crate::sink::TraceSink;

/// Encodes what a hart executes, and writes the trace.
pub struct Tracer<W> {
    encoder: BlockEncoder,
    /// Data trace, if it is switched on.
    data: Option<Companion>,
    /// The port, if requested.
    port: Option<Box<Watched>>,
    /// Delta trace, if requested.
    delta: Option<Box<Delta<W>>>,
    out: Out<W>,
    seen: Seen,
    /// Trap handlers, if the trace leaves them out.
    handlers: Option<Box<TrapTargets>>,
    next: Next,
}

/// Where execution continues.
#[derive(Clone, Copy, Debug)]
struct Next {
    /// Whether the address is not known: a jump led there, or nothing came before.
    is_open: bool,
    /// Whether the last block jumped there, in the same context.
    is_jump: bool,
    /// The address, if it is known.
    address: u64,
}

impl Next {
    /// Anywhere: nothing came before, or a trap.
    const ANYWHERE: Self = Self { is_open: true, is_jump: false, address: 0 };
    /// Where no instruction can be.
    const NOWHERE: Self = Self { is_open: false, is_jump: false, address: u64::MAX };

    #[inline(always)]
    fn after(block: &Block) -> Self {
        let is_jump = block.ended == Ended::Taken;
        Self { is_open: is_jump, is_jump, address: block.end }
    }
}

/// A trace that has ended.
#[derive(Debug)]
pub struct Finished<W> {
    /// The writer.
    pub to: W,
    /// The writer of the delta trace, if there is one.
    pub delta: Option<io::Result<W>>,
    /// Totals of the trace.
    pub traced: Traced,
    /// Code that ran.
    pub seen: Seen,
    /// Trap handlers, if the trace leaves them out; and privileges whose traps went to several places.
    pub handlers: (Vec<Handler>, Vec<u8>),
    /// First value that did not fit its field, if there is one: the trace is wrong.
    pub unfit: Option<Unfit>,
}

/// Destination of packets.
struct Out<W> {
    writer: Writer,
    source: u16,
    /// Whether messages have a timestamp.
    has_timestamps: bool,
    /// Whether the next support packet has to report that accesses are missing.
    is_data_lost: bool,
    /// Whether a packet synchronised with the first instruction of its entry.
    is_synchronised: bool,
    to: Gather<W>,
    packets: u64,
    data_packets: u64,
}

impl<W: Write> Tracer<W> {
    /// Creates a tracer that writes to `to`.
    pub fn new(settings: &Settings, to: W) -> Self {
        let config = settings.source.config.clone();
        let executed = Executed::new(settings.itype_width, settings.ctype);
        let has_timestamps = config.encapsulation.has_timestamps();
        let out = Out {
            writer: Writer::new(config).with_alignment(settings.align),
            source: settings.source.source,
            has_timestamps,
            is_data_lost: false,
            is_synchronised: false,
            to: Gather::new(to),
            packets: 0,
            data_packets: 0,
        };
        let data = settings.data.map(|options| Companion::new(&settings.source.config.params, options));
        let encoder = BlockEncoder::new(executed, Encoder::new(settings.encoder()));
        // Data packets go between the packets of entries.
        let encoder = if data.is_some() { encoder.one_late() } else { encoder };
        let port = Watched::new(settings).map(Box::new);
        let handlers = settings.source.config.options.implicit_exception.then(Box::default);
        Self { encoder, data, port, delta: None, out, seen: Seen::new(), handlers, next: Next::ANYWHERE }
    }

    /// Also writes delta trace to `to`, if requested.
    #[must_use]
    pub fn with_delta(self, settings: &Settings, to: W) -> Self {
        Self { delta: Delta::new(settings, to).map(Box::new), ..self }
    }

    /// Takes an entry: what retired, as an encoder sees it.
    pub fn entry(&mut self, entry: &Entry) {
        if self.port.is_some() {
            return self.retires_at_port(entry, u32::from(entry.iretire > 0));
        }
        let Self { encoder, data, out, .. } = self;
        encoder.entry(entry, &mut |cycle, packet| out.packet(cycle, packet, data));
        self.entry_is_over(entry.cycle);
    }

    #[inline]
    fn entry_is_over(&mut self, cycle: u64) {
        if let Some(data) = &mut self.data {
            data.entry(&mut |packet| self.out.data(cycle, packet));
        }
    }

    /// Takes an entry that goes through the port. Time goes on while the hart waits for the buffer.
    #[cold]
    fn retires_at_port(&mut self, entry: &Entry, count: u32) {
        let (time, cycle) = (entry.time.saturating_add(self.waited()), self.waited_for_delta());
        // The buffer counts how long the hart waits for it, and adds that itself.
        let later = Entry { time, cycle: entry.cycle.saturating_add(cycle), ..*entry };
        self.at_port(Step::Retired(&later, count), Step::Retired(entry, count));
    }

    /// Returns the cycles that the hart has waited, for all ports.
    fn waited(&self) -> u64 {
        self.encoder.encoder().port_stats().stall_cycles.saturating_add(self.waited_for_delta())
    }

    fn waited_for_delta(&self) -> u64 {
        self.delta.as_ref().map_or(0, |delta| delta.waited())
    }

    /// Passes `step` to the encoder, and `without_waiting` to the encoder of the lossless trace.
    fn at_port(&mut self, step: Step<'_>, without_waiting: Step<'_>) {
        let (packets, bytes) = (self.out.packets, self.bytes());
        let Self { encoder, data, out, .. } = self;
        let waited = encoder.encoder().port_stats().stall_cycles;
        step.tell(encoder, &mut |cycle, packet| out.packet(cycle.saturating_add(waited), packet, data));
        let made = (self.out.packets - packets, 8 * (self.bytes() - bytes));
        if let Some(port) = &mut self.port {
            port.after(without_waiting, self.encoder.encoder_mut(), made);
        }
    }

    /// Returns the losses at the port so far.
    #[cfg(test)]
    pub fn gaps(&self) -> Option<crate::port::Gaps> {
        self.port.as_ref().map(|port| port.counts.gaps)
    }

    /// Returns whether data is traced.
    pub fn has_data(&self) -> bool {
        self.data.is_some()
    }

    /// Returns the number of bytes of trace so far.
    pub fn bytes(&self) -> u64 {
        self.out.to.written + self.out.to.bytes.len() as u64
    }

    /// Fails if trace could not be written, so that the rest would be lost.
    pub fn check(&self) -> Result<(), &io::Error> {
        self.out.to.to.failed.as_ref().copied()
    }

    /// Passes to the delta trace what E-Trace emitted for the entry before the last.
    #[cold]
    fn settle_delta(&mut self) {
        let is_synchronised = core::mem::take(&mut self.out.is_synchronised);
        let Some(delta) = &mut self.delta else { return };
        let whole = self.port.as_mut().and_then(|port| port.take_synchronised());
        delta.settle(is_synchronised, whole.unwrap_or(is_synchronised));
    }

    /// Does the same, and then adds a block, before which the hart had waited `waited` cycles.
    #[inline(never)]
    fn retires_in_delta(&mut self, block: &Block, waited: u64) {
        self.settle_delta();
        if let Some(delta) = &mut self.delta {
            delta.block(block, waited);
        }
    }

    /// Interrupts the trace: what follows does not continue what came before.
    fn halt(&mut self) {
        self.next = Next::ANYWHERE;
        self.at_port(Step::Halt, Step::Halt);
        self.settle_delta();
    }

    /// Ends the trace.
    pub fn finish(mut self) -> io::Result<Finished<W>> {
        self.at_port(Step::Finish, Step::Finish);
        self.settle_delta();
        let Self { encoder, data, out, .. } = &mut self;
        if let Some(data) = data {
            data.finish(&mut |packet| out.data(encoder.cycle(), packet));
        }
        let bytes = self.bytes();
        let Out { to, packets, data_packets, .. } = self.out;
        let to = to.finish()?;
        let port = self.port.map(|port| port.report(self.encoder.encoder(), self.encoder.is_timed()));
        let (delta_to, delta) = self.delta.map(|delta| delta.finish()).unzip();
        let traced = Traced { bytes, packets: Some(packets), data_packets, port, delta, ..Traced::default() };
        let handlers = self.handlers.map(|handlers| handlers.finish()).unwrap_or_default();
        let unfit = self.encoder.encoder().unfit();
        Ok(Finished { to, delta: delta_to, traced, seen: self.seen, handlers, unfit })
    }

    /// Takes an access of the instruction at `pc`, of the block to come.
    pub(super) fn data(&mut self, pc: u64, access: &DataAccess) {
        if let Some(data) = &mut self.data {
            data.access(pc, access);
        }
    }

    /// Marks an unknown access of the last instruction: the trace ends here, reports it, and resumes.
    pub(super) fn data_lost(&mut self) {
        self.out.is_data_lost = true;
        self.lost();
    }

    /// Takes a block that was executed, whose code is known.
    #[inline(always)]
    pub(super) fn runs(&mut self, block: &Block) {
        if !self.next.is_open && self.next.address != block.start {
            // Another thread continues here, or the log leaves something out.
            self.halt();
            if let Some(delta) = self.delta.as_mut().filter(|delta| !delta.is_gapless) {
                delta.off();
            }
        }
        self.next = Next::after(block);
        if let Some(handlers) = &mut self.handlers {
            handlers.settle();
        }
        if self.port.is_some() {
            return self.runs_at_port(block);
        }
        let Self { encoder, data, out, .. } = self;
        encoder.block(block, &mut |cycle, packet| out.packet(cycle, packet, data));
        self.entry_is_over(self.encoder.cycle());
        if self.delta.is_some() {
            self.retires_in_delta(block, 0);
        }
    }

    #[cold]
    fn runs_at_port(&mut self, block: &Block) {
        let waited = self.waited();
        let entry = self.encoder.entry_of(block);
        self.retires_at_port(&entry, block.count);
        self.retires_in_delta(block, waited);
    }
}

impl<W: Write> Out<W> {
    #[inline(never)]
    fn packet(&mut self, cycle: u64, packet: &Packet, data: &mut Option<Companion>) {
        if let Some(data) = data {
            data.packet(packet, &mut |packet| self.data(cycle, packet));
        }
        self.packets += 1;
        self.is_synchronised |= synchronises(packet);
        let timestamp = self.has_timestamps.then_some(cycle);
        let written = match packet {
            Packet::Support(support) if core::mem::take(&mut self.is_data_lost) => {
                let packet = Packet::Support(Support { dloss: true, ..*support });
                self.writer.instruction(self.source, timestamp, &packet, &mut self.to.bytes)
            }
            _ => self.writer.instruction(self.source, timestamp, packet, &mut self.to.bytes),
        };
        self.check(written);
    }

    fn data(&mut self, cycle: u64, packet: &data::Packet) {
        self.data_packets += 1;
        let timestamp = self.has_timestamps.then_some(cycle);
        let written = self.writer.data(self.source, timestamp, packet, &mut self.to.bytes);
        self.check(written);
    }

    /// Ends a message: keeps its error, and writes the gathered bytes if there are enough.
    #[inline]
    fn check(&mut self, written: Result<(), NoPayload>) {
        if let Err(NoPayload(why)) = written {
            let message = format!("a packet cannot be written with these parameters: {why}");
            self.to.to.write(|_| Err(io::Error::other(message)));
        }
        self.to.check();
    }
}

impl HartTracer for Tracer<TraceFile> {
    fn check(&self) -> Result<(), &io::Error> {
        Self::check(self)
    }

    fn finish(self) -> io::Result<Finished<TraceFile>> {
        Self::finish(self)
    }
}

impl<W: Write> HartSink for Tracer<W> {
    const CYCLES: bool = true;
    const INSTRUCTIONS: bool = true;

    fn instructions(&mut self, bits: &[u32]) {
        self.seen.instructions(bits);
    }

    #[inline]
    fn block(&mut self, block: &Block) {
        self.seen.block(block);
        self.runs(block);
    }

    fn cycles(&mut self, cycles: &[u64]) {
        if let [first, ..] = *cycles
            && let [.., last] = *cycles
        {
            self.encoder.set_cycles(first, last);
        }
        if let Some(delta) = &mut self.delta {
            delta.cycles(cycles);
        }
    }

    fn trap(&mut self, trap: &Trap) {
        let Trap { pc, cause, interrupt, value, .. } = *trap;
        self.next = Next::ANYWHERE;
        if let Some(handlers) = &mut self.handlers {
            handlers.trap(trap);
        }
        let entry = self.encoder.executed().trap(pc, cause, interrupt, value);
        if self.port.is_some() {
            self.retires_at_port(&entry, 0);
        } else {
            self.entry(&entry);
        }
        self.settle_delta();
    }

    fn checkpoint(&mut self) {
        self.out.to.write();
        if let Some(delta) = &mut self.delta {
            delta.write();
        }
    }

    fn lost(&mut self) {
        self.halt();
        if let Some(delta) = &mut self.delta {
            delta.off();
        }
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.encoder.executed().privilege(privilege as u8);
        if let Some(handlers) = &mut self.handlers {
            handlers.privilege(privilege);
        }
    }

    fn context(&mut self, context: u64) {
        self.encoder.executed().context(context);
        if self.next.is_jump {
            self.next = Next::NOWHERE;
        }
    }
}

impl<W: Write> TraceSink for Tracer<W> {
    fn bytes(&self) -> u64 {
        self.bytes()
    }
}

/// A tracer that asks for other inputs: not for instructions, if the caller has the code, or also for data.
pub struct Asking<W, const CODE: bool, const DATA: bool>(pub Tracer<W>);

pub type WithoutCode<W> = Asking<W, false, false>;
pub type WithData<W> = Asking<W, true, true>;

impl<W: Write, const CODE: bool, const DATA: bool> HartSink for Asking<W, CODE, DATA> {
    const CYCLES: bool = true;
    const DATA: bool = DATA;
    const INSTRUCTIONS: bool = CODE;

    #[inline(always)]
    fn block(&mut self, block: &Block) {
        if CODE {
            self.0.block(block);
        } else {
            self.0.runs(block);
        }
    }

    fn data(&mut self, pc: u64, access: &DataAccess) {
        self.0.data(pc, access);
    }

    fn instructions(&mut self, bits: &[u32]) {
        self.0.instructions(bits);
    }

    fn cycles(&mut self, cycles: &[u64]) {
        self.0.cycles(cycles);
    }

    fn trap(&mut self, trap: &Trap) {
        self.0.trap(trap);
    }

    fn lost(&mut self) {
        self.0.lost();
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.0.privilege(privilege);
    }

    fn context(&mut self, context: u64) {
        self.0.context(context);
    }

    fn checkpoint(&mut self) {
        self.0.checkpoint();
    }
}

impl<W: Write, const CODE: bool, const DATA: bool> TraceSink for Asking<W, CODE, DATA> {
    fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}
