use super::level::Level;
use super::{Port, WhenFull};

/// The buffer at work.
#[derive(Clone, Debug)]
pub struct Buffer {
    port: Port,
    level: Level,
    stats: Stats,
}

/// What happened at a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Packets that were taken.
    pub packets: u64,
    /// Their bits.
    pub bits: u64,
    /// How full the buffer was at most, in bits.
    pub peak: u64,
    /// Cycles that the hart waited.
    pub stall_cycles: u64,
    /// How often something did not fit.
    pub refused: u64,
}

impl Buffer {
    /// An empty buffer, at cycle 0.
    pub fn new(port: Port) -> Self {
        Self { port, level: Level::new(port.rate), stats: Stats::default() }
    }

    /// What it is.
    pub fn port(&self) -> &Port {
        &self.port
    }

    /// What happened so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Whether so many bits would fit in this cycle of the hart, without waiting. A cycle that is over counts as the last.
    pub fn has_room(&mut self, bits: u64, cycle: u64) -> bool {
        // The hart's clock stands still while it waits.
        let level = self.level.at(cycle.saturating_add(self.stats.stall_cycles));
        level.saturating_add(self.level.parts_of(bits)) <= self.level.parts_of(self.port.bits)
    }

    /// Takes a packet of so many bits that is made in this cycle of the hart, if it fits or the hart waits. Says whether it is in.
    pub fn take(&mut self, bits: u64, cycle: u64) -> bool {
        self.take_all(1, bits, cycle)
    }

    /// The same for packets that fit all or not at all, with so many bits together.
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
        // While the hart waits, the buffer is full.
        let full = if fits { self.level.bits_of(self.level.parts()) } else { self.port.bits };
        self.stats.peak = self.stats.peak.max(full);
        self.stats.packets += packets;
        self.stats.bits = self.stats.bits.saturating_add(bits);
        true
    }

    /// The port has all the time it needs: the buffer is empty.
    pub fn flush(&mut self) {
        self.level.empty();
    }
}
