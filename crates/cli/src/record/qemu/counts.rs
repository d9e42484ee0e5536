//! How far it is, for whoever watches, and what was executed, for whoever asks at the end.

use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use tracewright_core::Block;
use tracewright_hart::{Sink, Trap, cause};
use tracewright_qemu::format::Target;

use crate::progress;

/// How much was recorded so far, of all threads and processes.
#[derive(Debug, Default)]
pub struct Counts {
    pub instructions: AtomicU64,
    pub threads: AtomicU64,
    /// Bytes of trace.
    pub bytes: AtomicU64,
}

/// A line that tells of it.
pub struct Progress<'a> {
    counts: &'a Counts,
    bar: Option<ProgressBar>,
    start: Instant,
    /// When the speed was looked at last, how many instructions there were, and what it was.
    last: (Instant, u64, f64),
}

impl<'a> Progress<'a> {
    pub fn new(counts: &'a Counts) -> Self {
        let start = Instant::now();
        Self { counts, bar: None, start, last: (start, 0, 0.0) }
    }

    /// Writes the line, if a person watches and it takes a while.
    pub fn show(&mut self) {
        if self.start.elapsed() < Duration::from_secs(1) || !stderr().is_terminal() {
            return;
        }
        let bar = self.bar.get_or_insert_with(progress::spinner);
        let instructions = self.counts.instructions.load(Ordering::Relaxed);
        // Chunks may take longer than from one line to the next.
        let (then, before, _) = self.last;
        let seconds = then.elapsed().as_secs_f64();
        if seconds >= 1.0 {
            let mips = instructions.saturating_sub(before) as f64 / seconds / 1e6;
            self.last = (Instant::now(), instructions, mips);
        }
        let mips = self.last.2;
        let threads = self.counts.threads.load(Ordering::Relaxed);
        let bytes = self.counts.bytes.load(Ordering::Relaxed);
        bar.set_message(line(instructions, mips, threads, bytes));
        bar.tick();
    }

    /// Takes the line away. Gives the time since the beginning.
    pub fn finish(self) -> Duration {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        self.start.elapsed()
    }
}

fn line(instructions: u64, mips: f64, threads: u64, bytes: u64) -> String {
    let millions = instructions / 1_000_000;
    let plural = if threads == 1 { "" } else { "s" };
    let mib = bytes as f64 / f64::from(1 << 20);
    format!("{millions} M instructions, {mips:.0} MIPS, {threads} thread{plural}, {mib:.1} MiB of trace")
}

/// What a thread executed, besides instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub blocks: u64,
    pub calls: u64,
    pub exceptions: u64,
    pub signals: u64,
    is_arm: bool,
}

/// ETMv4's number of the exception that a system call is.
const ARM_CALL: u64 = 2;

impl Tally {
    pub fn new(target: Target) -> Self {
        Self { is_arm: target != Target::Riscv64, ..Self::default() }
    }

    /// Both together.
    pub fn add(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.calls += other.calls;
        self.exceptions += other.exceptions;
        self.signals += other.signals;
    }
}

impl Sink for Tally {
    #[inline]
    fn block(&mut self, _: &Block) {
        self.blocks += 1;
    }

    fn trap(&mut self, trap: &Trap) {
        let call = if self.is_arm { ARM_CALL } else { cause::ECALL_U };
        if trap.interrupt {
            self.signals += 1;
        } else if trap.cause == call {
            self.calls += 1;
        } else {
            self.exceptions += 1;
        }
    }

    fn lost(&mut self) {
        self.signals += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_fits_80_columns() {
        let line = line(999_999_000_000, 9999.0, 9999, 1 << 40);
        // With a spinner, and days.
        assert!(line.len() + "x 99d ".len() <= 80, "{line}");
    }
}
