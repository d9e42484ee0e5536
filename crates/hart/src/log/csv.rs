//! Retirement traces in CSV, the input of the E-Trace reference models.
//!
//! The first line is `VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT`, each further one an instruction or
//! a trap. Numbers are hexadecimal without `0x`. If EXCEPTION is 1, the instruction did not retire. After an interrupt
//! it comes again, possibly with other bits, since those of a line with INTERRUPT are a placeholder. If EXCEPTION is 0,
//! ECAUSE and TVAL are stale. Lines with VALID 0 are ignored.

use std::io::BufRead;

use super::LogError;
use super::lines::{Lines, Scan};
use crate::{Privilege, Retired, Trap};

/// The first line.
pub(super) const HEADER: &str = "VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT";

/// Reader of such a trace.
#[derive(Debug)]
pub struct Reader<R> {
    lines: Lines<R>,
    skipped: u64,
}

impl<R: BufRead> Reader<R> {
    /// Creates a reader of `input`.
    pub fn new(input: R) -> Self {
        Self { lines: Lines::new(input), skipped: 0 }
    }

    /// Returns the number of ignored lines: empty ones, and those with VALID 0.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns the next instruction or trap; `None` at the end.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or a line is malformed. The next call continues with the next line.
    #[expect(clippy::should_implement_trait, reason = "an iterator's errors come inside out")]
    pub fn next(&mut self) -> Result<Option<Retired>, LogError> {
        while self.lines.advance()? {
            let number = self.lines.number();
            let line = self.lines.line();
            if number == 1 {
                if line != HEADER.as_bytes() {
                    return Err(LogError::line(number, HEADER, line));
                }
            } else if line.is_empty() {
                self.skipped += 1;
            } else {
                match row(number, line)? {
                    Some(retired) => return Ok(Some(retired)),
                    None => self.skipped += 1,
                }
            }
        }
        Ok(None)
    }
}

fn row(number: u64, line: &[u8]) -> Result<Option<Retired>, LogError> {
    let mut scan = Scan(line);
    let mut field = |what: &'static str, max: u64, is_last: bool| {
        let before = scan.0;
        match scan.digits() {
            Some(value) if value <= max && (if is_last { scan.0.is_empty() } else { scan.eat(",") }) => {
                Ok(value)
            }
            _ => Err(LogError::line(number, what, before)),
        }
    };
    let is_valid = field("0 or 1 (VALID)", 1, false)? == 1;
    let pc = field("a hexadecimal number (ADDRESS)", u64::MAX, false)?;
    let bits = field("32 bits in hexadecimal (INSN)", 0xffff_ffff, false)? as u32;
    let privilege = field("0, 1 or 3 (PRIVILEGE)", 3, false)?;
    let privilege = Privilege::from_bits(privilege)
        .ok_or_else(|| LogError::line(number, "0, 1 or 3 (PRIVILEGE)", line))?;
    let is_trap = field("0 or 1 (EXCEPTION)", 1, false)? == 1;
    let cause = field("a hexadecimal number (ECAUSE)", u64::MAX, false)?;
    let value = field("a hexadecimal number (TVAL)", u64::MAX, false)?;
    let interrupt = field("0 or 1 (INTERRUPT)", 1, true)? == 1;
    if !is_valid {
        return Ok(None);
    }
    let mut retired = Retired { privilege: Some(privilege), ..Retired::new(pc, bits) };
    if is_trap || interrupt {
        // The highest bit of mcause (bit 31 in RV32) marks an interrupt.
        let cause = if interrupt { cause & 0x7fff_ffff } else { cause };
        retired.trap = Some(Trap { pc, cause, interrupt, value, next: 0, served: false });
        if interrupt {
            (retired.bits, retired.len) = (0, 0);
        }
    }
    Ok(Some(retired))
}
