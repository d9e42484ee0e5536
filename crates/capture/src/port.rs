//! The trace port, for all encoders: requests and reports.
//!
//! [`PortCounts`] compute the smallest buffer from the lossless trace. If a smaller buffer is requested, the trace that comes through it
//! differs (packets are lost or delayed), so a second encoder makes the lossless trace beside it.

use std::fmt;
use std::str::FromStr;

use tracewright_core::port::{Backlog, Port, Rate, Stats, WhenFull};

use crate::Remark;

/// The requested port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRequest {
    /// Bits per cycle.
    pub rate: Rate,
    /// The port with its buffer, if the buffer is limited. Otherwise the buffer is as large as needed.
    pub limited: Option<Port>,
}

impl PortRequest {
    /// Returns a remark if the buffer is too small for an encoder to resume after a loss, which takes `needs` bits.
    pub fn remark(&self, needs: u64) -> Option<Remark> {
        let Port { bits, when_full, .. } = self.limited?;
        (bits < needs && when_full == WhenFull::Drop).then_some(Remark::SmallBuffer { bits, needs })
    }
}

/// Size of a port's buffer, in bits. Parses from a number with its unit: `512bits`, `64B`, `4KiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSize(pub u64);

/// Error of [`BufferSize`]: the text is not a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoBufferSize {
    /// The unit is missing or not known.
    Unit,
    /// The number is missing or too large.
    Number,
}

impl FromStr for BufferSize {
    type Err = NoBufferSize;

    fn from_str(text: &str) -> Result<Self, NoBufferSize> {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let bits = match unit.trim_start() {
            "bit" | "bits" => 1,
            "B" | "byte" | "bytes" => 8,
            "KiB" => 8 << 10,
            "MiB" => 8 << 20,
            "GiB" => 8 << 30,
            _ => return Err(NoBufferSize::Unit),
        };
        let bits = number.parse::<u64>().ok().and_then(|number| number.checked_mul(bits));
        bits.map(Self).ok_or(NoBufferSize::Number)
    }
}

impl fmt::Display for NoBufferSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unit => "expected a size with its unit: bits, B, KiB, MiB or GiB",
            Self::Number => "expected a number of bits or bytes",
        })
    }
}

impl std::error::Error for NoBufferSize {}

/// Losses at a port. A loss lasts from the last instruction that a reader knows of to the one where tracing resumes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Number of losses.
    pub losses: u64,
    /// Instructions that are not in the trace because of losses.
    pub instructions: u64,
    /// Packets that the lossless trace has for them.
    pub packets: u64,
    /// Their bits.
    pub bits: u64,
    /// Instructions that had run where the last loss began, if it is still going on.
    since: Option<u64>,
}

impl Gaps {
    /// Begins a loss, after `told` instructions that a reader knows of.
    pub fn begin(&mut self, told: u64) {
        self.losses += 1;
        self.since = Some(told);
    }

    /// Ends a loss after `ran` instructions have run. Does nothing if nothing was lost.
    pub fn end(&mut self, ran: u64) {
        if let Some(since) = self.since.take() {
            self.instructions += ran.saturating_sub(since);
        }
    }

    /// Returns whether the last loss is still going on.
    #[cfg(test)]
    pub fn is_open(&self) -> bool {
        self.since.is_some()
    }

    /// Adds what is lost at another port.
    pub fn merge(&mut self, other: &Self) {
        self.losses += other.losses;
        self.instructions += other.instructions;
        self.packets += other.packets;
        self.bits += other.bits;
    }
}

/// Rates that are always reported, besides the requested one.
const RATES: [(u32, u32); 7] = [(1, 4), (1, 2), (1, 1), (2, 1), (4, 1), (8, 1), (16, 1)];

/// Number of rates.
const COUNT: usize = RATES.len() + 1;

/// Counts at a watched port: what the lossless trace has, how large a buffer it needs at several rates, and what is lost.
#[derive(Clone, Debug)]
pub struct PortCounts {
    asked: PortRequest,
    /// The first is at the requested rate.
    backlogs: [Backlog; COUNT],
    /// Packets of the lossless trace so far.
    pub packets: u64,
    /// Their bits.
    pub bits: u64,
    /// Cycle of the last packet.
    pub cycles: u64,
    /// Losses so far.
    pub gaps: Gaps,
    /// Whether packets were being lost after the last step of the encoder.
    pub was_lost: bool,
}

