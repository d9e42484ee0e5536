//! QEMU's execution log, which has addresses only. The instructions come from the program.
//!
//! ```text
//! qemu-riscv64 -singlestep -d exec,nochain -D LOG PROGRAM           up to 8.0
//! qemu-riscv64 -one-insn-per-tb -d exec,nochain -D LOG PROGRAM      since 8.1
//! qemu-system-riscv64 -accel tcg,one-insn-per-tb=on -d exec,nochain -D LOG ...
//!
//! Trace 0: 0x7f827c000100 [0000000000000000/0000000000010144/00207600/00000201] _start
//! ```
//!
//! The numbers in brackets are a base that RISC-V does not use, the address, flags, and compile flags, whose lowest
//! nine bits are the number of instructions: it must be 1.
//!
//! A block that QEMU stopped before (`Stopped execution of TB chain before ...`) did not run, and is logged again when
//! it does. ECALL is reported as a system call handled by the machine, as in [`Trap::served`]; the log of a whole
//! system shows its handler next. With these options QEMU does not log exceptions: an instruction that raised one looks
//! as if it had retired. Other lines are skipped and counted.

use std::io::BufRead;

use tracewright_isa::riscv::{Op, Xlen, decode};

use super::LogError;
use super::commit::address;
use super::lines::{Lines, Scan};
use crate::{Retired, Trap, cause};

/// Reader of such a log, for one CPU.
#[derive(Debug)]
pub struct Reader<R, F> {
    lines: Lines<R>,
    xlen: Xlen,
    code: F,
    cpu: Option<u64>,
    /// Instruction that is held back because QEMU may not have run it.
    pending: Option<Retired>,
    skipped: u64,
    of_others: u64,
}

impl<R: BufRead, F: FnMut(u64) -> Option<u32>> Reader<R, F> {
    /// Creates a reader of the first CPU in `input`. `code` returns the four bytes at an address, or the two of a
    /// compressed instruction.
    pub fn new(xlen: Xlen, input: R, code: F) -> Self {
        Self { lines: Lines::new(input), xlen, code, cpu: None, pending: None, skipped: 0, of_others: 0 }
    }

    /// Selects another CPU.
    #[must_use]
    pub fn with_cpu(mut self, cpu: u64) -> Self {
        self.cpu = Some(cpu);
        self
    }

    /// Returns the number of lines that are not about instructions.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns the number of lines about other CPUs.
    pub fn of_others(&self) -> u64 {
        self.of_others
    }

    /// Returns the next instruction or trap; `None` at the end.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, a line is malformed, or the program has no instruction at an
    /// address. The next call continues with the next line.
    #[expect(clippy::should_implement_trait, reason = "an iterator's errors come inside out")]
    pub fn next(&mut self) -> Result<Option<Retired>, LogError> {
        while self.lines.advance()? {
            let number = self.lines.number();
            let mut scan = Scan(self.lines.line());
            if scan.eat("Trace ") {
                let (cpu, pc) = trace(scan, number)?;
                if *self.cpu.get_or_insert(cpu) != cpu {
                    self.of_others += 1;
                    continue;
                }
                let retired = self.retired(pc)?;
                if let Some(before) = self.pending.replace(retired) {
                    return Ok(Some(before));
                }
            } else if scan.eat("Stopped execution of TB chain before ") {
                let stopped = address(self.xlen, stopped(scan, number)?);
                self.pending = self.pending.filter(|pending| pending.pc != stopped);
            } else {
                self.skipped += 1;
            }
        }
        Ok(self.pending.take())
    }

    fn retired(&mut self, pc: u64) -> Result<Retired, LogError> {
        let pc = address(self.xlen, pc);
        let bits = (self.code)(pc).ok_or(LogError::NoCode { line: self.lines.number(), pc })?;
        let bits = if bits & 3 == 3 { bits } else { bits & 0xffff };
        let mut retired = Retired::new(pc, bits);
        let instruction = decode(self.xlen, bits);
        let (cause, served) = match instruction.op {
            Op::Ecall => (cause::ECALL_U, true),
            Op::Ebreak => (cause::BREAKPOINT, false),
            _ => return Ok(retired),
        };
        let next = pc.wrapping_add(u64::from(instruction.len));
        retired.trap = Some(Trap { pc, cause, interrupt: false, value: 0, next, served });
        Ok(retired)
    }
}

/// Parses `CPU: 0xHOST [BASE/ADDRESS/FLAGS/COMPILED] SYMBOL`. Returns CPU and address.
fn trace(mut scan: Scan<'_>, line: u64) -> Result<(u64, u64), LogError> {
    let before = scan.0;
    let fields = (|| {
        let cpu = scan.decimal()?;
        scan.eat(": ").then_some(())?;
        scan.hex()?;
        scan.eat(" [").then_some(())?;
        scan.digits()?;
        scan.eat("/").then_some(())?;
        let pc = scan.digits()?;
        scan.eat("/").then_some(())?;
        scan.digits()?;
        // Old versions have no fourth.
        let compiled = if scan.eat("/") { Some(scan.digits()?) } else { None };
        scan.eat("]").then_some((cpu, pc, compiled))
    })();
    let expected = "a CPU and its block: 0: 0x... [.../ADDRESS/.../...]";
    let (cpu, pc, compiled) = fields.ok_or_else(|| LogError::line(line, expected, before))?;
    if compiled.is_some_and(|compiled| compiled & 0x1ff != 1) {
        let expected = "blocks of one instruction (run QEMU with -singlestep or -one-insn-per-tb)";
        return Err(LogError::line(line, expected, before));
    }
    Ok((cpu, pc))
}

/// Parses `0xHOST [ADDRESS] SYMBOL`. Returns the address.
fn stopped(mut scan: Scan<'_>, line: u64) -> Result<u64, LogError> {
    let before = scan.0;
    let pc = (|| {
        scan.hex()?;
        scan.eat(" [").then_some(())?;
        scan.digits()
    })();
    pc.ok_or_else(|| LogError::line(line, "a block: 0x... [ADDRESS]", before))
}
