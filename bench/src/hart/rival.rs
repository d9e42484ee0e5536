//! QEMU's user mode: alone, and with a log.

use std::io;
use std::time::{Duration, Instant};

use tracewright_testkit::qemu::{self, Guest};

use super::program::{Outcome, Program, Ran, Size};
use super::sinks::Counters;

/// A line for each instruction with its program counter.
pub const COUNTERS: &str = "exec,nochain";
/// The same and all integer registers: nine lines more.
pub const REGISTERS: &str = "exec,cpu,nochain";

/// Whether it is here; if not, says so.
pub fn available() -> bool {
    Guest::Riscv64.available("the hart beside QEMU")
}

/// Runs a program without a log.
pub fn run(program: &Program, size: Size) -> Result<Ran, String> {
    let start = Instant::now();
    let outcome = with(program, size, |qemu| qemu.run(&[]))?;
    let time = start.elapsed();
    Ok(Ran { time, outcome: Outcome { status: outcome.status.code(), output: outcome.stdout } })
}

/// Runs it and reads its log of program counters from a pipe.
pub fn log(program: &Program, size: Size) -> Result<(Duration, Counters), String> {
    let start = Instant::now();
    let mut counters = Counters::default();
    let status = with(program, size, |qemu| {
        let mut log = qemu.program_counters()?;
        log.by_ref().for_each(|pc| counters.add(pc));
        log.status()
    })?;
    if !status.success() {
        return Err(format!("QEMU with a log: {status}"));
    }
    Ok((start.elapsed(), counters))
}

/// Runs it with a log that goes to `/dev/null`: the most that QEMU can do, with no reader to wait for.
pub fn unread(program: &Program, size: Size, log: &str) -> Result<Duration, String> {
    let start = Instant::now();
    let status = with(program, size, |qemu| qemu.log_to_nowhere(log))?;
    let time = start.elapsed();
    if status.success() { Ok(time) } else { Err(format!("QEMU with the log {log}: {status}")) }
}

/// Does something with a program under QEMU.
fn with<T>(
    program: &Program,
    size: Size,
    act: impl FnOnce(&qemu::Program<'_>) -> io::Result<T>,
) -> Result<T, String> {
    let arguments: Vec<_> = program.argument(size).into_iter().collect();
    act(&qemu::Program::new(Guest::Riscv64, &program.elf(), &arguments)).map_err(failed)
}

#[expect(clippy::needless_pass_by_value, reason = "as map_err wants it")]
fn failed(error: io::Error) -> String {
    format!("QEMU: {error}")
}
