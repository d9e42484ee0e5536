//! A line on a terminal that tells how far a recording is.

use std::io::{IsTerminal, stderr};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use tracewright_capture::{qemu, record};

use crate::output::is_quiet;
use crate::progress::spinner;

/// Progress line of a recording.
#[derive(Clone, Copy, Debug)]
pub struct SoFar {
    instructions: u64,
    /// Threads, where the program may have several.
    threads: Option<u64>,
    /// Bytes of trace; 0 if there is none.
    bytes: u64,
}

impl From<record::Progress> for SoFar {
    fn from(progress: record::Progress) -> Self {
        Self { instructions: progress.instructions, threads: None, bytes: progress.bytes }
    }
}

impl From<&qemu::Counts> for SoFar {
    fn from(counts: &qemu::Counts) -> Self {
        let [instructions, threads, bytes] =
            [&counts.instructions, &counts.threads, &counts.bytes].map(|count| count.load(Ordering::Relaxed));
        Self { instructions, threads: Some(threads), bytes }
    }
}

/// Shows a person how far a recording is, if one watches and it takes a while.
pub struct Progress {
    bar: Option<ProgressBar>,
    start: Instant,
    /// When the speed was looked at last, how many instructions there were, and what it was.
    last: (Instant, u64, f64),
}

impl Progress {
    pub fn new() -> Self {
        let start = Instant::now();
        Self { bar: None, start, last: (start, 0, 0.0) }
    }

    /// Writes the line.
    pub fn show(&mut self, so_far: &SoFar) {
        if self.start.elapsed() < Duration::from_secs(1) || is_quiet() || !stderr().is_terminal() {
            return;
        }
        let bar = self.bar.get_or_insert_with(spinner);
        // Chunks may take longer than from one line to the next.
        let (then, before, _) = self.last;
        let seconds = then.elapsed().as_secs_f64();
        if seconds >= 1.0 {
            let mips = so_far.instructions.saturating_sub(before) as f64 / seconds / 1e6;
            self.last = (Instant::now(), so_far.instructions, mips);
        }
        bar.set_message(line(so_far, self.last.2));
        bar.tick();
    }

    /// Takes the line away.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

fn line(so_far: &SoFar, mips: f64) -> String {
    let mut line = format!("{} M instructions, {mips:.0} MIPS", so_far.instructions / 1_000_000);
    if let Some(threads) = so_far.threads {
        let plural = if threads == 1 { "" } else { "s" };
        line += &format!(", {threads} thread{plural}");
    }
    if so_far.bytes > 0 {
        line += &format!(", {:.1} MiB of trace", so_far.bytes as f64 / f64::from(1 << 20));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_fits_80_columns() {
        let so_far = SoFar { instructions: 999_999_000_000, threads: Some(9999), bytes: 1 << 40 };
        let line = line(&so_far, 9999.0);
        // With a spinner, and days.
        assert!(line.len() + "x 99d ".len() <= 80, "{line}");
    }

    #[test]
    fn what_is_not_known_is_not_in_the_line() {
        let mut so_far = SoFar { instructions: 12_300_000, threads: None, bytes: 0 };
        assert_eq!(line(&so_far, 45.6), "12 M instructions, 46 MIPS");
        so_far.bytes = 3 << 19;
        assert_eq!(line(&so_far, 45.6), "12 M instructions, 46 MIPS, 1.5 MiB of trace");
    }
}
