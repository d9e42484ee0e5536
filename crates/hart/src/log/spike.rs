//! Spike's logs: `spike -l`, `spike --log-commits`, or both at once.
//!
//! ```text
//! core   0: 0x0000000080000000 (0x00000297) auipc   t0, 0x0                 -l
//! core   0: 3 0x0000000080000000 (0x00000297) x5  0x0000000080000000        --log-commits
//! 3 0x0000000080000000 (0x00000297) x 5 0x0000000080000000                  the same, before 2020
//! core   0: 3 0x0000000080000008 (0x0002b203) x4  0x0000000000000001 mem 0x0000000080002428
//! core   0: 3 0x000000008000000c (0x0062b023) mem 0x0000000080002428 0x0000000000000002
//! core   0: exception trap_illegal_instruction, epc 0x0000000080000010
//! core   0:           tval 0x0000000000000000
//! core   0: exception interrupt #7, epc 0x0000000080000010
//! core   0: >>>>  main
//! ```
//!
//! `-l` lists an instruction before it runs, `--log-commits` writes its effects afterwards. Exceptions are logged with
//! `-l` only: without it, an instruction that did not retire is missing. Privilege and accesses are logged with
//! `--log-commits` only. The value loaded to x0 is not logged, and only the first access of an instruction is kept.
//!
//! Symbols that `-l` shows, and output of the program between the lines, are skipped and counted.

use std::io::BufRead;

use tracewright_isa::riscv::Xlen;

use super::LogError;
use super::commit::{self, Event, Join};
use super::lines::{Lines, Scan};
use crate::{Retired, Trap};

/// Reader of such a log, for one hart.
#[derive(Debug)]
pub struct Reader<R> {
    lines: Lines<R>,
    xlen: Xlen,
    core: Option<u64>,
    /// Core of the last line, since lines of old versions do not have it.
    last_core: u64,
    join: Join,
    skipped: u64,
    of_others: u64,
    untold: u64,
}

impl<R: BufRead> Reader<R> {
    /// Creates a reader of the first core in `input`.
    pub fn new(xlen: Xlen, input: R) -> Self {
        Self {
            lines: Lines::new(input),
            xlen,
            core: None,
            last_core: 0,
            join: Join::default(),
            skipped: 0,
            of_others: 0,
            untold: 0,
        }
    }

    /// Selects another core.
    #[must_use]
    pub fn with_core(mut self, core: u64) -> Self {
        self.core = Some(core);
        self
    }

    /// Returns the number of lines that are not about instructions.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns the number of lines about other cores.
    pub fn of_others(&self) -> u64 {
        self.of_others
    }

    /// Returns the number of accesses left out because the instruction is not known: those of vector instructions.
    pub fn untold_accesses(&self) -> u64 {
        self.untold
    }

    /// Returns the next instruction or trap; `None` at the end.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or a line is malformed. The next call continues with the next line.
    #[expect(clippy::should_implement_trait, reason = "an iterator's errors come inside out")]
    pub fn next(&mut self) -> Result<Option<Retired>, LogError> {
        while self.lines.advance()? {
            if let Some(event) = self.event()?
                && let Some(retired) = self.join.take(event)
            {
                return Ok(Some(retired));
            }
        }
        Ok(self.join.finish())
    }

