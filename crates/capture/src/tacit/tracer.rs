//! Encodes what a hart executes, while it executes.

use std::io::{self, Write};

use tracewright_core::{Block, Ended, Flow};
use tracewright_hart::{HartSink, Privilege, Trap};
use tracewright_tacit::encode::Encoder;
use tracewright_tacit::packet::{Packet, PacketBytes, emit};
use tracewright_tacit::{Form, Params};

use super::Settings;
use crate::etrace::{Finished, Gather, HartTracer, Seen, TraceFile};
use crate::protocol::Traced;
use crate::sink::TraceSink;

/// Encodes what a hart executes, and writes the trace.
pub struct Tracer<W> {
    encoder: Encoder,
    out: Out<W>,
    seen: Seen,
    /// Cycle in which the last instruction retired. Without a timing model, each takes one.
    cycle: u64,
    /// Cycles of the first and the last instruction of the next block, if a timing model tells them.
    timed: Option<(u64, u64)>,
    /// The last block, and the bits of its last instruction, since the last trap.
    last: Option<(Block, u32)>,
    bits: u32,
}

/// Destination of packets.
struct Out<W> {
    params: Params,
    to: Gather<W>,
    packets: u64,
}

impl<W: Write> Out<W> {
    fn packet(&mut self, packet: &Packet) {
        let mut bytes = PacketBytes::default();
        emit(packet, &self.params, &mut bytes);
        self.to.bytes.extend_from_slice(&bytes);
        self.packets += 1;
        self.to.check();
    }
}

impl<W: Write> Tracer<W> {
    /// Creates a tracer that writes to `to`.
    pub fn new(settings: &Settings, to: W) -> Self {
        let params = settings.config.params.clone();
        Self {
            encoder: Encoder::new(settings.config.clone()),
            out: Out { params, to: Gather::new(to), packets: 0 },
            seen: Seen::new(),
            cycle: 0,
            timed: None,
            last: None,
            bits: 0,
        }
    }

    fn stop(&mut self) {
        let next = self.last.take().and_then(|(block, bits)| target(&block, bits));
        let Self { encoder, out, .. } = self;
        encoder.stop(next, &mut |packet| out.packet(packet));
    }

    /// Fails if the trace cannot have this address.
    #[inline]
    fn check_address(&mut self, address: u64) {
        let (params, isa) = (&self.out.params, self.encoder.config().isa);
        if params.whole(address, isa) != address {
            let bits = params.address_bits;
            let message = format!("code at {address:#x} needs more than address_bits={bits}");
            self.out.to.to.write(|_| Err(io::Error::other(message)));
        }
    }
}

/// Returns where the branch at the end of a block went, if it was taken and the instruction tells.
fn target(block: &Block, bits: u32) -> Option<u64> {
    let bytes = bits.to_le_bytes();
    let last = tracewright_isa::decode(block.isa, block.last(), &bytes, &mut Default::default())?;
    let is_direct =
        block.ended == Ended::Taken && last.class.flow == Flow::Direct && last.len == block.last_len;
    is_direct.then_some(last.target)
}

impl HartTracer for Tracer<TraceFile> {
    fn check(&self) -> Result<(), &io::Error> {
        self.out.to.to.failed.as_ref().copied()
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
        self.bits = bits.last().copied().unwrap_or(self.bits);
    }

    #[inline]
    fn block(&mut self, block: &Block) {
        self.seen.block(block);
        self.check_address(block.start);
        let untimed = (self.cycle + 1, self.cycle + u64::from(block.count));
        let (first, last) = self.timed.take().unwrap_or(untimed);
        let Self { encoder, out, .. } = self;
        if !encoder.is_on() {
            encoder.time(first);
        }
        encoder.block(block, last, &mut |packet| out.packet(packet));
        self.cycle = last;
        self.last = Some((*block, self.bits));
    }

    fn cycles(&mut self, cycles: &[u64]) {
        self.timed = cycles.first().copied().zip(cycles.last().copied());
    }

    fn trap(&mut self, trap: &Trap) {
        self.last = None;
        let Self { encoder, out, .. } = self;
        encoder.trap(trap.pc, trap.interrupt, &mut |packet| out.packet(packet));
    }

    fn lost(&mut self) {
        self.stop();
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.encoder.privilege(privilege as u8);
    }

    fn context(&mut self, context: u64) {
        let bits = self.out.params.asid_bits;
        if self.out.params.form == Form::Plain {
            return;
        }
        if context >> bits != 0 {
            let message = format!("context {context} needs more than asid_bits={bits}");
            self.out.to.to.write(|_| Err(io::Error::other(message)));
        }
        self.encoder.address_space(context);
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
