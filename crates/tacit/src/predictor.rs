//! Branch predictor that encoder and decoder run alike (mode predict).

use crate::Params;
use crate::params::ENTRIES;

/// Table of two-bit counters, one for each branch address modulo its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predictor {
    counters: [u8; ENTRIES[1] as usize],
    mask: u16,
}

/// Counter at the start: weakly not taken.
const START: u8 = 1;
/// Least counter that predicts a taken branch.
const TAKEN: u8 = 2;
/// Largest counter.
const MOST: u8 = 3;

impl Predictor {
    pub fn new(params: &Params) -> Self {
        Self { counters: [START; ENTRIES[1] as usize], mask: params.entries.wrapping_sub(1) }
    }

    /// Returns the counter of the branch at `pc`.
    #[inline(always)]
    pub fn slot(&self, pc: u64) -> u16 {
        (pc >> 1) as u16 & self.mask
    }

    /// Returns whether a branch is predicted to be taken.
    #[inline(always)]
    pub fn predicts(&self, slot: u16) -> bool {
        self.counters[usize::from(slot) % self.counters.len()] >= TAKEN
    }

    /// Learns whether a branch was taken.
    #[inline(always)]
    pub fn learn(&mut self, slot: u16, taken: bool) {
        let len = self.counters.len();
        let counter = &mut self.counters[usize::from(slot) % len];
        *counter = if taken { (*counter + 1).min(MOST) } else { counter.saturating_sub(1) };
    }

    /// Forgets all.
    pub fn reset(&mut self) {
        self.counters.fill(START);
    }
}
