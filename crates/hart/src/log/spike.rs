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

use tracewright_isa::riscv::Xlen;

use super::LineProblem;
use super::commit::{self, Event};
use super::lines::Scan;
use super::reader::State;
use crate::Trap;

pub(super) fn event(line: &[u8], state: &mut State) -> Result<Option<Event>, LineProblem> {
    let (xlen, mut scan) = (state.xlen, Scan(line));
    match core(&mut scan) {
        Some(core) => state.last_hart = core,
        // A commit without its core.
        None if commit::is_bare(line) => {}
        None => return Ok(state.skip()),
    }
    if !state.is_of(state.last_hart) {
        return Ok(None);
    }
    scan.spaces();
    let event = if scan.0.starts_with(b"0x") {
        Event::Listed(commit::place(&mut scan, xlen)?)
    } else if scan.0.first().is_some_and(u8::is_ascii_digit) {
        commit::committed(&mut scan, xlen)?
    } else if scan.eat("exception ") {
        Event::Trap(trap(&mut scan, xlen)?)
    } else if scan.eat("tval ") || scan.eat("badaddr ") {
        let value = scan.hex().ok_or_else(|| LineProblem::unexpected("a hexadecimal number", scan.0))?;
        Event::TrapValue(commit::address(xlen, value))
    } else if scan.0.is_empty() || scan.0.starts_with(b">>>>") || scan.0.starts_with(b"tval2 ") {
        return Ok(state.skip());
    } else {
        let expected = "an instruction, a commit, an exception, a tval or a symbol";
        return Err(LineProblem::unexpected(expected, scan.0));
    };
    Ok(Some(event))
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
fn trap(scan: &mut Scan<'_>, xlen: Xlen) -> Result<Trap, LineProblem> {
    let before = scan.0;
    let name = before.split(|&byte| byte == b',').next().unwrap_or_default();
    let mut number = Scan(name);
    let interrupt = number.eat("interrupt #");
    let cause = if interrupt || number.eat("trap #") { number.decimal() } else { commit::cause_of(name) };
    let cause = cause.ok_or_else(|| LineProblem::unexpected("the name of a trap", before))?;
    scan.0 = &before[name.len()..];
    let pc = if scan.eat(", epc ") { scan.hex() } else { None };
    let pc = pc.ok_or_else(|| LineProblem::unexpected("epc and an address: , epc 0x...", scan.0))?;
    Ok(commit::trap(commit::address(xlen, pc), cause, interrupt))
}
