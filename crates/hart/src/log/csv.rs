//! Retirement traces in CSV, the input of the E-Trace reference models.
//!
//! The first line is `VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT`, each further one an instruction or
//! a trap. Numbers are hexadecimal without `0x`. If EXCEPTION is 1, the instruction did not retire. After an interrupt
//! it comes again, possibly with other bits, since those of a line with INTERRUPT are a placeholder. If EXCEPTION is 0,
//! ECAUSE and TVAL are stale. Lines with VALID 0 are ignored.

use super::commit::{self, Event};
use super::lines::Scan;
use super::reader::State;
use super::{LineProblem, LogError};
use crate::{Privilege, Retired, Trap};

/// The first line.
pub(super) const HEADER: &str = "VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT";

/// Checks the first line, which has no content.
pub(super) fn check_header(line: &[u8]) -> Result<Option<Event>, LineProblem> {
    if line == HEADER.as_bytes() { Ok(None) } else { Err(LineProblem::unexpected(HEADER, line)) }
}

/// Returns the error of a first line that names some of the columns, but not as they must be.
pub fn wrong_header(start: &[u8]) -> Option<LogError> {
    let line = start.split(|&byte| byte == b'\n').next()?.trim_ascii_end();
    let is_column =
        |name: &[u8]| HEADER.split(',').any(|column| name.eq_ignore_ascii_case(column.as_bytes()));
    let named = line.split(|&byte| byte == b',').filter(|name| is_column(name.trim_ascii())).count();
    let problem = check_header(line).err().filter(|_| named >= 2)?;
    Some(LogError { line: 1, problem })
}

/// Parses a further line. Empty ones, and those with VALID 0, are skipped.
pub(super) fn event(line: &[u8], state: &mut State) -> Result<Option<Event>, LineProblem> {
    if line.is_empty() {
        return Ok(state.skip());
    }
    let mut scan = Scan(line);
    let mut field = |what: &'static str, max: u64, is_last: bool| {
        let before = scan.0;
        match scan.digits() {
            Some(value) if value <= max && (if is_last { scan.0.is_empty() } else { scan.eat(",") }) => {
                Ok(value)
            }
            // Only the field, unless more follows where none may.
            _ => {
                let has_prefix = before.starts_with(b"0x") || before.starts_with(b"0X");
                let what = if has_prefix { "hexadecimal digits without 0x" } else { what };
                let len = before.iter().position(|&byte| byte == b',').filter(|_| !is_last);
                Err(LineProblem::unexpected(what, &before[..len.unwrap_or(before.len())]))
            }
        }
    };
    let is_valid = field("0 or 1 (VALID)", 1, false)? == 1;
    let pc = field("a hexadecimal number (ADDRESS)", u64::MAX, false)?;
    let bits = field("32 bits in hexadecimal (INSN)", 0xffff_ffff, false)? as u32;
    let privilege = field("0, 1 or 3 (PRIVILEGE)", 3, false)?;
    let privilege = Privilege::from_bits(privilege)
        .ok_or_else(|| LineProblem::unexpected("0, 1 or 3 (PRIVILEGE)", line))?;
    let is_trap = field("0 or 1 (EXCEPTION)", 1, false)? == 1;
    let cause = field("a hexadecimal number (ECAUSE)", u64::MAX, false)?;
    let value = field("a hexadecimal number (TVAL)", u64::MAX, false)?;
    let interrupt = field("0 or 1 (INTERRUPT)", 1, true)? == 1;
    if !is_valid {
        return Ok(state.skip());
    }
    let mut retired = Retired { privilege: Some(privilege), ..Retired::new(pc, bits) };
    if is_trap || interrupt {
        // The highest bit of mcause (bit 31 in RV32) marks an interrupt.
        let cause = if interrupt { cause & 0x7fff_ffff } else { cause };
        retired.trap = Some(Trap { value, ..commit::trap(pc, cause, interrupt) });
        if interrupt {
            (retired.bits, retired.len) = (0, 0);
        }
    }
    Ok(Some(Event::Complete(retired)))
}
