//! The hart: sample programs under Linux, beside QEMU's user mode with and without a log of each instruction.
//!
//! What both tell of each instruction is its program counter, and those are compared. Ours adds its bits and its
//! memory access with the value. QEMU 7.2 cannot log those: its text has registers at most, and its plugins get
//! addresses without values. Its log with all integer registers is the nearest, since accesses could be worked out
//! from that; it is timed too.

pub mod program;
mod rival;
pub mod sinks;

use std::fmt::Debug;
use std::time::Duration;

use tracewright_hart::HartSink;

use crate::head;
use program::{Outcome, PROGRAMS, Program, Size};
use sinks::{Blocks, Details, Digest};

/// Rounds; the best of each engine counts.
const ROUNDS: usize = 5;
/// The same where QEMU writes a log, which takes seconds.
const LOG_ROUNDS: usize = 2;

/// Runs of ours in such a round: their mean counts, since the best of many short runs would escape the noise that
/// QEMU's long one meets.
const REPEAT: u32 = 50;

/// The word that picks all of them.
pub const NAME: &str = "hart";

/// Whether the word means the hart, or one of its programs.
pub fn is_meant(word: &str) -> bool {
    word == NAME || PROGRAMS.iter().any(|program| program.name == word)
}

pub fn tables(only: Option<&str>, check: bool) -> Result<usize, String> {
    let picked = |program: &&Program| only.is_none_or(|only| only == NAME || only == program.name);
    let programs: Vec<_> = PROGRAMS.iter().filter(picked).collect();
    let qemu = rival::available();
    for program in &programs {
        agree(program, qemu)?;
        if check {
            println!("{NAME}, {}: answers agree", program.name);
        }
    }
    if !check {
        table(&programs, qemu)?;
    }
    if !check && qemu {
        log_table(&programs)?;
    }
    Ok(programs.len())
}

/// All engines once, on little.
fn agree(program: &Program, qemu: bool) -> Result<(), String> {
    let truth = Truth::new(program, Size::Small)?;
    let counters = truth.digest.counters;
    if (counters.count, counters.hash) != program.expected {
        return Err(format!("{}: {counters:x?}, expected {:x?}", truth.name(), program.expected));
    }
    truth.alone()?;
    truth.blocks()?;
    truth.details()?;
    if qemu {
        truth.qemu()?;
        truth.qemu_log()?;
    }
    Ok(())
}

/// How fast it is where there is much to do.
fn table(programs: &[&Program], qemu: bool) -> Result<(), String> {
    head(
        1,
        "program | million instructions | hart MIPS | with blocks | with all details | QEMU MIPS, no log",
    );
    for program in programs {
        let truth = Truth::new(program, Size::Large)?;
        let mut best = [None; 4];
        for _ in 0..ROUNDS {
            time(&mut best[0], truth.alone()?);
            time(&mut best[1], truth.blocks()?);
            time(&mut best[2], truth.details()?);
            if qemu {
                time(&mut best[3], truth.qemu()?);
            }
        }
        let rates = best.map(|best| number(truth.rate(best), 0));
        println!("| {} | {:.1} | {} |", truth.name(), truth.millions(), rates.join(" | "));
    }
    Ok(())
}

