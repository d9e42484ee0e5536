//! QEMU's user mode: alone, and with a log.

use std::time::{Duration, Instant};

use tracewright_testkit::riscv::qemu;

use super::program::{Outcome, Program, Ran, Size};
use super::sinks::Counters;

/// A line for each instruction with its program counter.
pub const COUNTERS: &str = "exec,nochain";
/// The same and all integer registers: nine lines more.
pub const REGISTERS: &str = "exec,cpu,nochain";

/// Whether it is here; if not, says so.
pub fn available() -> bool {
    qemu::available("the hart beside QEMU")
}

/// Runs a program without a log.
pub fn run(program: &Program, size: Size) -> Result<Ran, String> {
    let start = Instant::now();
    let outcome = qemu::run(&program.elf(), &arguments(program, size), &[]).map_err(failed)?;
    let time = start.elapsed();
    Ok(Ran { time, outcome: Outcome { status: outcome.status.code(), output: outcome.stdout } })
}

/// Runs it and reads its log of program counters from a pipe.
pub fn log(program: &Program, size: Size) -> Result<(Duration, Counters), String> {
    let start = Instant::now();
    let mut counters = Counters::default();
    let mut log = qemu::program_counters(&program.elf(), &arguments(program, size)).map_err(failed)?;
    log.by_ref().for_each(|pc| counters.add(pc));
    let status = log.status().map_err(failed)?;
    if !status.success() {
        return Err(format!("QEMU with a log: {status}"));
    }
    Ok((start.elapsed(), counters))
}

/// Runs it with a log that goes to `/dev/null`: the most that QEMU can do, with no reader to wait for.
pub fn unread(program: &Program, size: Size, log: &str) -> Result<Duration, String> {
    let start = Instant::now();
    let status = qemu::log_to_nowhere(&program.elf(), &arguments(program, size), log).map_err(failed)?;
    let time = start.elapsed();
    if status.success() { Ok(time) } else { Err(format!("QEMU with the log {log}: {status}")) }
}

fn arguments(program: &Program, size: Size) -> Vec<&'static str> {
    program.argument(size).into_iter().collect()
}

#[expect(clippy::needless_pass_by_value, reason = "as map_err wants it")]
fn failed(error: std::io::Error) -> String {
    format!("QEMU: {error}")
}
