//! From what a hart executes to a trace, while it executes.

use std::io::{self, Write};

use tracewright_core::{Block, DataAccess, Ended};
use tracewright_etrace::data::{self, Companion};
use tracewright_etrace::encode::{Encoder, PortStats};
use tracewright_etrace::ingress::{Entry, Executed};
use tracewright_etrace::packet::{NoPayload, Packet};
use tracewright_etrace::stream::{Content, Encapsulation, Message, Writer};
use tracewright_hart::{Privilege, Sink, Trap};

use super::{Seen, Settings};

/// Bytes that are gathered before they are written.
const GATHER: usize = 1 << 16;

/// Encodes what a hart executes, and writes it.
pub struct Tracer<W> {
    executed: Executed,
    encoder: Encoder,
    /// Data trace, if it is switched on.
    data: Option<Companion>,
    out: Out<W>,
    seen: Seen,
    next: Next,
    /// Whether the context changed since the last block.
    switched: bool,
    /// Whether cycles are told; otherwise each instruction takes one.
    is_timed: bool,
    cycle: u64,
}

/// Where execution goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// Anywhere: nothing came before, or a trap.
    Anywhere,
    /// At the target of a jump.
    Jumped,
    /// At this address.
    At(u64),
}

/// What a trace came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traced {
    /// Bytes that were written.
    pub bytes: u64,
    /// How many of them are in the file.
    pub kept: u64,
    /// Instruction trace packets.
    pub packets: u64,
    /// Data trace packets.
    pub data_packets: u64,
    /// Half-words of instructions that retired.
    pub half_words: u64,
    /// What happened at the port.
    pub port: PortStats,
}

/// Where packets go.
struct Out<W> {
    writer: Writer,
    source: u16,
    /// Whether messages have a timestamp.
    has_timestamps: bool,
    cycle: u64,
    bytes: Vec<u8>,
    to: W,
    traced: Traced,
    failed: io::Result<()>,
}

impl<W: Write> Tracer<W> {
    /// Writes to `to`.
    pub fn new(settings: &Settings, to: W) -> Self {
        let config = settings.source.config.clone();
        let executed = Executed::new(settings.itype_width, settings.ctype);
        let has_timestamps = match config.encapsulation {
            Encapsulation::Standard { timestamp_bytes, .. } => timestamp_bytes > 0,
            Encapsulation::Smi => false,
            Encapsulation::Pulp => true,
        };
        let out = Out {
            writer: Writer::new(config).with_alignment(settings.align),
            source: settings.source.source,
            has_timestamps,
            cycle: 0,
            bytes: Vec::with_capacity(2 * GATHER),
            to,
            traced: Traced::default(),
            failed: Ok(()),
        };
        let data = settings.data.map(|options| Companion::new(&settings.source.config.params, options));
        let encoder = Encoder::new(settings.encoder());
        let next = Next::Anywhere;
        Self {
            executed,
            encoder,
            data,
            out,
            seen: Seen::new(),
            next,
            switched: false,
            is_timed: false,
            cycle: 0,
        }
    }

    /// What retired, as an encoder is told.
    #[inline]
    pub fn entry(&mut self, entry: &Entry) {
        self.out.cycle = entry.cycle;
        self.out.traced.half_words += u64::from(entry.iretire);
        let Self { encoder, data, out, .. } = self;
        encoder.entry(entry, &mut |packet| out.packet(packet, data));
        if let Some(data) = data {
            data.entry(&mut |packet| out.data(packet));
        }
        if self.out.bytes.len() >= GATHER {
            self.out.write();
        }
    }

    /// Whether data is traced.
    pub fn has_data(&self) -> bool {
        self.data.is_some()
    }

    /// Bytes of trace so far.
    pub fn bytes(&self) -> u64 {
        self.out.traced.bytes + self.out.bytes.len() as u64
    }

