//! Logs of processor simulations: those of CVA6's two tracers, and others in their style.
//!
//! The tracer at the RISC-V formal interface (`trace_rvfi_hart_00.dasm`, and the `.log` made of it) writes two lines
//! for an instruction, in Spike's style:
//!
//! ```text
//! core   0: 0x0000000080000000 (0x00000297) DASM(00000297)
//! 3 0x0000000080000000 (0x00000297) x 5 0x0000000080000000
//! core   0: 0x0000000080000004 (0x0002b203) @      1234 DASM(0002b203)     with a small patch, that tells cycles
//! 3 0x0000000080000004 (0x0002b203) x 4 0x0000000000000001 mem 0x0000000080002428
//! ILLEGAL_INSTR exception @ 0x0000000080000008 (0x0000)
//! core   INTERRUPT 0: 0x0000000080000100 (0x00000013) DASM(00000013)       the first of an interrupt's handler
//! ```
//!
//! The tracer at the commit stage (`trace_hart_0.dasm`, `trace_hart_0.log`) writes one line, with the cycle but without
//! effects:
//!
//! ```text
//!                  73 0x80000000 M (0x00000297) DASM(00000297)
//! Exception Cause: Illegal Instructions, DASM(00000000) PC=0000000080000008
//! Exception Cause:     5, DASM(00000000) PC=0000000080000008
//! ```
//!
//! `DASM(...)` may be replaced by any text: `spike-dasm` puts the disassembly there. For an interrupt, the first style
//! has neither its cause ([`UNTOLD`]) nor, after a branch, its address (0). Neither style has the values of traps.

use std::io::BufRead;

use tracewright_isa::riscv::Xlen;

use super::LogError;
use super::commit::{self, Event, Join};
use super::lines::{Lines, Scan};
use super::spike;
use crate::{Privilege, Retired, Trap, cause};

/// Cause of an interrupt whose cause is not in the log.
pub const UNTOLD: u64 = u64::MAX;

/// Reader of such a log, which is about one hart.
#[derive(Debug)]
pub struct Reader<R> {
    lines: Lines<R>,
    xlen: Xlen,
    join: Join,
    /// Instruction after the interrupt that was reported last.
    after_interrupt: Option<Retired>,
    skipped: u64,
    untold: u64,
}

impl<R: BufRead> Reader<R> {
    /// Creates a reader of `input`.
    pub fn new(xlen: Xlen, input: R) -> Self {
        let (lines, join) = (Lines::new(input), Join::default());
        Self { lines, xlen, join, after_interrupt: None, skipped: 0, untold: 0 }
    }

    /// Returns the number of lines that are not about instructions.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns the number of accesses left out because the instruction is not known.
    pub fn untold_accesses(&self) -> u64 {
        self.untold
    }

    /// Returns the next instruction or trap; `None` at the end.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or a line is malformed. The next call continues with the next line.
    #[expect(clippy::should_implement_trait, reason = "an iterator's errors come inside out")]
    pub fn next(&mut self) -> Result<Option<Retired>, LogError> {
        if let Some(listed) = self.after_interrupt.take()
            && let Some(retired) = self.join.take(Event::Listed(listed))
        {
            return Ok(Some(retired));
        }
        while self.lines.advance()? {
            if let Some(event) = self.event()?
                && let Some(retired) = self.join.take(event)
            {
                return Ok(Some(retired));
            }
            if let Some(listed) = self.after_interrupt.take()
                && let Some(retired) = self.join.take(Event::Listed(listed))
            {
                return Ok(Some(retired));
            }
        }
        Ok(self.join.finish())
    }

    fn event(&mut self) -> Result<Option<Event>, LogError> {
        let number = self.lines.number();
        let line = self.lines.line();
        let mut scan = Scan(line);
        if spike::core(&mut scan).is_some() {
            return self.listed(scan).map(|listed| Some(Event::Listed(listed)));
        }
        if scan.eat("core") {
            scan.spaces();
            if scan.eat("INTERRUPT") {
                scan.spaces();
                scan.decimal();
                scan.eat(":");
                let listed = self.listed(scan)?;
                self.after_interrupt = Some(listed);
                let pc = self.join.next(self.xlen);
                let interrupt = true;
                return Ok(Some(Event::Trap(Trap {
                    pc,
                    cause: UNTOLD,
                    interrupt,
                    value: 0,
                    next: 0,
                    served: false,
                })));
            }
            return Err(LogError::line(number, "core and its number", line));
        }
        if scan.eat("Exception Cause:") {
            return self.cause(scan).map(|trap| Some(Event::Trap(trap)));
        }
        scan.spaces();
        if matches!(scan.0, [b'0'..=b'3', b' ', b'0', b'x', ..]) && !is_cycle(scan) {
            let committed = commit::committed(&mut scan, self.xlen, number, &mut self.untold)?;
            return Ok(Some(Event::Committed(committed)));
        }
        if is_cycle(scan) {
            return self.cycle(scan).map(|retired| Some(Event::Committed(retired)));
        }
        if let Some(at) = find(line, b" exception @ ") {
            let name = &line[..at];
            let cause = NAMES.iter().find(|(_, one)| one.as_bytes() == name).map(|&(cause, _)| cause);
            let cause = cause.ok_or_else(|| LogError::line(number, "the name of an exception", line))?;
            let mut scan = Scan(&line[at + b" exception @ ".len()..]);
            let pc = commit::place(&mut scan, self.xlen, number)?.pc;
            return Ok(Some(Event::Trap(exception(cause, pc))));
        }
        self.skipped += 1;
        Ok(None)
    }

