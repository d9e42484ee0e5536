//! Watches the port of the delta trace, which is separate from that of E-Trace.

use tracewright_core::port::Stats;
use tracewright_delta::{AtPort, Decoder, DeltaSink, Encoder, Lost, Off, Out, Run, Span, Sync};

use crate::port::{PortCounts, PortRequest, Report};

/// A watched port.
pub struct Port {
    counts: PortCounts,
    limited: Option<Box<Limited>>,
}

/// A buffer of some size.
struct Limited {
    at: AtPort,
    /// Cycles that the hart had waited for it when the current block ran.
    waited: u64,
    /// Encoder of the lossless trace.
    whole: Encoder,
    /// Decoder of what went through, which counts the instructions that a reader gets.
    reader: Decoder,
    told: Told,
    /// Packets and bits so far: of the lossless trace, and of what went through.
    all: (u64, u64),
    passed: (u64, u64),
}

/// Takes the packets of the lossless trace, of which only the sizes matter.
struct Sizes<'a>(&'a mut PortCounts);

impl Out for Sizes<'_> {
    fn packet(&mut self, cycle: u64, bytes: &[u8]) {
        self.0.add((1, 8 * bytes.len() as u64), cycle);
    }
}

/// Counts instructions.
#[derive(Debug, Default)]
struct Told(u64);

impl DeltaSink for Told {
    fn sync(&mut self, _: u64, _: &Sync) {}

    fn run(&mut self, run: Run) {
        self.0 += run.retired();
    }

    fn span(&mut self, span: Span) {
        self.0 += span.retired;
    }

    fn off(&mut self, _: u64, _: Off) {}

    fn lost(&mut self, _: Lost) {}
}

impl Port {
    /// Watches the requested port. `encoder` must be new.
    pub fn new(asked: PortRequest, encoder: &Encoder) -> Self {
        let limited = asked.limited.map(|port| {
            Box::new(Limited {
                at: AtPort::new(port),
                waited: 0,
                whole: encoder.clone(),
                reader: Decoder::new(),
                told: Told::default(),
                all: (0, 0),
                passed: (0, 0),
            })
        });
        Self { counts: PortCounts::new(asked), limited }
    }

    /// Returns the cycles that the hart waited.
    pub fn waited(&self) -> u64 {
        self.limited.as_ref().map_or(0, |limited| limited.at.stats().stall_cycles)
    }

    /// Returns whether packets are being lost: a sync is needed.
    pub fn is_lost(&self) -> bool {
        self.limited.as_ref().is_some_and(|limited| limited.at.is_lost())
    }

    /// Takes a block, whose [packets](Self::packet) follow. `is_synchronised` is set if E-Trace synchronises in the lossless trace.
    pub fn block(&mut self, address: u64, cycles: &[u64], is_synchronised: bool, waited: u64) {
        let Some(limited) = &mut self.limited else { return };
        limited.waited = waited;
        if is_synchronised {
            limited.whole.request_sync();
        }
        // The other encoder reports what cannot be encoded.
        let _ = limited.whole.block(address, cycles, &mut Sizes(&mut self.counts));
    }

    /// Stops tracing.
    pub fn off(&mut self) {
        if let Some(limited) = &mut self.limited {
            limited.whole.finish(&mut Sizes(&mut self.counts));
        }
    }

    /// Takes a packet that is ready in this cycle. Appends what went through to `to`.
    pub fn packet(&mut self, cycle: u64, bytes: &[u8], to: &mut Vec<u8>) {
        let Some(limited) = &mut self.limited else {
            Sizes(&mut self.counts).packet(cycle, bytes);
            return to.extend_from_slice(bytes);
        };
        // The buffer counts how long the hart waits for it, and adds that itself.
        limited.at.packet(cycle.saturating_sub(limited.waited), bytes);
        limited.pass(to);
    }

    /// Counts losses, after all packets of a block or of the end.
    pub fn after(&mut self) {
        let Some(limited) = &mut self.limited else { return };
        let Stats { packets, bits, .. } = *limited.at.stats();
        let (all, passed) = ((self.counts.packets, self.counts.bits), (packets, bits));
        let since = |now: (u64, u64), before: (u64, u64)| (now.0 - before.0, now.1 - before.1);
        let is_lost = limited.at.is_lost();
        self.counts.lose(since(all, limited.all), since(passed, limited.passed), is_lost);
        (limited.all, limited.passed, self.counts.was_lost) = (all, passed, is_lost);
    }

    /// Ends the trace.
    pub fn finish(&mut self, to: &mut Vec<u8>) {
        let Some(limited) = &mut self.limited else { return };
        limited.at.finish();
        limited.pass(to);
        limited.reader.finish(&mut limited.told);
    }

    /// Returns the report, after this many instructions and cycles.
    pub fn report(&self, instructions: u64, mut cycles: u64) -> Report {
        let (mut stats, mut counts) = (Stats::default(), self.counts.clone());
        if let Some(limited) = &self.limited {
            stats = *limited.at.stats();
            counts.gaps.losses = stats.refused;
            counts.gaps.instructions = instructions.saturating_sub(limited.told.0);
            // Without waiting.
            cycles = limited.whole.cycle().saturating_sub(1);
        }
        // The packet that ends the trace counts as one of the last cycle.
        counts.cycles = cycles;
        Report::new(&counts, stats).of(instructions, true)
    }
}

impl Limited {
    fn pass(&mut self, to: &mut Vec<u8>) {
        self.reader.feed(&self.at.bytes, &mut self.told);
        to.append(&mut self.at.bytes);
    }
}
