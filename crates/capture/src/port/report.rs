use tracewright_core::port::{Rate, Stats};

use super::sizing::COUNT;
use super::{Gaps, PortRequest, Sizing};

/// What is known of a port at the end; of several, all together.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// The port that is asked for.
    pub asked: PortRequest,
    /// How many ports there are: one for each thread.
    pub ports: u64,
    /// Packets of the trace that loses nothing.
    pub packets: u64,
    /// Their bits.
    pub bits: u64,
    /// Cycles that the run took without waiting.
    pub cycles: u64,
    /// Instructions that ran.
    pub instructions: u64,
    /// Whether each instruction counts as a cycle.
    pub is_untimed: bool,
    /// The smallest buffer that loses nothing; of several ports, the largest.
    smallest: [(Rate, u64); COUNT],
    /// What happened at the buffer that is limited.
    pub stats: Stats,
    /// What was lost there.
    pub gaps: Gaps,
}

impl Report {
    /// Returns the report of one port.
    pub fn new(asked: PortRequest, sizing: &Sizing, stats: Stats, gaps: Gaps) -> Self {
        Self {
            asked,
            ports: 1,
            packets: sizing.packets,
            bits: sizing.bits,
            cycles: sizing.cycles,
            instructions: 0,
            is_untimed: false,
            smallest: sizing.smallest(),
            stats,
            gaps,
        }
    }

    /// Adds how many instructions ran, and whether there was a clock.
    #[must_use]
    pub fn of(self, instructions: u64, is_timed: bool) -> Self {
        Self { instructions, is_untimed: !is_timed, ..self }
    }

    /// Adds another port.
    pub fn merge(&mut self, other: &Self) {
        self.ports += other.ports;
        self.packets += other.packets;
        self.bits += other.bits;
        self.cycles += other.cycles;
        self.instructions += other.instructions;
        self.is_untimed |= other.is_untimed;
        for ((_, smallest), (_, others)) in self.smallest.iter_mut().zip(other.smallest) {
            *smallest = others.max(*smallest);
        }
        let Stats { packets, bits, peak, stall_cycles, refused } = other.stats;
        self.stats.packets += packets;
        self.stats.bits += bits;
        self.stats.peak = self.stats.peak.max(peak);
        self.stats.stall_cycles += stall_cycles;
        self.stats.refused += refused;
        self.gaps.merge(&other.gaps);
    }

    /// Returns the report of several ports together.
    pub fn all(reports: impl IntoIterator<Item = Self>) -> Option<Self> {
        reports.into_iter().reduce(|mut one, other| {
            one.merge(&other);
            one
        })
    }

    /// Returns the smallest buffer that loses nothing, in bits, at the rate that is asked for.
    pub fn smallest(&self) -> u64 {
        self.smallest[0].1
    }

    /// Returns how much slower the program is for waiting, in percent.
    pub fn slowdown(&self) -> f64 {
        100.0 * self.stats.stall_cycles as f64 / self.cycles.max(1) as f64
    }

    /// Returns all rates with their smallest buffers, each rate once, in order.
    pub fn table(&self) -> Vec<(Rate, u64)> {
        let mut table = self.smallest.to_vec();
        table.sort_by_key(|(rate, _)| {
            u128::from(rate.bits()) * u128::from(u32::MAX) / u128::from(rate.cycles())
        });
        table.dedup_by_key(|(rate, _)| *rate);
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rate_is_told_once() {
        let rate = Rate::new(1, 2).unwrap();
        let report = Report::new(
            PortRequest { rate, limited: None },
            &Sizing::new(rate),
            Stats::default(),
            Gaps::default(),
        );
        let rates: Vec<_> = report.table().iter().map(|(rate, _)| rate.to_string()).collect();
        assert_eq!(rates, ["1/4", "1/2", "1", "2", "4", "8", "16"]);
    }
}
