//! Instructions that trap, and the numbers of traps.

use tracewright_core::Isa;
use tracewright_hart::{Trap, cause};
use tracewright_isa::riscv::{self, AccessKind, Op, Xlen};

/// Kind of trapping instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trapping {
    /// A system call.
    Call,
    /// A breakpoint.
    Breakpoint,
    /// Permanently undefined.
    Undefined,
}

/// ETMv4's exception types of the A profile.
mod etm {
    pub const CALL: u64 = 2;
    pub const TRAP: u64 = 3;
    pub const INST_DEBUG: u64 = 6;
    pub const DATA_FAULT: u64 = 0xc;
    pub const IRQ: u64 = 0xe;
}

/// RISC-V interrupt 0, which is reserved and once was the user software interrupt.
const USER_SOFTWARE: u64 = 0;

impl Trapping {
    /// Classifies an instruction that traps whenever it runs.
    pub fn of(isa: Isa, bits: u32) -> Option<Self> {
        match isa {
            Isa::A64 => match bits & 0xffe0_001f {
                0xd400_0001 => Some(Self::Call),
                0xd420_0000 | 0xd440_0000 => Some(Self::Breakpoint),
                0xd400_0002 | 0xd400_0003 => Some(Self::Undefined),
                _ if bits >> 16 == 0 => Some(Self::Undefined),
                _ => None,
            },
            Isa::A32 => match bits {
                _ if bits >> 28 == 0xf => None,
                _ if bits & 0x0f00_0000 == 0x0f00_0000 => Some(Self::Call),
                _ if bits & 0x0ff0_00f0 == 0x0120_0070 => Some(Self::Breakpoint),
                _ if bits & 0xfff0_00f0 == 0xe7f0_00f0 => Some(Self::Undefined),
                _ => None,
            },
            Isa::T32 => match bits {
                0xdf00..=0xdfff => Some(Self::Call),
                0xbe00..=0xbeff => Some(Self::Breakpoint),
                0xde00..=0xdeff => Some(Self::Undefined),
                _ if bits & 0xfff0_f000 == 0xf7f0_a000 => Some(Self::Undefined),
                _ => None,
            },
            Isa::Rv32 | Isa::Rv64 => match riscv::decode(xlen(isa), bits).op {
                Op::Ecall => Some(Self::Call),
                Op::Ebreak => Some(Self::Breakpoint),
                Op::Illegal if bits == 0 => Some(Self::Undefined),
                _ => None,
            },
        }
    }

    const fn cause(self, isa: Isa) -> u64 {
        match (self, is_riscv(isa)) {
            (Self::Call, false) => etm::CALL,
            (Self::Breakpoint, false) => etm::INST_DEBUG,
            (Self::Undefined, false) => etm::TRAP,
            (Self::Call, true) => cause::ECALL_U,
            (Self::Breakpoint, true) => cause::BREAKPOINT,
            (Self::Undefined, true) => cause::ILLEGAL_INSTRUCTION,
        }
    }
}

/// Returns the trap of a system call after which execution continued at `next`. On RISC-V `pc` is the instruction
/// itself, on Arm the one behind it.
pub(super) fn call(isa: Isa, pc: u64, next: u64) -> Trap {
    Trap { pc, cause: Trapping::Call.cause(isa), interrupt: false, value: 0, next, served: true }
}

/// Returns the trap of an instruction at `pc` that did not retire.
pub(super) fn fault(isa: Isa, bits: u32, pc: u64, next: u64) -> Trap {
    let cause = match Trapping::of(isa, bits) {
        Some(trapping) => trapping.cause(isa),
        None if is_riscv(isa) => {
            let found = riscv::decode(xlen(isa), bits);
            match found.access() {
                _ if found.op == Op::Illegal => cause::ILLEGAL_INSTRUCTION,
                Some((AccessKind::Load, _)) => cause::LOAD_PAGE_FAULT,
                Some(_) => cause::STORE_PAGE_FAULT,
                // Otherwise fetching it failed.
                None => cause::INSTRUCTION_PAGE_FAULT,
            }
        }
        None => etm::DATA_FAULT,
    };
    Trap { pc, cause, interrupt: false, value: 0, next, served: false }
}

/// Returns the trap of a signal before the instruction at `pc`.
pub(super) fn signal(isa: Isa, pc: u64, next: u64) -> Trap {
    let cause = if is_riscv(isa) { USER_SOFTWARE } else { etm::IRQ };
    Trap { pc, cause, interrupt: true, value: 0, next, served: false }
}

pub(super) const fn is_riscv(isa: Isa) -> bool {
    matches!(isa, Isa::Rv32 | Isa::Rv64)
}

pub(super) const fn xlen(isa: Isa) -> Xlen {
    match isa {
        Isa::Rv32 => Xlen::Rv32,
        _ => Xlen::Rv64,
    }
}
