use super::Rate;
use super::level::Level;

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
        self.peak = self.peak.max(self.level.parts());
    }

    /// Returns the size in bits of the smallest buffer that holds all packets so far. With one bit less, a packet
    /// would not fit.
    pub fn smallest(&self) -> u64 {
        self.level.bits_of(self.peak)
    }
}
