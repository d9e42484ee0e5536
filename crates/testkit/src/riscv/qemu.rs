//! [`qemu`](crate::qemu) for RISC-V programs that need nothing else.

use std::io;
use std::path::Path;
use std::process::ExitStatus;

use crate::qemu::{Guest, Program};
pub use crate::qemu::{Outcome, ProgramCounters, SECONDS};

/// Returns whether QEMU is installed. If not, reports that `test` is skipped.
pub fn available(test: &str) -> bool {
    Guest::Riscv64.available(test)
}

/// Runs a program to its end.
///
/// # Errors
/// Returns an error if QEMU cannot be started.
pub fn run(elf: &Path, args: &[&str], stdin: &[u8]) -> io::Result<Outcome> {
    Program::new(Guest::Riscv64, elf, args).run(stdin)
}

/// Calls [`Program::program_counters`].
///
/// # Errors
/// Returns an error if QEMU cannot be started.
pub fn program_counters(elf: &Path, args: &[&str]) -> io::Result<ProgramCounters> {
    Program::new(Guest::Riscv64, elf, args).program_counters()
}

/// Calls [`Program::log_to_nowhere`].
///
/// # Errors
/// Returns an error if QEMU cannot be started.
pub fn log_to_nowhere(elf: &Path, args: &[&str], log: &str) -> io::Result<ExitStatus> {
    Program::new(Guest::Riscv64, elf, args).log_to_nowhere(log)
}
