//! Execution of instructions.

use tracewright_core::{AtomicOp, DataAccess, DataKind};
use tracewright_isa::riscv::{AccessKind, Op, Register};

use crate::access::{load, load_to_store, store};
use crate::cache::Ready;
use crate::machine::{Exception, Machine, cause};
use crate::state::{Core, X0_SINK};
use crate::{Access, HartSink, RegisterWrite, csr, float, integer};

/// Continuation after a piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    pub pc: u64,
    pub taken: bool,
}

/// Consecutive instructions of a piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    pub ready: &'a [Ready],
    /// Bits of each instruction.
    pub bits: &'a [u32],
    /// Address of the first instruction of the piece.
    pub start: u64,
    /// Address after the last of these instructions.
    pub end: u64,
    /// Number of instructions of the block executed before.
    pub done: u32,
}

/// Executes consecutive instructions.
///
/// # Errors
/// Returns the exception, and how many instructions retired before it.
#[inline(always)]
pub(crate) fn execute<M: Machine, S: HartSink>(
    core: &mut Core,
    machine: &mut M,
    part: Part<'_>,
    sink: &mut S,
) -> Result<Next, (usize, Exception)> {
    let Part { ready, bits, start, end, done } = part;
    let mut next = Next { pc: end, taken: false };
    for (i, &Ready { op, rd, rs1, rs2, rs3, mode, at, imm }) in ready.iter().enumerate() {
        macro_rules! x {
            ($register:expr) => {
                core.x[usize::from($register) % 32]
            };
        }
        macro_rules! set {
            ($value:expr) => {{
                let value: u64 = $value;
                // The highest register takes writes to x0.
                core.x[usize::from(rd).min(32)] = value;
            }};
        }
        macro_rules! word {
            ($value:expr) => {
                set!($value as i32 as i64 as u64)
            };
        }
        macro_rules! attempt {
            ($result:expr) => {
                match $result {
                    Ok(value) => value,
                    Err(exception) => return Err((i, with_bits(exception, bits, i))),
                }
            };
        }
        macro_rules! data {
            ($kind:expr, $size:expr, $address:expr, $value:expr, $operand:expr) => {
                if S::DATA {
                    let (kind, size, address) = ($kind, $size, Some($address));
                    let access =
                        DataAccess { kind, size, address, value: $value, operand: $operand, after: false };
                    sink.data(core.address(start.wrapping_add(at.into())), &access);
                }
            };
        }
        macro_rules! tell {
            ($kind:ident, $data:expr, $size:expr, $address:expr, $value:expr, $operand:expr) => {
                if S::ACCESSES {
                    let (index, kind, size) = (done + i as u32, AccessKind::$kind, $size);
                    sink.access(&Access { index, kind, size, address: $address, value: $value });
                }
                data!($data, $size, $address, Some($value), $operand);
            };
        }
        macro_rules! address {
            () => {
                core.address(x!(rs1).wrapping_add(imm as u64))
            };
        }
        macro_rules! load {
            ($size:literal, $address:expr) => {{
                let address = $address;
                let value = attempt!(load::<$size, M>(core, machine, address));
                tell!(Load, DataKind::Load, $size, address, value, None);
                value
            }};
            ($size:literal) => {
                load!($size, address!())
            };
        }
        macro_rules! store {
            ($size:literal, $address:expr, $value:expr) => {{
                let (address, value): (_, u64) = ($address, $value);
                attempt!(store::<$size, M>(core, machine, address, value));
                let value = value & (u64::MAX >> (64 - 8 * $size));
                tell!(Store, DataKind::Store, $size, address, value, None);
            }};
            ($size:literal, $value:expr) => {
                store!($size, address!(), $value)
            };
        }
        macro_rules! branch {
            ($condition:expr) => {
                if $condition {
                    next = Next { pc: imm as u64, taken: true };
                }
            };
        }
        macro_rules! amo {
            ($size:literal, $signed:ty, $kind:ident, $new:expr) => {{
                let address = core.address(x!(rs1));
                attempt!(aligned(address, $size));
                let old = attempt!(load_to_store::<$size, M>(core, machine, address));
                let new: fn($signed, $signed) -> $signed = $new;
                let value = new(old as $signed, x!(rs2) as $signed);
                attempt!(store::<$size, M>(core, machine, address, value as u64));
                let operand = x!(rs2) & (u64::MAX >> (64 - 8 * $size));
                tell!(Amo, DataKind::Atomic(AtomicOp::$kind), $size, address, old, Some(operand));
                set!(old as $signed as i64 as u64);
            }};
        }
        macro_rules! reserve {
            ($size:literal, $signed:ty) => {{
                let address = core.address(x!(rs1));
                if !address.is_multiple_of($size) {
                    return Err((i, Exception { cause: cause::LOAD_MISALIGNED, value: address }));
                }
                let value = load!($size, address);
                core.reservation = Some(address);
                set!(value as $signed as i64 as u64);
            }};
        }
        macro_rules! store_conditional {
            ($size:literal) => {{
                let address = core.address(x!(rs1));
                attempt!(aligned(address, $size));
                let succeeds = core.reservation == Some(address);
                if succeeds {
                    store!($size, address, x!(rs2));
                } else {
                    data!(DataKind::StoreFailed, $size, address, None, None);
                }
                core.reservation = None;
                set!(u64::from(!succeeds));
            }};
        }
        match op {
            Op::Lui | Op::Auipc => set!(imm as u64),
            Op::Jal => {
                set!(link(core, end));
                next = Next { pc: imm as u64, taken: true };
            }
            Op::Jalr => {
                let target = core.address(x!(rs1).wrapping_add(imm as u64) & !1);
                set!(link(core, end));
                next = Next { pc: target, taken: true };
            }
            Op::Beq => branch!(x!(rs1) == x!(rs2)),
            Op::Bne => branch!(x!(rs1) != x!(rs2)),
            Op::Blt => branch!((x!(rs1) as i64) < x!(rs2) as i64),
            Op::Bge => branch!(x!(rs1) as i64 >= x!(rs2) as i64),
            Op::Bltu => branch!(x!(rs1) < x!(rs2)),
            Op::Bgeu => branch!(x!(rs1) >= x!(rs2)),
            Op::Lb => set!(load!(1) as i8 as i64 as u64),
            Op::Lh => set!(load!(2) as i16 as i64 as u64),
            Op::Lw => set!(load!(4) as i32 as i64 as u64),
            Op::Ld => set!(load!(8)),
            Op::Lbu => set!(load!(1)),
            Op::Lhu => set!(load!(2)),
            Op::Lwu => set!(load!(4)),
            Op::Sb => store!(1, x!(rs2)),
            Op::Sh => store!(2, x!(rs2)),
            Op::Sw => store!(4, x!(rs2)),
            Op::Sd => store!(8, x!(rs2)),
            Op::Addi => set!(x!(rs1).wrapping_add(imm as u64)),
            Op::Slti => set!(u64::from((x!(rs1) as i64) < imm)),
            Op::Sltiu => set!(u64::from(x!(rs1) < imm as u64)),
            Op::Xori => set!(x!(rs1) ^ imm as u64),
            Op::Ori => set!(x!(rs1) | imm as u64),
            Op::Andi => set!(x!(rs1) & imm as u64),
            Op::Slli => set!(x!(rs1) << (imm & 63)),
            Op::Srli => set!(x!(rs1) >> (imm & 63)),
            Op::Srai => set!((x!(rs1) as i64 >> (imm & 63)) as u64),
            Op::Add => set!(x!(rs1).wrapping_add(x!(rs2))),
            Op::Sub => set!(x!(rs1).wrapping_sub(x!(rs2))),
            Op::Sll => set!(x!(rs1) << (x!(rs2) & 63)),
            Op::Slt => set!(u64::from((x!(rs1) as i64) < x!(rs2) as i64)),
            Op::Sltu => set!(u64::from(x!(rs1) < x!(rs2))),
            Op::Xor => set!(x!(rs1) ^ x!(rs2)),
            Op::Srl => set!(x!(rs1) >> (x!(rs2) & 63)),
            Op::Sra => set!((x!(rs1) as i64 >> (x!(rs2) & 63)) as u64),
            Op::Or => set!(x!(rs1) | x!(rs2)),
            Op::And => set!(x!(rs1) & x!(rs2)),
            Op::Addiw => word!(x!(rs1).wrapping_add(imm as u64)),
            Op::Slliw => word!((x!(rs1) as u32) << (imm & 31)),
            Op::Srliw => word!(x!(rs1) as u32 >> (imm & 31)),
            Op::Sraiw => word!(x!(rs1) as i32 >> (imm & 31)),
            Op::Addw => word!(x!(rs1).wrapping_add(x!(rs2))),
            Op::Subw => word!(x!(rs1).wrapping_sub(x!(rs2))),
            Op::Sllw => word!((x!(rs1) as u32) << (x!(rs2) & 31)),
            Op::Srlw => word!(x!(rs1) as u32 >> (x!(rs2) & 31)),
            Op::Sraw => word!(x!(rs1) as i32 >> (x!(rs2) & 31)),
            Op::Mul => set!(x!(rs1).wrapping_mul(x!(rs2))),
            Op::Mulw => word!(x!(rs1).wrapping_mul(x!(rs2))),
            Op::Fence => {}
            Op::FenceI => core.code_changed = true,
            Op::Ecall => return Err((i, Exception { cause: ecall(machine), value: 0 })),
            Op::Ebreak => {
                let value = core.address(start.wrapping_add(at.into()));
                return Err((i, Exception { cause: cause::BREAKPOINT, value }));
            }
            Op::Illegal => return Err((i, with_bits(ILLEGAL, bits, i))),
            Op::Csrrw | Op::Csrrs | Op::Csrrc | Op::Csrrwi | Op::Csrrsi | Op::Csrrci => {
                // Counters exclude this instruction and those after it.
                core.instret += i as u64;
                let result = csr::access(core, machine, &ready[i]);
                core.instret -= i as u64;
                let value = attempt!(result);
                if S::DATA {
                    let pc = core.address(start.wrapping_add(at.into()));
                    sink.data(pc, &csr::told(core, &ready[i], value));
                }
                set!(value);
            }
            Op::Mret | Op::Sret | Op::Wfi | Op::SfenceVma => {
                core.pc = core.address(start.wrapping_add(at.into()));
                let pc = attempt!(machine.privileged(core, op));
                next = Next { pc, taken: matches!(op, Op::Mret | Op::Sret) };
            }
            Op::LrW => reserve!(4, i32),
            Op::LrD => reserve!(8, i64),
            Op::ScW => store_conditional!(4),
            Op::ScD => store_conditional!(8),
            Op::AmoswapW => amo!(4, i32, Swap, |_, new| new),
            Op::AmoaddW => amo!(4, i32, Add, i32::wrapping_add),
            Op::AmoxorW => amo!(4, i32, Xor, |a, b| a ^ b),
            Op::AmoandW => amo!(4, i32, And, |a, b| a & b),
            Op::AmoorW => amo!(4, i32, Or, |a, b| a | b),
            Op::AmominW => amo!(4, i32, Min, |a, b| a.min(b)),
            Op::AmomaxW => amo!(4, i32, Max, |a, b| a.max(b)),
            Op::AmominuW => amo!(4, i32, Min, |a, b| (a as u32).min(b as u32) as i32),
            Op::AmomaxuW => amo!(4, i32, Max, |a, b| (a as u32).max(b as u32) as i32),
            Op::AmoswapD => amo!(8, i64, Swap, |_, new| new),
            Op::AmoaddD => amo!(8, i64, Add, i64::wrapping_add),
            Op::AmoxorD => amo!(8, i64, Xor, |a, b| a ^ b),
            Op::AmoandD => amo!(8, i64, And, |a, b| a & b),
            Op::AmoorD => amo!(8, i64, Or, |a, b| a | b),
            Op::AmominD => amo!(8, i64, Min, |a, b| a.min(b)),
            Op::AmomaxD => amo!(8, i64, Max, |a, b| a.max(b)),
            Op::AmominuD => amo!(8, i64, Min, |a, b| (a as u64).min(b as u64) as i64),
            Op::AmomaxuD => amo!(8, i64, Max, |a, b| (a as u64).max(b as u64) as i64),
            Op::Flw => {
                core.f[usize::from(rd) % 32] = load!(4) | 0xffff_ffff << 32;
                core.fp_dirty = true;
            }
            Op::Fld => {
                core.f[usize::from(rd) % 32] = load!(8);
                core.fp_dirty = true;
            }
            Op::Fsw => store!(4, core.f[usize::from(rs2) % 32]),
            Op::Fsd => store!(8, core.f[usize::from(rs2) % 32]),
            op if (op as u8) < Op::Flw as u8 || op as u8 > Op::FmvDX as u8 => {
                set!(integer::compute(op, x!(rs1), x!(rs2), imm as u32, core.is_rv32));
            }
            op => {
                let operands = float::Operands { rd, rs1, rs2, rs3, mode };
                if !float::execute(core, op, operands) {
                    return Err((i, with_bits(ILLEGAL, bits, i)));
                }
            }
        }
        if S::REGISTERS
            && let Some((register, value)) = written(core, op, rd)
        {
            sink.register(&RegisterWrite { index: done + i as u32, register, value });
        }
    }
    Ok(next)
}

