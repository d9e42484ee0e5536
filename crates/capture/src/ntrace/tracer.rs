//! Encodes what a hart executes, while it executes.

use std::io::{self, Write};

use tracewright_core::Block;
use tracewright_hart::{HartSink, Privilege, Trap};
use tracewright_ntrace::Params;
use tracewright_ntrace::encode::Encoder;
use tracewright_ntrace::packet::{MessageBytes, Packet, emit};

use super::Settings;
use crate::etrace::{Finished, Gather, HartTracer, Seen, TraceFile};
use crate::protocol::Traced;
use crate::sink::TraceSink;

/// Event with which tracing ends: it is switched off.
const TRACE_OFF: u8 = 4;

/// Encodes what a hart executes, and writes the trace.
pub struct Tracer<W> {
    encoder: Encoder,
    out: Out<W>,
    seen: Seen,
    /// Instructions so far. They are the time if nothing else tells it.
    instructions: u64,
    has_clock: bool,
}

/// Destination of messages.
struct Out<W> {
    params: Params,
    source: u16,
    to: Gather<W>,
    packets: u64,
}

impl<W: Write> Out<W> {
    fn packet(&mut self, packet: &Packet, timestamp: Option<u64>) {
        let mut bytes = MessageBytes::default();
        match emit(packet, self.source, timestamp, &self.params, &mut bytes) {
            Ok(()) => self.to.bytes.extend_from_slice(&bytes),
            Err(why) => {
                let message = format!("a message cannot be written with these parameters: {why}");
                self.to.to.write(|_| Err(io::Error::other(message)));
            }
        }
        self.packets += 1;
        self.to.check();
    }
}

impl<W: Write> Tracer<W> {
    /// Creates a tracer that writes to `to`.
    pub fn new(settings: &Settings, to: W) -> Self {
        let (params, source) = (settings.config.params.clone(), settings.id);
        Self {
            encoder: Encoder::new(settings.config.clone()),
            out: Out { params, source, to: Gather::new(to), packets: 0 },
            seen: Seen::new(),
            instructions: 0,
            has_clock: false,
        }
    }

    /// Sets the time of what comes next.
    pub fn time(&mut self, time: u64) {
        self.has_clock = true;
        self.encoder.time(time);
    }

    fn stop(&mut self) {
        let Self { encoder, out, .. } = self;
        encoder.stop(TRACE_OFF, &mut |packet, time| out.packet(packet, time));
    }
}

impl HartTracer for Tracer<TraceFile> {
    fn check(&self) -> Result<(), &io::Error> {
        self.out.to.to.failed.as_ref().copied()
    }

    fn time(&mut self, nanoseconds: u64) {
        Self::time(self, nanoseconds);
    }

    fn finish(mut self) -> io::Result<Finished<TraceFile>> {
        self.stop();
        let traced = Traced { bytes: self.bytes(), packets: Some(self.out.packets), ..Traced::default() };
        let (handlers, unfit) = (Default::default(), None);
        Ok(Finished { to: self.out.to.finish()?, delta: None, traced, seen: self.seen, handlers, unfit })
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
        let Self { encoder, out, .. } = self;
        if !self.has_clock {
            encoder.time(self.instructions);
            self.instructions += u64::from(block.count);
        }
        encoder.block(block, &mut |packet, time| out.packet(packet, time));
    }

    fn cycles(&mut self, cycles: &[u64]) {
        if let [first, ..] = *cycles {
            self.time(first);
        }
    }

    fn trap(&mut self, trap: &Trap) {
        let Self { encoder, out, .. } = self;
        encoder.trap(trap.pc, trap.interrupt, &mut |packet, time| out.packet(packet, time));
    }

    fn lost(&mut self) {
        self.stop();
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.encoder.privilege(privilege as u8, false);
    }

    fn context(&mut self, context: u64) {
        self.encoder.context(Some(context), None);
    }

    fn checkpoint(&mut self) {
        self.out.to.write();
    }
}

impl<W: Write> TraceSink for Tracer<W> {
    fn bytes(&self) -> u64 {
        self.out.to.written + self.out.to.bytes.len() as u64
    }
}
