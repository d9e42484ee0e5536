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
//! has neither its cause ([`UNTOLD`](super::UNTOLD)) nor, after a branch, its address (0). Neither style has the values of traps.

use tracewright_isa::riscv::Xlen;

use super::commit::{self, Event};
use super::lines::Scan;
use super::reader::State;
use super::{LineProblem, spike};
use crate::{Privilege, Retired, Trap, cause};

pub(super) fn event(line: &[u8], state: &mut State) -> Result<Option<Event>, LineProblem> {
    const EXCEPTION: &[u8] = b" exception @ ";
    let (xlen, mut scan) = (state.xlen, Scan(line));
    let event = if spike::core(&mut scan).is_some() {
        Event::Listed(listed(scan, xlen)?)
    } else if scan.eat("core") {
        scan.spaces();
        if !scan.eat("INTERRUPT") {
            return Err(LineProblem::unexpected("core and its number", line));
        }
        scan.spaces();
        scan.decimal();
        scan.eat(":");
        Event::Interrupt(listed(scan, xlen)?)
    } else if scan.eat("Exception Cause:") {
        Event::Trap(exception(scan, xlen)?)
    } else {
        scan.spaces();
        if is_cycle(scan) {
            Event::Committed(cycle(scan, xlen)?)
        } else if commit::is_bare(scan.0) {
            commit::committed(&mut scan, xlen)?
        } else if let Some(at) = find(line, EXCEPTION) {
            let cause = commit::cause_of(&line[..at]);
            let cause = cause.ok_or_else(|| LineProblem::unexpected("the name of an exception", line))?;
            let place = commit::place(&mut Scan(&line[at + EXCEPTION.len()..]), xlen)?;
            Event::Trap(commit::trap(place.pc, cause, false))
        } else {
            return Ok(state.skip());
        }
    };
    Ok(Some(event))
}

/// Parses what follows `core   0:`.
fn listed(mut scan: Scan<'_>, xlen: Xlen) -> Result<Retired, LineProblem> {
    scan.spaces();
    let mut listed = commit::place(&mut scan, xlen)?;
    if scan.eat("@") {
        scan.spaces();
        listed.cycle = scan.decimal();
    }
    Ok(listed)
}

/// Parses `CYCLE 0xADDRESS MODE (0xBITS)`.
fn cycle(mut scan: Scan<'_>, xlen: Xlen) -> Result<Retired, LineProblem> {
    let before = scan.0;
    let retired = (|| {
        let cycle = scan.decimal()?;
        scan.spaces();
        let pc = scan.hex()?;
        scan.spaces();
        let privilege = match scan.word() {
            b"M" => Some(Privilege::Machine),
            b"S" => Some(Privilege::Supervisor),
            b"U" => Some(Privilege::User),
            b"D" => None,
            _ => return None,
        };
        scan.eat("(").then_some(())?;
        let bits = u32::try_from(scan.hex()?).ok()?;
        Some(Retired { privilege, cycle: Some(cycle), ..commit::instruction(xlen, pc, bits) })
    })();
    let expected = "cycle, address, mode and instruction: 1 0x... M (0x...)";
    retired.ok_or_else(|| LineProblem::unexpected(expected, before))
}

/// Parses what follows `Exception Cause:`.
fn exception(mut scan: Scan<'_>, xlen: Xlen) -> Result<Trap, LineProblem> {
    scan.spaces();
    let before = scan.0;
    let cause =
        if scan.eat("Illegal Instructions") { Some(cause::ILLEGAL_INSTRUCTION) } else { scan.decimal() };
    let cause = cause.ok_or_else(|| LineProblem::unexpected("the number of an exception", before))?;
    let pc = find(scan.0, b"PC=").and_then(|at| Scan(&scan.0[at + 3..]).digits());
    let pc = pc.ok_or_else(|| LineProblem::unexpected("where it happened: PC=...", scan.0))?;
    let highest = if xlen == Xlen::Rv32 { 1 << 31 } else { 1 << 63 };
    Ok(commit::trap(commit::address(xlen, pc), cause & (highest - 1), cause & highest != 0))
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