impl PortCounts {
    /// Creates counts for this port, at its rate and those that are always reported.
    pub fn new(asked: PortRequest) -> Self {
        let backlogs = std::array::from_fn(|at| {
            let of_table = at.checked_sub(1).and_then(|at| Rate::new(RATES[at].0, RATES[at].1));
            Backlog::new(of_table.unwrap_or(asked.rate))
        });
        Self { asked, backlogs, packets: 0, bits: 0, cycles: 0, gaps: Gaps::default(), was_lost: false }
    }

    /// Adds packets of the lossless trace, of `bits` bits in total, that are made in this cycle.
    pub fn add(&mut self, (packets, bits): (u64, u64), cycle: u64) {
        self.cycles = self.cycles.max(cycle);
        if bits > 0 {
            self.packets += packets;
            self.bits += bits;
            self.backlogs.iter_mut().for_each(|backlog| backlog.add(bits, cycle));
        }
    }

    /// Counts what a step of the encoder loses, if `has_lost` or packets were being lost before: `all` is what the lossless trace has for
    /// the step, `made` what the encoder at the port made, each as packets and bits. If packets were being lost before, tracing resumes
    /// here, and `made` belongs to what follows.
    pub fn lose(&mut self, all: (u64, u64), made: (u64, u64), has_lost: bool) {
        if has_lost || self.was_lost {
            let made = if self.was_lost { (0, 0) } else { made };
            self.gaps.packets += all.0.saturating_sub(made.0);
            self.gaps.bits += all.1.saturating_sub(made.1);
        }
    }

    /// Returns the smallest buffer that loses nothing, for each rate.
    fn smallest(&self) -> [(Rate, u64); COUNT] {
        self.backlogs.each_ref().map(|backlog| (backlog.rate(), backlog.smallest()))
    }
}

/// Report on a port, or on several together, at the end of a run.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// The requested port.
    pub asked: PortRequest,
    /// Number of ports: one for each thread.
    pub ports: u64,
    /// Packets of the lossless trace.
    pub packets: u64,
    /// Their bits.
    pub bits: u64,
    /// Cycles that the run took without waiting.
    pub cycles: u64,
    /// Instructions that ran.
    pub instructions: u64,
    /// Whether each instruction counts as a cycle.
    pub is_untimed: bool,
    /// The smallest lossless buffer for each rate; of several ports, the largest.
    smallest: [(Rate, u64); COUNT],
    /// Statistics of the limited buffer.
    pub stats: Stats,
    /// Losses at the limited buffer.
    pub gaps: Gaps,
}

impl Report {
    /// Returns the report of one port.
    pub fn new(counts: &PortCounts, stats: Stats) -> Self {
        let PortCounts { asked, packets, bits, cycles, gaps, .. } = *counts;
        let smallest = counts.smallest();
        Self {
            asked,
            ports: 1,
            packets,
            bits,
            cycles,
            instructions: 0,
            is_untimed: false,
            smallest,
            stats,
            gaps,
        }
    }

    /// Sets how many instructions ran, and whether there was a clock.
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

    /// Returns the smallest lossless buffer at the requested rate, in bits.
    pub fn smallest(&self) -> u64 {
        self.smallest[0].1
    }

    /// Returns by how much waiting slows the program down, in percent.
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
        let counts = PortCounts::new(PortRequest { rate, limited: None });
        let report = Report::new(&counts, Stats::default());
        let rates: Vec<_> = report.table().iter().map(|(rate, _)| rate.to_string()).collect();
        assert_eq!(rates, ["1/4", "1/2", "1", "2", "4", "8", "16"]);
    }
    #[test]
    fn sizes_have_units() {
        for (text, bits) in [
            ("512bits", 512),
            ("1 bit", 1),
            ("64B", 512),
            ("3bytes", 24),
            ("4KiB", 32768),
            ("2MiB", 16 << 20),
            ("1GiB", 8 << 30),
        ] {
            assert_eq!(text.parse(), Ok(BufferSize(bits)), "{text}");
        }
        for text in
            ["", "512", "KiB", "-1B", "1.5KiB", "4kb", "99999999999999999999B", "9999999999999999999B"]
        {
            assert!(text.parse::<BufferSize>().is_err(), "{text}");
        }
    }
}
