use super::Rate;

/// The fill level of a buffer at a cycle.
///
/// The level is exact: it counts parts of a bit, of which a whole number leaves in each cycle. No number of bits and
/// cycles overflows it.
#[derive(Clone, Debug)]
pub(super) struct Level {
    rate: Rate,
    parts: u128,
    cycle: u64,
}

impl Level {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, parts: 0, cycle: 0 }
    }

    /// Converts bits to parts.
    pub(super) fn parts_of(&self, bits: u64) -> u128 {
        u128::from(bits) * u128::from(self.rate.cycles())
    }

    /// Converts parts to bits, rounded up.
    pub(super) fn bits_of(&self, parts: u128) -> u64 {
        u64::try_from(parts.div_ceil(self.rate.cycles().into())).unwrap_or(u64::MAX)
    }

    /// Advances to `cycle` and returns the level after its bits have left. A cycle before the last one counts as the
    /// last.
    pub(super) fn at(&mut self, cycle: u64) -> u128 {
        if cycle > self.cycle {
            self.pass(cycle - self.cycle);
            self.cycle = cycle;
        }
        self.parts
    }

    pub(super) fn parts(&self) -> u128 {
        self.parts
    }

    pub(super) fn add(&mut self, parts: u128) {
        self.parts = self.parts.saturating_add(parts);
    }

    pub(super) fn empty(&mut self) {
        self.parts = 0;
    }

    /// Waits until the level is at most `most`. Returns the number of cycles waited.
    pub(super) fn wait_for(&mut self, most: u128) -> u64 {
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
