use serde_json::{Value, json};
use tracewright_core::port::{Port, Rate, Stats, WhenFull};

use super::sizing::COUNT;
use super::{Asked, Gaps, Sizing};
use crate::record::grouped;

/// What is known of a port at the end; of several, all together.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    asked: Asked,
    /// How many ports there are: one for each thread.
    ports: u64,
    /// Packets of the trace that loses nothing.
    packets: u64,
    /// Their bits.
    bits: u64,
    /// Cycles that the run took without waiting, and its instructions.
    cycles: u64,
    instructions: u64,
    /// Whether each instruction counts as a cycle.
    is_untimed: bool,
    /// The smallest buffer that loses nothing; of several ports, the largest.
    smallest: [(Rate, u64); COUNT],
    /// What happened at the buffer that is limited.
    stats: Stats,
    gaps: Gaps,
}

impl Report {
    /// Of one port.
    pub fn new(asked: Asked, sizing: &Sizing, stats: Stats, gaps: Gaps) -> Self {
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

    /// Says how many instructions ran, and whether there was a clock.
    #[must_use]
    pub fn of(self, instructions: u64, is_timed: bool) -> Self {
        Self { instructions, is_untimed: !is_timed, ..self }
    }

    /// This and another port.
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

    /// Of several ports.
    pub fn all(reports: impl IntoIterator<Item = Self>) -> Option<Self> {
        reports.into_iter().reduce(|mut one, other| {
            one.merge(&other);
            one
        })
    }

    /// The smallest buffer that loses nothing, in bits, at the rate that is asked for.
    #[cfg(test)]
    pub fn smallest(&self) -> u64 {
        self.smallest[0].1
    }

    /// What happened at the buffer that is limited.
    #[cfg(test)]
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// What was lost.
    #[cfg(test)]
    pub fn gaps(&self) -> Gaps {
        self.gaps
    }

    /// How much slower the program is for waiting, in percent.
    fn slowdown(&self) -> f64 {
        100.0 * self.stats.stall_cycles as f64 / self.cycles.max(1) as f64
    }

    /// All rates with their buffers, each rate once, in order.
    fn table(&self) -> Vec<(Rate, u64)> {
        let mut table = self.smallest.to_vec();
        table.sort_by_key(|(rate, _)| {
            u128::from(rate.bits()) * u128::from(u32::MAX) / u128::from(rate.cycles())
        });
        table.dedup_by_key(|(rate, _)| *rate);
        table
    }

    /// For people, in lines of less than 80 characters. `port` is what it is called.
    pub fn lines(&self, port: &str) -> Vec<String> {
        let mut lines = Vec::new();
        let mut line = |name: &str, count: u64, more: &str| {
            lines.push(format!("  {name:<16} {:>16}  {more}", grouped(count)));
        };
        let per = |count: u64| self.bits as f64 / count.max(1) as f64;
        line(port, self.bits, &format!("bits, {:.4} a cycle", per(self.cycles)));
        let clock = if self.is_untimed { "cycles, one for each instruction" } else { "cycles" };
        line("", self.cycles, clock);
        line("", self.packets, &format!("packets, {:.4} bits an instruction", per(self.instructions)));
        if self.ports > 1 {
            line("", self.ports, "ports, one a thread; buffers: the largest");
        }
        if let Some(Port { bits, when_full, .. }) = self.asked.limited {
            line("buffer", bits, &format!("bits, {} in it at most", grouped(self.stats.peak)));
            if when_full == WhenFull::Stall {
                let cycles = self.stats.stall_cycles;
                line("stalls", cycles, &format!("cycles, {:.2} % slower", self.slowdown()));
            } else {
                let Gaps { losses, instructions, packets, bits, .. } = self.gaps;
                let what = if losses == 0 {
                    "times the buffer was full"
                } else {
                    "times the buffer was full: lost are"
                };
                line("losses", losses, what);
                if losses > 0 {
                    line("", packets, &format!("packets of {} bits", grouped(bits)));
                    let percent = 100.0 * instructions as f64 / self.instructions.max(1) as f64;
                    line("", instructions, &format!("instructions, {percent:.2} %"));
                }
            }
        }
        for (at, (rate, smallest)) in self.table().into_iter().enumerate() {
            let name = if at == 0 { "smallest buffer" } else { "" };
            let asked = if rate == self.asked.rate { " (asked for)" } else { "" };
            line(name, smallest, &format!("bits at rate {rate}{asked}"));
        }
        lines
    }

    /// As a JSON object.
    pub fn json(&self) -> Value {
        let rate = |rate: Rate| json!({ "bits": rate.bits(), "cycles": rate.cycles() });
        let table = self.table().into_iter();
        let table: Vec<_> =
            table.map(|(of, bits)| json!({ "rate": rate(of), "smallest_buffer_bits": bits })).collect();
        let limited = self.asked.limited.map(|port| {
            let Gaps { losses, instructions, packets, bits, .. } = self.gaps;
            json!({
                "bits": port.bits, "when_full": if port.when_full == WhenFull::Stall { "stall" } else { "drop" },
                "peak_bits": self.stats.peak, "sent_packets": self.stats.packets, "sent_bits": self.stats.bits,
                "stall_cycles": self.stats.stall_cycles, "slowdown_percent": self.slowdown(),
                "losses": losses, "lost_packets": packets, "lost_bits": bits, "lost_instructions": instructions,
            })
        });
        json!({
            "rate": rate(self.asked.rate), "ports": self.ports, "packets": self.packets, "bits": self.bits,
            "cycles": self.cycles, "instructions": self.instructions, "cycles_are_instructions": self.is_untimed,
            "bits_per_cycle": self.bits as f64 / self.cycles.max(1) as f64,
            "bits_per_instruction": self.bits as f64 / self.instructions.max(1) as f64,
            "smallest_buffer_bits": self.smallest[0].1, "buffer": limited, "table": table,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A long run: all numbers are large, and the text still fits.
    #[test]
    fn text_fits() {
        for when_full in [WhenFull::Stall, WhenFull::Drop] {
            let rate = Rate::new(333, 1000).unwrap();
            let limited = Some(Port { rate, bits: 1 << 40, when_full });
            let mut sizing = Sizing::new(rate);
            sizing.add(1 << 38, 1 << 44, 1 << 44);
            let stats = Stats { peak: 1 << 40, stall_cycles: 1 << 44, ..Stats::default() };
            let mut gaps = Gaps::default();
            gaps.begin(0);
            gaps.end(1 << 44);
            gaps.lose(1 << 40, 1 << 44);
            let mut report = Report::new(Asked { rate, limited }, &sizing, stats, gaps).of(1 << 44, false);
            report.merge(&report.clone());
            for line in report.lines("delta port") {
                assert!(line.len() < 80, "{line}");
            }
            let table = report.table();
            assert_eq!(table.len(), 8);
            assert_eq!(table[1].0, rate);
            assert!(table.windows(2).all(|pair| pair[0].1 >= pair[1].1));
            assert_eq!(report.json()["table"].as_array().unwrap().len(), 8);
        }
    }

    #[test]
    fn each_rate_is_told_once() {
        let rate = Rate::new(1, 2).unwrap();
        let report =
            Report::new(Asked { rate, limited: None }, &Sizing::new(rate), Stats::default(), Gaps::default());
        let rates: Vec<_> = report.table().iter().map(|(rate, _)| rate.to_string()).collect();
        assert_eq!(rates, ["1/4", "1/2", "1", "2", "4", "8", "16"]);
    }
}
