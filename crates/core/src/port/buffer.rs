use super::{Port, Rate, WhenFull};

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
        let full = if fits { self.level.bits_of(self.level.parts) } else { self.port.bits };
        self.stats.peak = self.stats.peak.max(full);
        self.stats.packets += packets;
        self.stats.bits = self.stats.bits.saturating_add(bits);
        true
    }

    /// Empties the buffer, as if the port had all the time it needs.
    pub fn flush(&mut self) {
        self.level.parts = 0;
    }
}

/// A buffer without a limit. It measures the smallest buffer that neither loses a packet nor stalls a hart.
#[derive(Clone, Debug)]
pub struct Backlog {
    rate: Rate,
    level: Level,
    peak: u128,
}

impl Backlog {
    /// Creates an empty backlog that drains at `rate`.
    pub fn new(rate: Rate) -> Self {
        Self { rate, level: Level::new(rate), peak: 0 }
    }

    /// Returns the rate at which it drains.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Adds a packet of `bits` bits in `cycle`. A cycle before the last one counts as the last.
    #[inline]
    pub fn add(&mut self, bits: u64, cycle: u64) {
        self.level.at(cycle);
        self.level.add(self.level.parts_of(bits));
        self.peak = self.peak.max(self.level.parts);
    }

    /// Returns the size in bits of the smallest buffer that holds all packets so far. With one bit less, a packet
    /// would not fit.
    pub fn smallest(&self) -> u64 {
        self.level.bits_of(self.peak)
    }
}

/// The fill level of a buffer at a cycle.
///
/// The level is exact: it counts parts of a bit, of which a whole number leaves in each cycle. No number of bits and
/// cycles overflows it.
#[derive(Clone, Debug)]
struct Level {
    rate: Rate,
    parts: u128,
    cycle: u64,
}

impl Level {
    fn new(rate: Rate) -> Self {
        Self { rate, parts: 0, cycle: 0 }
    }

    /// Converts bits to parts.
    fn parts_of(&self, bits: u64) -> u128 {
        u128::from(bits) * u128::from(self.rate.cycles())
    }

    /// Converts parts to bits, rounded up.
    fn bits_of(&self, parts: u128) -> u64 {
        u64::try_from(parts.div_ceil(self.rate.cycles().into())).unwrap_or(u64::MAX)
    }

    /// Advances to `cycle` and returns the level after its bits have left. A cycle before the last one counts as the
    /// last.
    fn at(&mut self, cycle: u64) -> u128 {
        if cycle > self.cycle {
            self.pass(cycle - self.cycle);
            self.cycle = cycle;
        }
        self.parts
    }

    fn add(&mut self, parts: u128) {
        self.parts = self.parts.saturating_add(parts);
    }

    /// Waits until the level is at most `most`. Returns the number of cycles waited.
    fn wait_for(&mut self, most: u128) -> u64 {
        let over = self.parts.saturating_sub(most);
        let wait = u64::try_from(over.div_ceil(self.rate.bits().into())).unwrap_or(u64::MAX);
        self.pass(wait);
        self.cycle = self.cycle.saturating_add(wait);
        wait
    }

    fn pass(&mut self, cycles: u64) {
        self.parts = self.parts.saturating_sub(u128::from(self.rate.bits()) * u128::from(cycles));
    }
}
