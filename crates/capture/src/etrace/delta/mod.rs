//! Retirement-delta trace beside E-Trace: the cycle in which each instruction retired.
//!
//! It holds only traced instructions. Where E-Trace synchronises with an instruction (a start packet, or a trap packet with the address of
//! the handler), the delta trace has a sync with that instruction's address and the cycle in which it retired, which is the time in that
//! packet. E-Trace emits the packet one entry late, so a block waits here for the next one.

mod port;
mod spec;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use tracewright_core::Block;
use tracewright_delta::{AROUND, Config, Encoder, Out, Packing, Refused};
use tracewright_etrace::packet::{Packet, Trap};

pub use self::spec::{DeltaSettings, HELP, config, of_log};

use self::port::Port;
use super::{Gather, Settings};
use crate::port::Report;

/// Bits that a buffer must hold so that a port can resume after a loss, and pass a packet: those of the longest sync (30 bytes of numbers),
/// and of the packet before it that reports the loss.
pub const LEAST: u64 = 8 * (AROUND as u64 + 5 + 5 + 30 + AROUND as u64);

/// Encodes the cycles in which instructions retire, and writes the trace.
pub(crate) struct Delta<W> {
    encoder: Encoder,
    out: Outlet<W>,
    /// See [`DeltaSettings::is_gapless`].
    pub is_gapless: bool,
    /// Cycles of the block to come.
    cycles: Vec<u64>,
    waiting: Waiting,
    untimed: u64,
    refused: Option<Refused>,
}

/// The last block. Only with the next one is it known whether E-Trace synchronises with its first instruction.
#[derive(Debug, Default)]
struct Waiting {
    address: u64,
    /// Cycles of its instructions; empty if there is no such block.
    cycles: Vec<u64>,
    /// Cycles that the hart had waited before it ran: for all ports, and for that of the delta trace.
    waited: (u64, u64),
}

/// Totals of a delta trace.
#[derive(Clone, Copy, Debug)]
pub struct DeltaTraced {
    /// Its format.
    pub config: Config,
    /// Number of bytes written.
    pub bytes: u64,
    /// Number of bytes that are in the file.
    pub kept: u64,
    /// Instructions that it holds.
    pub instructions: u64,
    /// Instructions whose cycle is not known.
    pub untimed: u64,
    /// Why the delta trace ends early, if it does.
    pub refused: Option<Refused>,
    /// Report on its port, if there is one.
    pub port: Option<Report>,
}

/// Destination of packets.
struct Outlet<W> {
    port: Option<Box<Port>>,
    to: Gather<W>,
}

/// Returns whether this packet synchronises with an instruction and has its address.
pub fn synchronises(packet: &Packet) -> bool {
    matches!(packet, Packet::Start(_) | Packet::Trap(Trap { thaddr: true, .. }))
}

/// Returns the packet sizes for a file, a ring or a port.
fn packing(settings: &Settings) -> Packing {
    let usual = Packing::default();
    match settings.ring {
        // A ring always holds some syncs.
        Some(ring) => {
            let part = |divisor: u64, most: u64| (ring / divisor).clamp(16, most);
            Packing { payload: part(16, usual.payload.into()) as u8, sync: part(8, usual.sync.into()) as u32 }
        }
        // A packet that is larger than the buffer never fits.
        None if settings.port.is_some() => Packing { payload: 32, ..usual },
        None => usual,
    }
}

impl<W: Write> Delta<W> {
    /// Creates an encoder that writes to `to`, if delta trace is requested.
    pub fn new(settings: &Settings, to: W) -> Option<Self> {
        let DeltaSettings { config, is_gapless } = settings.delta?;
        // The settings were checked.
        let encoder = Encoder::new(config, packing(settings)).ok()?;
        let port = settings.port.map(|asked| Box::new(Port::new(asked, &encoder)));
        let out = Outlet { port, to: Gather::new(to) };
        let (cycles, waiting) = (Vec::new(), Waiting::default());
        Some(Self { encoder, out, is_gapless, cycles, waiting, untimed: 0, refused: None })
    }