    /// Parses what follows `core   0:`.
    fn listed(&self, mut scan: Scan<'_>) -> Result<Retired, LogError> {
        scan.spaces();
        let mut listed = commit::place(&mut scan, self.xlen, self.lines.number())?;
        if scan.eat("@") {
            scan.spaces();
            listed.cycle = scan.decimal();
        }
        Ok(listed)
    }

    /// Parses `CYCLE 0xADDRESS MODE (0xBITS)`.
    fn cycle(&self, mut scan: Scan<'_>) -> Result<Retired, LogError> {
        let before = scan.0;
        let number = self.lines.number();
        let wrong =
            || LogError::line(number, "cycle, address, mode and instruction: 1 0x... M (0x...)", before);
        let cycle = scan.decimal().ok_or_else(wrong)?;
        scan.spaces();
        let pc = scan.hex().ok_or_else(wrong)?;
        scan.spaces();
        let privilege = match scan.word() {
            b"M" => Some(Privilege::Machine),
            b"S" => Some(Privilege::Supervisor),
            b"U" => Some(Privilege::User),
            b"D" => None,
            _ => return Err(wrong()),
        };
        let bits = if scan.eat("(") { scan.hex() } else { None };
        let bits = bits.and_then(|bits| u32::try_from(bits).ok()).ok_or_else(wrong)?;
        let bits = if bits & 3 == 3 { bits } else { bits & 0xffff };
        Ok(Retired { privilege, cycle: Some(cycle), ..Retired::new(commit::address(self.xlen, pc), bits) })
    }

    /// Parses what follows `Exception Cause:`.
    fn cause(&self, mut scan: Scan<'_>) -> Result<Trap, LogError> {
        let number = self.lines.number();
        scan.spaces();
        let before = scan.0;
        let cause =
            if scan.eat("Illegal Instructions") { Some(cause::ILLEGAL_INSTRUCTION) } else { scan.decimal() };
        let cause = cause.ok_or_else(|| LogError::line(number, "the number of an exception", before))?;
        let pc = find(scan.0, b"PC=").and_then(|at| Scan(&scan.0[at + 3..]).digits());
        let pc = pc.ok_or_else(|| LogError::line(number, "where it happened: PC=...", scan.0))?;
        let highest = if self.xlen == Xlen::Rv32 { 1 << 31 } else { 1 << 63 };
        let mut trap = exception(cause & (highest - 1), commit::address(self.xlen, pc));
        trap.interrupt = cause & highest != 0;
        Ok(trap)
    }
}

fn exception(cause: u64, pc: u64) -> Trap {
    Trap { pc, cause, interrupt: false, value: 0, next: 0, served: false }
}

/// Returns whether a line is of the commit stage: a letter follows the address.
fn is_cycle(mut scan: Scan<'_>) -> bool {
    let Some(_) = scan.decimal() else { return false };
    scan.spaces();
    let Some(_) = scan.hex() else { return false };
    scan.spaces();
    matches!(scan.0, [b'A'..=b'Z', ..])
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).rposition(|window| window == what)
}

/// Exception names of CVA6's tracer.
#[rustfmt::skip]
const NAMES: &[(u64, &str)] = &[
    (0, "INSTR_ADDR_MISALIGNED"),
    (1, "INSTR_ACCESS_FAULT"),
    (2, "ILLEGAL_INSTR"),
    (3, "BREAKPOINT"),
    (4, "LD_ADDR_MISALIGNED"),
    (5, "LD_ACCESS_FAULT"),
    (6, "ST_ADDR_MISALIGNED"),
    (7, "ST_ACCESS_FAULT"),
    (8, "ENV_CALL_UMODE"),
    (9, "ENV_CALL_SMODE"),
    (11, "ENV_CALL_MMODE"),
    (12, "INSTR_PAGE_FAULT"),
    (13, "LOAD_PAGE_FAULT"),
    (15, "STORE_PAGE_FAULT"),
];
