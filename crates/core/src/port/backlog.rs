use super::Rate;
use super::level::Level;

/// A buffer without a limit: tells the size of the smallest buffer that loses nothing, and for which no hart waits.
#[derive(Clone, Debug)]
pub struct Backlog {
    rate: Rate,
    level: Level,
    peak: u128,
}

impl Backlog {
    /// At this rate.
    pub fn new(rate: Rate) -> Self {
        Self { rate, level: Level::new(rate), peak: 0 }
    }

    /// The rate at which it empties.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// A packet of so many bits is made in this cycle. Cycles do not decrease: one that is over counts as the last.
    #[inline]
    pub fn add(&mut self, bits: u64, cycle: u64) {
        self.level.at(cycle);
        self.level.add(self.level.parts_of(bits));
        self.peak = self.peak.max(self.level.parts());
    }

    /// Bits of the smallest buffer into which all packets so far fit, each as a whole and in time. With one bit less, one of them does not.
    pub fn smallest(&self) -> u64 {
        self.level.bits_of(self.peak)
    }
}
