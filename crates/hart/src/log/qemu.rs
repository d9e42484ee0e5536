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

use tracewright_isa::riscv::{Op, Xlen, decode};

use super::LineProblem;
use super::commit::{self, Event};
use super::lines::Scan;
use super::reader::State;
use crate::{Retired, Trap, cause};

/// Parses a line. `code` returns the instruction at an address.
pub(super) fn event(
    line: &[u8],
    state: &mut State,
    code: &mut impl FnMut(u64) -> Option<u32>,
) -> Result<Option<Event>, LineProblem> {
    let mut scan = Scan(line);
    if scan.eat("Trace ") {
        let (cpu, pc) = trace(scan)?;
        if !state.is_of(cpu) {
            return Ok(None);
        }
        let pc = commit::address(state.xlen, pc);
        let bits = code(pc).ok_or(LineProblem::NoCode(pc))?;
        return Ok(Some(Event::Committed(retired(state.xlen, pc, bits))));
    }
    if scan.eat("Stopped execution of TB chain before ") {
        return Ok(Some(Event::Stopped(commit::address(state.xlen, stopped(scan)?))));
    }
    Ok(state.skip())
}

fn retired(xlen: Xlen, pc: u64, bits: u32) -> Retired {
    let mut retired = commit::instruction(xlen, pc, bits);
    let (cause, served) = match decode(xlen, retired.bits).op {
        Op::Ecall => (cause::ECALL_U, true),
        Op::Ebreak => (cause::BREAKPOINT, false),
        _ => return retired,
    };
    let next = pc.wrapping_add(u64::from(retired.len));
    retired.trap = Some(Trap { next, served, ..commit::trap(pc, cause, false) });
    retired
}

/// Parses `CPU: 0xHOST [BASE/ADDRESS/FLAGS/COMPILED] SYMBOL`. Returns CPU and address.
fn trace(mut scan: Scan<'_>) -> Result<(u64, u64), LineProblem> {
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
    let (cpu, pc, compiled) = fields.ok_or_else(|| LineProblem::unexpected(expected, before))?;
    if compiled.is_some_and(|compiled| compiled & 0x1ff != 1) {
        let expected = "blocks of one instruction (run QEMU with -singlestep or -one-insn-per-tb)";
        return Err(LineProblem::unexpected(expected, before));
    }
    Ok((cpu, pc))
}

/// Parses `0xHOST [ADDRESS] SYMBOL`. Returns the address.
fn stopped(mut scan: Scan<'_>) -> Result<u64, LineProblem> {
    let before = scan.0;
    let pc = (|| {
        scan.hex()?;
        scan.eat(" [").then_some(())?;
        scan.digits()
    })();
    pc.ok_or_else(|| LineProblem::unexpected("a block: 0x... [ADDRESS]", before))
}
