use super::level::Level;
use super::{Port, WhenFull};

/// A buffer of limited size.
#[derive(Clone, Debug)]
pub struct Buffer {
    port: Port,
    level: Level,
    stats: Stats,
}

/// Statistics of a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Number of packets accepted.
    pub packets: u64,
    /// Number of bits accepted.
    pub bits: u64,
    /// Greatest fill level, in bits.
    pub peak: u64,
    /// Cycles for which the hart was stalled.
    pub stall_cycles: u64,
    /// Number of times that packets did not fit.
    pub refused: u64,
}

impl Buffer {
    /// Creates an empty buffer at cycle 0.
    pub fn new(port: Port) -> Self {
        Self { port, level: Level::new(port.rate), stats: Stats::default() }
    }

    /// Returns the parameters of the buffer.
    pub fn port(&self) -> &Port {
        &self.port
    }

    /// Returns the statistics so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Returns whether `bits` bits fit in this cycle of the hart without a stall. A cycle before the last one counts
    /// as the last.
    pub fn has_room(&mut self, bits: u64, cycle: u64) -> bool {
        // The clock of the hart stands still during a stall.
        let level = self.level.at(cycle.saturating_add(self.stats.stall_cycles));
        level.saturating_add(self.level.parts_of(bits)) <= self.level.parts_of(self.port.bits)
    }

    /// Accepts a packet of `bits` bits made in this cycle of the hart, if it fits or the hart stalls. Returns whether
    /// it was accepted.
    pub fn take(&mut self, bits: u64, cycle: u64) -> bool {
        self.take_all(1, bits, cycle)
    }

    /// Accepts packets with `bits` bits in total, all or none.
    pub fn take_all(&mut self, packets: u64, bits: u64, cycle: u64) -> bool {
        let fits = self.has_room(bits, cycle);
        if !fits && self.port.when_full == WhenFull::Drop {
            self.stats.refused += 1;
            return false;
        }
        self.level.add(self.level.parts_of(bits));
        if !fits {
            let waited = self.level.wait_for(self.level.parts_of(self.port.bits));
            self.stats.stall_cycles = self.stats.stall_cycles.saturating_add(waited);
        }
        // During a stall, the buffer is full.
        let full = if fits { self.level.bits_of(self.level.parts()) } else { self.port.bits };
        self.stats.peak = self.stats.peak.max(full);
        self.stats.packets += packets;
        self.stats.bits = self.stats.bits.saturating_add(bits);
        true
    }

    /// Empties the buffer, as if the port had all the time it needs.
    pub fn flush(&mut self) {
        self.level.empty();
    }
}