/// The same program with the same argument on both sides.
fn log_table(programs: &[&Program]) -> Result<(), String> {
    head(
        1,
        "program | million instructions | hart MIPS, blocks | hart MIPS, all details | QEMU MIPS, log read \
         | log unread | log with registers, unread | x log read, blocks | details | x log unread, blocks \
         | details | x registers, details",
    );
    for program in programs {
        let truth = Truth::new(program, Size::Medium)?;
        truth.qemu()?;
        let mut best = [None; 5];
        for _ in 0..LOG_ROUNDS {
            time(&mut best[0], mean(|| truth.blocks())?);
            time(&mut best[1], mean(|| truth.details())?);
            time(&mut best[2], truth.qemu_log()?);
            time(&mut best[3], rival::unread(program, Size::Medium, rival::COUNTERS)?);
            time(&mut best[4], rival::unread(program, Size::Medium, rival::REGISTERS)?);
        }
        let [blocks, details, read, unread, registers] = best.map(|best| truth.rate(best));
        let ratios =
            [(blocks, read), (details, read), (blocks, unread), (details, unread), (details, registers)]
                .map(|(ours, theirs)| number(ours.zip(theirs).map(|(ours, theirs)| ours / theirs), 0));
        let ours = [blocks, details].map(|rate| number(rate, 0));
        let theirs = [read, unread, registers].map(|rate| number(rate, 2));
        let numbers = [&ours[..], &theirs, &ratios].concat().join(" | ");
        println!("| {} | {:.1} | {numbers} |", truth.name(), truth.millions());
    }
    Ok(())
}

/// What every engine must find; one that does not has no time.
struct Truth<'a> {
    program: &'a Program,
    size: Size,
    digest: Digest,
    outcome: Outcome,
}

impl<'a> Truth<'a> {
    /// As our hart says, in single instructions.
    fn new(program: &'a Program, size: Size) -> Result<Self, String> {
        let mut digest = Digest::default();
        let outcome = program.run(size, &mut digest)?.outcome;
        let truth = Self { program, size, digest, outcome };
        if let Some(block) = truth.digest.wrong {
            return Err(format!("{}: {block:x?} is not as its instructions say", truth.name()));
        }
        if truth.outcome.status != Some(0) {
            return Err(format!("{}: {:?}", truth.name(), truth.outcome));
        }
        Ok(truth)
    }

    fn name(&self) -> String {
        self.program.named(self.size)
    }

    fn alone(&self) -> Result<Duration, String> {
        self.ours(&mut ())
    }

    fn blocks(&self) -> Result<Duration, String> {
        let mut sink = Blocks::default();
        let time = self.ours(&mut sink)?;
        self.same("blocks", &sink, &self.digest.details.blocks)?;
        Ok(time)
    }

    fn details(&self) -> Result<Duration, String> {
        let mut sink = Details::default();
        let time = self.ours(&mut sink)?;
        self.same("details", &sink, &self.digest.details)?;
        Ok(time)
    }

    fn ours(&self, sink: &mut impl HartSink) -> Result<Duration, String> {
        let ran = self.program.run(self.size, sink)?;
        self.same("outcome", &ran.outcome, &self.outcome)?;
        Ok(ran.time)
    }

    fn qemu(&self) -> Result<Duration, String> {
        let ran = rival::run(self.program, self.size)?;
        self.same("QEMU's outcome", &ran.outcome, &self.outcome)?;
        Ok(ran.time)
    }

    fn qemu_log(&self) -> Result<Duration, String> {
        let (time, counters) = rival::log(self.program, self.size)?;
        self.same("QEMU's program counters", &counters, &self.digest.counters)?;
        Ok(time)
    }

    fn same<T: PartialEq + Debug>(&self, what: &str, found: &T, expected: &T) -> Result<(), String> {
        if found == expected {
            return Ok(());
        }
        Err(format!("{}: {what}: {found:x?}, expected {expected:x?}", self.name()))
    }

    fn millions(&self) -> f64 {
        self.digest.counters.count as f64 / 1e6
    }

    /// Million instructions a second.
    fn rate(&self, time: Option<Duration>) -> Option<f64> {
        Some(self.millions() / time?.as_secs_f64())
    }
}

/// The mean time of [`REPEAT`] runs.
fn mean(run: impl Fn() -> Result<Duration, String>) -> Result<Duration, String> {
    let total = (0..REPEAT).map(|_| run()).sum::<Result<Duration, String>>()?;
    Ok(total / REPEAT)
}

pub fn time(best: &mut Option<Duration>, time: Duration) {
    *best = Some(best.map_or(time, |best| best.min(time)));
}

pub fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".into(), |value| format!("{value:.digits$}"))
}
