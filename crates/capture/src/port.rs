//! The trace port, for all encoders: what is asked for, and what is found out.
//!
//! How large the buffer must be is found from the trace that loses nothing. Where a smaller buffer is asked for, what comes through it is
//! another trace (packets are lost, or later), so a second encoder makes the whole one beside it ([`Sizing`]).

use tracewright_core::port::{Backlog, Port, Rate, Stats, WhenFull};

use crate::Remark;

/// The port that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRequest {
    /// Bits a cycle.
    pub rate: Rate,
    /// The port with its buffer, if the buffer is limited. Otherwise it is as large as it has to be.
    pub limited: Option<Port>,
}

impl PortRequest {
    /// Returns a remark if the buffer is too small to begin anew after a loss, for which an encoder needs `needs` bits.
    pub fn remark(&self, needs: u64) -> Option<Remark> {
        let Port { bits, when_full, .. } = self.limited?;
        (bits < needs && when_full == WhenFull::Drop).then_some(Remark::SmallBuffer { bits, needs })
    }
}

/// What is lost at a port: what ran from one instruction that a reader still knows of to the one where it begins anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// How often packets were lost.
    pub losses: u64,
    /// Instructions that ran and are not in the trace for that.
    pub instructions: u64,
    /// Packets that the whole trace has for them.
    pub packets: u64,
    /// Their bits.
    pub bits: u64,
    /// Instructions that had run where the last loss began, if it goes on.
    since: Option<u64>,
}

impl Gaps {
    /// Packets are lost. Instructions that a reader knows of.
    pub fn begin(&mut self, told: u64) {
        self.losses += 1;
        self.since = Some(told);
    }

    /// Ends a loss after so many instructions have run. Does nothing if nothing was lost.
    pub fn end(&mut self, ran: u64) {
        if let Some(since) = self.since.take() {
            self.instructions += ran.saturating_sub(since);
        }
    }

    /// Returns whether the last loss goes on.
    #[cfg(test)]
    pub fn is_open(&self) -> bool {
        self.since.is_some()
    }

    /// Takes what the whole trace has for something that is lost, and what was made of it at the port: packets and bits. If what came before
    /// was lost, too, tracing goes on here, and what is made anew is of what follows.
    pub fn lose(&mut self, all: (u64, u64), made: (u64, u64), was_lost: bool) {
        let made = if was_lost { (0, 0) } else { made };
        self.packets += all.0.saturating_sub(made.0);
        self.bits += all.1.saturating_sub(made.1);
    }

    /// Adds what is lost at another port.
    pub fn merge(&mut self, other: &Self) {
        self.losses += other.losses;
        self.instructions += other.instructions;
        self.packets += other.packets;
        self.bits += other.bits;
    }
}

/// Rates that are always told of, besides the one that is asked for.
const RATES: [(u32, u32); 7] = [(1, 4), (1, 2), (1, 1), (2, 1), (4, 1), (8, 1), (16, 1)];

/// So many rates.
const COUNT: usize = RATES.len() + 1;

/// Finds out how large a buffer has to be, for several rates at once. Takes the packets of the trace that loses nothing.
#[derive(Clone, Debug)]
pub struct Sizing {
    /// The first is at the rate that is asked for.
    backlogs: [Backlog; COUNT],
    /// Packets so far.
    pub packets: u64,
    /// Their bits.
    pub bits: u64,
    /// The cycle of the last.
    pub cycles: u64,
}

impl Sizing {
    /// Looks at this rate, and at those that are always told of.
    pub fn new(rate: Rate) -> Self {
        let backlogs = std::array::from_fn(|at| {
            let of_table = at.checked_sub(1).and_then(|at| Rate::new(RATES[at].0, RATES[at].1));
            Backlog::new(of_table.unwrap_or(rate))
        });
        Self { backlogs, packets: 0, bits: 0, cycles: 0 }
    }

    /// Adds packets that are made in this cycle, of so many bits together.
    pub fn add(&mut self, packets: u64, bits: u64, cycle: u64) {
        self.cycles = self.cycles.max(cycle);
        if bits > 0 {
            self.packets += packets;
            self.bits += bits;
            self.backlogs.iter_mut().for_each(|backlog| backlog.add(bits, cycle));
        }
    }

    /// Returns the smallest buffer that loses nothing, for each rate.
    fn smallest(&self) -> [(Rate, u64); COUNT] {
        self.backlogs.each_ref().map(|backlog| (backlog.rate(), backlog.smallest()))
    }
}

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
