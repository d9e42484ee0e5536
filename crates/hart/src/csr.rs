//! CSR instructions.

use tracewright_core::{CsrOp, DataAccess, DataKind};
use tracewright_isa::riscv::Op;

use crate::cache::Ready;
use crate::execute::ILLEGAL;
use crate::machine::{Exception, Machine};
use crate::state::Core;

const FFLAGS: u16 = 1;
const FRM: u16 = 2;
const FCSR: u16 = 3;

/// Executes a CSR instruction. Returns the value for its destination.
#[inline(never)]
pub(crate) fn access<M: Machine>(
    core: &mut Core,
    machine: &mut M,
    instruction: &Ready,
) -> Result<u64, Exception> {
    let &Ready { op, rs1, imm, .. } = instruction;
    let csr = imm as u16;
    let operand = operand(core, instruction);
    // Setting or clearing with x0 or 0 does not write. Reads have no side effects here.
    let writes = matches!(op, Op::Csrrw | Op::Csrrwi) || rs1 != 0;
    // The two highest bits mark a read-only CSR.
    if writes && csr >> 10 == 3 {
        return Err(ILLEGAL);
    }
    let old = read(core, machine, csr)?;
    if writes {
        // Bits that come from devices must not be written back.
        let own = old & !machine.outside_bits(csr);
        let new = match op {
            Op::Csrrw | Op::Csrrwi => operand,
            Op::Csrrs | Op::Csrrsi => own | operand,
            _ => own & !operand,
        };
        write(core, machine, csr, new)?;
    }
    Ok(if core.is_rv32 { old as i32 as i64 as u64 } else { old })
}

fn operand(core: &Core, instruction: &Ready) -> u64 {
    match instruction.op {
        Op::Csrrwi | Op::Csrrsi | Op::Csrrci => instruction.rs1.into(),
        _ => core.x[usize::from(instruction.rs1) % 32],
    }
}

/// Returns the data access of a CSR instruction that read `value`, before its destination is written.
pub(crate) fn told(core: &Core, instruction: &Ready, value: u64) -> DataAccess {
    let kind = DataKind::Csr(match instruction.op {
        Op::Csrrw | Op::Csrrwi => CsrOp::Write,
        Op::Csrrs | Op::Csrrsi => CsrOp::Set,
        _ => CsrOp::Clear,
    });
    let number = instruction.imm as u64 & 0xfff;
    let mask = if core.is_rv32 { u64::from(u32::MAX) } else { u64::MAX };
    // A read-only CSR has no operand.
    let operand = (number >> 10 != 3).then(|| operand(core, instruction) & mask);
    let size = if core.is_rv32 { 4 } else { 8 };
    DataAccess { kind, size, address: Some(number), value: Some(value & mask), operand, after: false }
}

fn read<M: Machine>(core: &mut Core, machine: &mut M, csr: u16) -> Result<u64, Exception> {
    match csr {
        FFLAGS..=FCSR if !core.fp_enabled => Err(ILLEGAL),
        FFLAGS => Ok(u64::from(core.fcsr & 0x1f)),
        FRM => Ok(u64::from(core.fcsr >> 5)),
        FCSR => Ok(core.fcsr.into()),
        _ => machine.read_csr(core, csr),
    }
}

fn write<M: Machine>(core: &mut Core, machine: &mut M, csr: u16, value: u64) -> Result<(), Exception> {
    match csr {
        FFLAGS => core.fcsr = core.fcsr & 0xe0 | value as u8 & 0x1f,
        FRM => core.fcsr = core.fcsr & 0x1f | (value as u8 & 7) << 5,
        FCSR => core.fcsr = value as u8,
        _ => return machine.write_csr(core, csr, value),
    }
    core.fp_dirty = true;
    Ok(())
}