/// Returns the register that an instruction wrote, and its value.
fn written(core: &Core, op: Op, rd: u8) -> Option<(Register, u64)> {
    use Op::*;
    let at = usize::from(rd);
    match op {
        Beq | Bne | Blt | Bge | Bltu | Bgeu | Sb | Sh | Sw | Sd | Fsw | Fsd => None,
        Fence | FenceI | Ecall | Ebreak | Illegal | Mret | Sret | Wfi | SfenceVma => None,
        op if float::registers(op)[0] == 2 => Some((Register::F(rd), core.f[at % 32])),
        _ if at == X0_SINK => None,
        _ => Some((Register::X(rd), core.address(core.x[at % 32]))),
    }
}

/// An illegal instruction exception. The bits are filled in later.
pub(crate) const ILLEGAL: Exception = Exception { cause: cause::ILLEGAL_INSTRUCTION, value: 0 };

#[cold]
fn with_bits(exception: Exception, bits: &[u32], i: usize) -> Exception {
    match exception.cause {
        cause::ILLEGAL_INSTRUCTION => {
            Exception { value: bits.get(i).copied().unwrap_or(0).into(), ..exception }
        }
        _ => exception,
    }
}

/// Returns the address after a jump, which ends its piece.
#[inline(always)]
fn link(core: &Core, end: u64) -> u64 {
    if core.is_rv32 { end as i32 as i64 as u64 } else { end }
}

#[cold]
fn ecall<M: Machine>(machine: &M) -> u64 {
    cause::ECALL_U + machine.privilege() as u64
}

/// Checks the alignment of an atomic access.
#[inline(always)]
fn aligned(address: u64, size: u64) -> Result<(), Exception> {
    if address.is_multiple_of(size) {
        return Ok(());
    }
    Err(Exception { cause: cause::STORE_MISALIGNED, value: address })
}