    /// Fails if trace could not be written: what comes would be lost.
    pub fn check(&self) -> Result<(), &io::Error> {
        match &self.out.failed {
            Ok(()) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Ends the trace.
    pub fn finish(mut self) -> io::Result<(W, Traced, Seen)> {
        let Self { encoder, data, out, .. } = &mut self;
        encoder.finish(&mut |packet| out.packet(packet, data));
        if let Some(data) = data {
            data.finish(&mut |packet| out.data(packet));
        }
        out.write();
        self.out.failed?;
        self.out.to.flush()?;
        Ok((self.out.to, Traced { port: self.encoder.port_stats(), ..self.out.traced }, self.seen))
    }

    /// A block was executed, of which the code is known.
    #[inline]
    fn runs(&mut self, block: &Block) {
        let goes_on = match self.next {
            Next::Anywhere => true,
            Next::Jumped => !self.switched,
            Next::At(address) => address == block.start,
        };
        if !goes_on {
            // Another thread took over, or a log leaves something out.
            self.lost();
        }
        self.next = if block.ended == Ended::Taken { Next::Jumped } else { Next::At(block.end) };
        self.switched = false;
        if !self.is_timed {
            self.tick(self.cycle + u64::from(block.count));
        }
        let entry = self.executed.block(block);
        self.entry(&entry);
    }

    fn tick(&mut self, cycle: u64) {
        self.cycle = cycle;
        self.executed.cycle(cycle);
        self.executed.time(cycle);
    }
}

impl<W: Write> Out<W> {
    #[inline]
    fn packet(&mut self, packet: &Packet, data: &mut Option<Companion>) {
        if let Some(data) = data {
            data.packet(packet, &mut |packet| self.data(packet));
        }
        self.traced.packets += 1;
        self.message(Content::Instruction(*packet));
    }

    fn data(&mut self, packet: &data::Packet) {
        self.traced.data_packets += 1;
        self.message(Content::Data(*packet));
    }

    #[inline]
    fn message(&mut self, content: Content) {
        let timestamp = self.has_timestamps.then_some(self.cycle);
        let message = Message { source: self.source, flow: 0, timestamp, content };
        if let Err(NoPayload(why)) = self.writer.message(&message, &mut self.bytes)
            && self.failed.is_ok()
        {
            let message = format!("a packet cannot be written with these parameters: {why}");
            self.failed = Err(io::Error::other(message));
        }
    }

    #[cold]
    fn write(&mut self) {
        self.traced.bytes += self.bytes.len() as u64;
        // After an error nothing is written: a hole would be read as something else.
        if self.failed.is_ok() {
            self.failed = self.to.write_all(&self.bytes);
        }
        self.bytes.clear();
    }
}

impl<W: Write> Sink for Tracer<W> {
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
        if let Some(&last) = cycles.last() {
            self.is_timed = true;
            self.tick(last);
        }
    }

    fn trap(&mut self, trap: &Trap) {
        let Trap { pc, cause, interrupt, value, .. } = *trap;
        self.next = Next::Anywhere;
        let entry = self.executed.trap(pc, cause, interrupt, value);
        self.entry(&entry);
    }

    fn lost(&mut self) {
        self.next = Next::Anywhere;
        let Self { encoder, data, out, .. } = self;
        encoder.halt(&mut |packet| out.packet(packet, data));
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.executed.privilege(privilege as u8);
    }

    fn context(&mut self, context: u64) {
        self.executed.context(context);
        self.switched = true;
    }
}

/// A tracer that does not ask for instructions: whoever tells what was executed has the code.
pub struct WithoutCode<W>(pub Tracer<W>);

impl<W: Write> Sink for WithoutCode<W> {
    const CYCLES: bool = true;

    #[inline]
    fn block(&mut self, block: &Block) {
        self.0.runs(block);
    }

    fn cycles(&mut self, cycles: &[u64]) {
        self.0.cycles(cycles);
    }

    fn trap(&mut self, trap: &Trap) {
        self.0.trap(trap);
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.0.privilege(privilege);
    }

    fn context(&mut self, context: u64) {
        self.0.context(context);
    }

    fn lost(&mut self) {
        self.0.lost();
    }
}

/// A tracer that asks for data.
pub struct WithData<W>(pub Tracer<W>);

impl<W: Write> Sink for WithData<W> {
    const CYCLES: bool = true;
    const DATA: bool = true;
    const INSTRUCTIONS: bool = true;

    fn instructions(&mut self, bits: &[u32]) {
        self.0.instructions(bits);
    }

    fn block(&mut self, block: &Block) {
        self.0.block(block);
    }

    fn data(&mut self, pc: u64, access: &DataAccess) {
        if let Some(data) = &mut self.0.data {
            data.access(pc, access);
        }
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
}
