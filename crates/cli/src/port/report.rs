//! What is known of a port, for people and programs.

use serde_json::{Value, json};
use tracewright_capture::port::{Gaps, Report};
use tracewright_core::port::{Port, Rate, WhenFull};

use crate::record::grouped;

/// Returns lines for people, of less than 80 characters. `port` is what it is called.
pub fn lines(report: &Report, port: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = |name: &str, count: u64, more: &str| {
        lines.push(format!("  {name:<16} {:>16}  {more}", grouped(count)));
    };
    let per = |count: u64| report.bits as f64 / count.max(1) as f64;
    line(port, report.bits, &format!("bits, {:.4} a cycle", per(report.cycles)));
    let clock = if report.is_untimed { "cycles, one for each instruction" } else { "cycles" };
    line("", report.cycles, clock);
    line("", report.packets, &format!("packets, {:.4} bits an instruction", per(report.instructions)));
    if report.ports > 1 {
        line("", report.ports, "ports, one a thread; buffers: the largest");
    }
    if let Some(Port { bits, when_full, .. }) = report.asked.limited {
        line("buffer", bits, &format!("bits, {} in it at most", grouped(report.stats.peak)));
        if when_full == WhenFull::Stall {
            let cycles = report.stats.stall_cycles;
            line("stalls", cycles, &format!("cycles, {:.2} % slower", report.slowdown()));
        } else {
            let Gaps { losses, instructions, packets, bits, .. } = report.gaps;
            let what = match losses {
                0 => "times the buffer was full",
                1 => "time the buffer was full: lost are",
                _ => "times the buffer was full: lost are",
            };
            line("losses", losses, what);
            if losses > 0 {
                line("", packets, &format!("packets of {} bits", grouped(bits)));
                let percent = 100.0 * instructions as f64 / report.instructions.max(1) as f64;
                line("", instructions, &format!("instructions, {percent:.2} %"));
            }
        }
    }
    for (at, (rate, smallest)) in report.table().into_iter().enumerate() {
        let name = if at == 0 { "smallest buffer" } else { "" };
        let asked = if rate == report.asked.rate { " (asked for)" } else { "" };
        line(name, smallest, &format!("bits at rate {rate}{asked}"));
    }
    lines
}

/// Returns a JSON object.
pub fn json(report: &Report) -> Value {
    let rate = |rate: Rate| json!({ "bits": rate.bits(), "cycles": rate.cycles() });
    let table = report.table().into_iter();
    let table: Vec<_> =
        table.map(|(of, bits)| json!({ "rate": rate(of), "smallest_buffer_bits": bits })).collect();
    let limited = report.asked.limited.map(|port| {
        let Gaps { losses, instructions, packets, bits, .. } = report.gaps;
        json!({
            "bits": port.bits, "when_full": if port.when_full == WhenFull::Stall { "stall" } else { "drop" },
            "peak_bits": report.stats.peak, "sent_packets": report.stats.packets, "sent_bits": report.stats.bits,
            "stall_cycles": report.stats.stall_cycles, "slowdown_percent": report.slowdown(),
            "losses": losses, "lost_packets": packets, "lost_bits": bits, "lost_instructions": instructions,
        })
    });
    json!({
        "rate": rate(report.asked.rate), "ports": report.ports, "packets": report.packets, "bits": report.bits,
        "cycles": report.cycles, "instructions": report.instructions, "cycles_are_instructions": report.is_untimed,
        "bits_per_cycle": report.bits as f64 / report.cycles.max(1) as f64,
        "bits_per_instruction": report.bits as f64 / report.instructions.max(1) as f64,
        "smallest_buffer_bits": report.smallest(), "buffer": limited, "table": table,
    })
}

#[cfg(test)]
mod tests {
    use tracewright_capture::port::{PortCounts, PortRequest};
    use tracewright_core::port::Stats;

    use super::*;

    /// A long run: all numbers are large, and the text still fits.
    #[test]
    fn text_fits() {
        for when_full in [WhenFull::Stall, WhenFull::Drop] {
            let rate = Rate::new(333, 1000).unwrap();
            let limited = Some(Port { rate, bits: 1 << 40, when_full });
            let mut counts = PortCounts::new(PortRequest { rate, limited });
            counts.add((1 << 38, 1 << 44), 1 << 44);
            let stats = Stats { peak: 1 << 40, stall_cycles: 1 << 44, ..Stats::default() };
            counts.gaps.begin(0);
            counts.gaps.end(1 << 44);
            counts.lose((1 << 40, 1 << 44), (0, 0), true);
            let mut report = Report::new(&counts, stats).of(1 << 44, false);
            report.merge(&report.clone());
            for line in lines(&report, "delta port") {
                assert!(line.len() < 80, "{line}");
            }
            let table = report.table();
            assert_eq!(table.len(), 8);
            assert_eq!(table[1].0, rate);
            assert!(table.windows(2).all(|pair| pair[0].1 >= pair[1].1));
            assert_eq!(json(&report)["table"].as_array().unwrap().len(), 8);
        }
    }
}