    /// Returns the cycles that the hart waited for the port of the delta trace.
    pub fn waited(&self) -> u64 {
        self.out.port.as_ref().map_or(0, |port| port.waited())
    }

    /// Sets the cycles of the block to come.
    #[inline]
    pub fn cycles(&mut self, cycles: &[u64]) {
        self.cycles.clear();
        self.cycles.extend_from_slice(cycles);
    }

    /// Takes a block that retired, after the one before it [was settled](Self::settle). The hart had waited `waited` cycles for all ports.
    pub fn block(&mut self, block: &Block, waited: u64) {
        if self.cycles.len() != block.count as usize {
            self.untimed += u64::from(block.count);
            self.cycles.clear();
            return self.off();
        }
        core::mem::swap(&mut self.cycles, &mut self.waiting.cycles);
        self.waiting.address = block.start;
        self.waiting.waited = (waited, self.waited());
    }

    /// Settles the last block, if there is one: whether E-Trace synchronises with its first instruction, and whether it would if nothing
    /// were lost at a port.
    pub fn settle(&mut self, is_synchronised: bool, without_losses: bool) {
        let Waiting { address, cycles, waited } = &mut self.waiting;
        if cycles.is_empty() {
            return;
        }
        if self.refused.is_some() {
            return cycles.clear();
        }
        if let Some(port) = &mut self.out.port {
            port.block(*address, cycles, without_losses, waited.1);
            if port.is_lost() {
                self.encoder.request_sync();
            }
            // Time goes on while the hart waits for a buffer.
            cycles.iter_mut().for_each(|cycle| *cycle = cycle.saturating_add(waited.0));
        }
        if is_synchronised {
            self.encoder.request_sync();
        }
        self.refused = self.encoder.block(*address, cycles, &mut self.out).err();
        cycles.clear();
        if self.refused.is_some() {
            self.off();
        }
        self.out.after();
    }

    /// Ends a stretch of trace: instructions that come before the next block are not traced.
    pub fn off(&mut self) {
        if let Some(port) = &mut self.out.port {
            port.off();
        }
        self.encoder.finish(&mut self.out);
        self.out.after();
    }

    /// Writes the gathered bytes.
    pub fn write(&mut self) {
        self.out.to.write();
    }

    /// Ends the trace, of which all blocks were settled. Returns the writer and the totals.
    pub fn finish(mut self) -> (io::Result<W>, DeltaTraced) {
        // For a whole run this is the last cycle.
        let last = self.encoder.cycle().saturating_sub(1);
        self.off();
        let Outlet { port, mut to } = self.out;
        let instructions = self.encoder.retired();
        let port = port.map(|mut port| {
            port.finish(&mut to.bytes);
            port.report(instructions, last)
        });
        to.write();
        let traced = DeltaTraced {
            config: *self.encoder.config(),
            bytes: to.written,
            kept: to.written,
            instructions,
            untimed: self.untimed,
            refused: self.refused,
            port,
        };
        (to.finish(), traced)
    }
}

impl<W: Write> Out for Outlet<W> {
    fn packet(&mut self, cycle: u64, bytes: &[u8]) {
        match &mut self.port {
            None => self.to.bytes.extend_from_slice(bytes),
            Some(port) => port.packet(cycle, bytes, &mut self.to.bytes),
        }
        self.to.check();
    }
}

impl<W: Write> Outlet<W> {
    /// Called after all packets of a block.
    fn after(&mut self) {
        if let Some(port) = &mut self.port {
            port.after();
        }
    }
}

impl DeltaTraced {
    /// Returns the bits per instruction.
    pub fn bits(&self) -> f64 {
        8.0 * self.bytes as f64 / self.instructions.max(1) as f64
    }
}
