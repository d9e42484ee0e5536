//! Retirement-delta trace beside E-Trace: in which cycle each instruction retired.
//!
//! It holds the instructions that are traced, no others. Where E-Trace synchronises with an instruction (a start packet, or a trap packet with the
//! address of the handler), the delta trace has a sync: of that instruction, with its address, and with the cycle in which it retired, which is
//! the time in that packet. E-Trace tells so one entry late, so blocks wait here for the next one.

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

/// Bits that a buffer must hold so that a port can begin anew after a loss, and pass a packet: those of the longest sync (30 bytes of numbers),
/// and of the packet before it that tells of the loss.
pub const LEAST: u64 = 8 * (AROUND as u64 + 5 + 5 + 30 + AROUND as u64);

/// Encodes in which cycles instructions retire, and writes it.
pub(crate) struct Delta<W> {
    encoder: Encoder,
    out: Outlet<W>,
    /// As [`DeltaSettings`] have it.
    pub is_gapless: bool,
    /// Cycles of the block to come.
    cycles: Vec<u64>,
    waiting: Waiting,
    untimed: u64,
    refused: Option<Refused>,
}

/// The block that came last: with the next one it is known whether E-Trace synchronises with its first instruction.
#[derive(Debug, Default)]
struct Waiting {
    address: u64,
    /// None: there is no such block.
    cycles: Vec<u64>,
    /// How long the hart had waited before it ran: for all ports, and for that of the delta trace.
    waited: (u64, u64),
}

/// Totals of a delta trace.
#[derive(Clone, Copy, Debug)]
pub struct DeltaTraced {
    /// What it is made with.
    pub config: Config,
    /// Bytes that were written.
    pub bytes: u64,
    /// How many of them are in the file.
    pub kept: u64,
    /// Instructions of which it tells.
    pub instructions: u64,
    /// Instructions of which nobody told the cycle.
    pub untimed: u64,
    /// What could not be told: the delta trace ends before it.
    pub refused: Option<Refused>,
    /// What is known of its port, if there is one.
    pub port: Option<Report>,
}

/// Where packets go.
struct Outlet<W> {
    port: Option<Box<Port>>,
    to: Gather<W>,
}

/// Returns whether E-Trace synchronises with an instruction, of which this packet has the address.
pub fn synchronises(packet: &Packet) -> bool {
    matches!(packet, Packet::Start(_) | Packet::Trap(Trap { thaddr: true, .. }))
}

/// How packets are made for a file, a ring of so many bytes, or a port.
fn packing(settings: &Settings) -> Packing {
    let usual = Packing::default();
    match settings.ring {
        // Some syncs are always in there.
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
    /// Writes to `to`, if that is asked for.
    pub fn new(settings: &Settings, to: W) -> Option<Self> {
        let DeltaSettings { config, is_gapless } = settings.delta?;
        // The settings were checked.
        let encoder = Encoder::new(config, packing(settings)).ok()?;
        let port = settings.port.map(|asked| Box::new(Port::new(asked, &encoder)));
        let out = Outlet { port, to: Gather::new(to) };
        let (cycles, waiting) = (Vec::new(), Waiting::default());
        Some(Self { encoder, out, is_gapless, cycles, waiting, untimed: 0, refused: None })
    }

    /// Cycles that the hart waited for the port of the delta trace.
    pub fn waited(&self) -> u64 {
        self.out.port.as_ref().map_or(0, |port| port.waited())
    }

    /// Cycles of the block to come.
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

    /// Settles the block that came last, if one did: whether E-Trace synchronises with its first instruction, and whether it would if nothing
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
            // The clock that others look at does not stand still while the hart waits.
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

    /// Writes what was gathered.
    pub fn write(&mut self) {
        self.out.to.write();
    }

    /// Ends the trace, of which all blocks were settled. Returns the writer and the totals.
    pub fn finish(mut self) -> (io::Result<W>, DeltaTraced) {
        // Of a whole run this says its last cycle.
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
    /// After all packets of a block.
    fn after(&mut self) {
        if let Some(port) = &mut self.port {
            port.after();
        }
    }
}

impl DeltaTraced {
    /// Bits for each instruction.
    pub fn bits(&self) -> f64 {
        8.0 * self.bytes as f64 / self.instructions.max(1) as f64
    }
}