    fn event(&mut self) -> Result<Option<Event>, LogError> {
        let number = self.lines.number();
        let mut scan = Scan(self.lines.line());
        let Some(core) = core(&mut scan) else {
            // A commit without its core, or no line of Spike's.
            if !matches!(self.lines.line(), [b'0'..=b'3', b' ', b'0', b'x', ..]) {
                self.skipped += 1;
                return Ok(None);
            }
            if *self.core.get_or_insert(self.last_core) != self.last_core {
                self.of_others += 1;
                return Ok(None);
            }
            return commit::committed(&mut scan, self.xlen, number, &mut self.untold)
                .map(|retired| Some(Event::Committed(retired)));
        };
        self.last_core = core;
        if *self.core.get_or_insert(core) != core {
            self.of_others += 1;
            return Ok(None);
        }
        scan.spaces();
        let event = if scan.0.starts_with(b"0x") {
            Event::Listed(commit::place(&mut scan, self.xlen, number)?)
        } else if scan.0.first().is_some_and(u8::is_ascii_digit) {
            Event::Committed(commit::committed(&mut scan, self.xlen, number, &mut self.untold)?)
        } else if scan.eat("exception ") {
            Event::Trap(trap(&mut scan, self.xlen, number)?)
        } else if scan.eat("tval ") || scan.eat("badaddr ") {
            let value = scan.hex().ok_or_else(|| LogError::line(number, "a hexadecimal number", scan.0))?;
            Event::TrapValue(commit::address(self.xlen, value))
        } else if scan.0.is_empty() || scan.0.starts_with(b">>>>") || scan.0.starts_with(b"tval2 ") {
            self.skipped += 1;
            return Ok(None);
        } else {
            let expected = "an instruction, a commit, an exception, a tval or a symbol";
            return Err(LogError::line(number, expected, scan.0));
        };
        Ok(Some(event))
    }
}

/// Parses `core   0:`. Returns `None` if the line begins otherwise.
pub(super) fn core(scan: &mut Scan<'_>) -> Option<u64> {
    let mut rest = *scan;
    rest.eat("core").then_some(())?;
    rest.spaces();
    let core = rest.decimal()?;
    rest.eat(":").then_some(())?;
    *scan = rest;
    Some(core)
}

/// Parses `NAME, epc 0xADDRESS`.
fn trap(scan: &mut Scan<'_>, xlen: Xlen, line: u64) -> Result<Trap, LogError> {
    let before = scan.0;
    let name = before.split(|&byte| byte == b',').next().unwrap_or_default();
    let mut number = Scan(name);
    let (interrupt, cause) = if number.eat("interrupt #") {
        (true, number.decimal())
    } else if number.eat("trap #") {
        (false, number.decimal())
    } else {
        (
            false,
            NAMES
                .iter()
                .find(|(_, names)| names.iter().any(|&one| one.as_bytes() == name))
                .map(|&(cause, _)| cause),
        )
    };
    let cause = cause.ok_or_else(|| LogError::line(line, "the name of a trap", before))?;
    scan.0 = &before[name.len()..];
    let pc = if scan.eat(", epc ") { scan.hex() } else { None };
    let pc = pc.ok_or_else(|| LogError::line(line, "epc and an address: , epc 0x...", scan.0))?;
    Ok(Trap { pc: commit::address(xlen, pc), cause, interrupt, value: 0, next: 0, served: false })
}

/// Exception names of Spike, current and old.
#[rustfmt::skip]
const NAMES: &[(u64, &[&str])] = &[
    (0, &["trap_instruction_address_misaligned", "trap_misaligned_fetch"]),
    (1, &["trap_instruction_access_fault", "trap_fault_fetch"]),
    (2, &["trap_illegal_instruction"]),
    (3, &["trap_breakpoint"]),
    (4, &["trap_load_address_misaligned", "trap_misaligned_load"]),
    (5, &["trap_load_access_fault", "trap_fault_load"]),
    (6, &["trap_store_address_misaligned", "trap_misaligned_store"]),
    (7, &["trap_store_access_fault", "trap_fault_store"]),
    (8, &["trap_user_ecall"]),
    (9, &["trap_supervisor_ecall"]),
    (10, &["trap_virtual_supervisor_ecall", "trap_hypervisor_ecall"]),
    (11, &["trap_machine_ecall"]),
    (12, &["trap_instruction_page_fault"]),
    (13, &["trap_load_page_fault"]),
    (15, &["trap_store_page_fault"]),
    (16, &["trap_double_trap"]),
    (18, &["trap_software_check"]),
    (19, &["trap_hardware_error"]),
    (20, &["trap_instruction_guest_page_fault"]),
    (21, &["trap_load_guest_page_fault"]),
    (22, &["trap_virtual_instruction"]),
    (23, &["trap_store_guest_page_fault"]),
];
