//! Floating-point instructions. `tracewright-softfloat` does the arithmetic.

use tracewright_isa::riscv::Op;
use tracewright_softfloat::{Flags, Rounding, double, single};

use crate::state::Core;

/// Operands of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operands {
    pub rd: u8,
    pub rs1: u8,
    pub rs2: u8,
    pub rs3: u8,
    pub mode: u8,
}

const SIGN32: u32 = 1 << 31;
const SIGN64: u64 = 1 << 63;
/// Upper half of a NaN-boxed single.
const BOX: u64 = 0xffff_ffff << 32;
const NAN32: u32 = 0x7fc0_0000;

/// Executes an instruction. Returns `false` if its rounding mode is invalid.
#[inline(never)]
pub(crate) fn execute(core: &mut Core, op: Op, operands: Operands) -> bool {
    let Operands { rd, rs1, rs2, rs3, mode } = operands;
    let mode = if mode == 7 { core.fcsr >> 5 } else { mode };
    let mut flags = Flags(core.fcsr & 0x1f);
    let f = |register: u8| core.f[usize::from(register) % 32];
    let (a, b, c) = (f(rs1), f(rs2), f(rs3));
    let (sa, sb, sc) = (unbox(a), unbox(b), unbox(c));
    let x = core.x[usize::from(rs1) % 32];
    macro_rules! rounding {
        () => {
            match Rounding::from_rm(mode) {
                Some(rounding) => rounding,
                None => return false,
            }
        };
    }
    enum Value {
        Single(u32),
        Double(u64),
        Integer(u64),
    }
    use Value::{Double, Integer, Single};
    let word = |value: u32| Integer(value as i32 as i64 as u64);
    let flag = |value: bool| Integer(value.into());
    let value = match op {
        Op::FaddS => Single(single::add(sa, sb, rounding!(), &mut flags)),
        Op::FsubS => Single(single::sub(sa, sb, rounding!(), &mut flags)),
        Op::FmulS => Single(single::mul(sa, sb, rounding!(), &mut flags)),
        Op::FdivS => Single(single::div(sa, sb, rounding!(), &mut flags)),
        Op::FsqrtS => Single(single::sqrt(sa, rounding!(), &mut flags)),
        Op::FmaddS => Single(single::fma(sa, sb, sc, rounding!(), &mut flags)),
        Op::FmsubS => Single(single::fma(sa, sb, sc ^ SIGN32, rounding!(), &mut flags)),
        Op::FnmsubS => Single(single::fma(sa ^ SIGN32, sb, sc, rounding!(), &mut flags)),
        Op::FnmaddS => Single(single::fma(sa ^ SIGN32, sb, sc ^ SIGN32, rounding!(), &mut flags)),
        Op::FsgnjS => Single(sa & !SIGN32 | sb & SIGN32),
        Op::FsgnjnS => Single(sa & !SIGN32 | !sb & SIGN32),
        Op::FsgnjxS => Single(sa ^ sb & SIGN32),
        Op::FminS => Single(single::min(sa, sb, &mut flags)),
        Op::FmaxS => Single(single::max(sa, sb, &mut flags)),
        Op::FeqS => flag(single::eq(sa, sb, &mut flags)),
        Op::FltS => flag(single::lt(sa, sb, &mut flags)),
        Op::FleS => flag(single::le(sa, sb, &mut flags)),
        Op::FclassS => Integer(single::classify(sa).into()),
        Op::FcvtWS => word(single::to_i32(sa, rounding!(), &mut flags) as u32),
        Op::FcvtWuS => word(single::to_u32(sa, rounding!(), &mut flags)),
        Op::FcvtLS => Integer(single::to_i64(sa, rounding!(), &mut flags) as u64),
        Op::FcvtLuS => Integer(single::to_u64(sa, rounding!(), &mut flags)),
        Op::FcvtSW => Single(single::from_i32(x as i32, rounding!(), &mut flags)),
        Op::FcvtSWu => Single(single::from_u32(x as u32, rounding!(), &mut flags)),
        Op::FcvtSL => Single(single::from_i64(x as i64, rounding!(), &mut flags)),
        Op::FcvtSLu => Single(single::from_u64(x, rounding!(), &mut flags)),
        // Moves the bits unchanged.
        Op::FmvXW => word(a as u32),
        Op::FmvWX => Single(x as u32),
        Op::FaddD => Double(double::add(a, b, rounding!(), &mut flags)),
        Op::FsubD => Double(double::sub(a, b, rounding!(), &mut flags)),
        Op::FmulD => Double(double::mul(a, b, rounding!(), &mut flags)),
        Op::FdivD => Double(double::div(a, b, rounding!(), &mut flags)),
        Op::FsqrtD => Double(double::sqrt(a, rounding!(), &mut flags)),
        Op::FmaddD => Double(double::fma(a, b, c, rounding!(), &mut flags)),
        Op::FmsubD => Double(double::fma(a, b, c ^ SIGN64, rounding!(), &mut flags)),
        Op::FnmsubD => Double(double::fma(a ^ SIGN64, b, c, rounding!(), &mut flags)),
        Op::FnmaddD => Double(double::fma(a ^ SIGN64, b, c ^ SIGN64, rounding!(), &mut flags)),
        Op::FsgnjD => Double(a & !SIGN64 | b & SIGN64),
        Op::FsgnjnD => Double(a & !SIGN64 | !b & SIGN64),
        Op::FsgnjxD => Double(a ^ b & SIGN64),
        Op::FminD => Double(double::min(a, b, &mut flags)),
        Op::FmaxD => Double(double::max(a, b, &mut flags)),
        Op::FeqD => flag(double::eq(a, b, &mut flags)),
        Op::FltD => flag(double::lt(a, b, &mut flags)),
        Op::FleD => flag(double::le(a, b, &mut flags)),
        Op::FclassD => Integer(double::classify(a).into()),
        Op::FcvtWD => word(double::to_i32(a, rounding!(), &mut flags) as u32),
        Op::FcvtWuD => word(double::to_u32(a, rounding!(), &mut flags)),
        Op::FcvtLD => Integer(double::to_i64(a, rounding!(), &mut flags) as u64),
        Op::FcvtLuD => Integer(double::to_u64(a, rounding!(), &mut flags)),
        Op::FcvtDW => Double(double::from_i32(x as i32, rounding!(), &mut flags)),
        Op::FcvtDWu => Double(double::from_u32(x as u32, rounding!(), &mut flags)),
        Op::FcvtDL => Double(double::from_i64(x as i64, rounding!(), &mut flags)),
        Op::FcvtDLu => Double(double::from_u64(x, rounding!(), &mut flags)),
        Op::FcvtSD => Single(double::to_single(a, rounding!(), &mut flags)),
        Op::FcvtDS => {
            // The result is exact, but the rounding mode must be valid.
            let _ = rounding!();
            Double(single::to_double(sa, &mut flags))
        }
        Op::FmvXD => Integer(a),
        Op::FmvDX => Double(x),
        // Other operations are executed elsewhere.
        _ => return false,
    };
    let rd = usize::from(rd);
    match value {
        Single(value) => core.f[rd % 32] = u64::from(value) | BOX,
        Double(value) => core.f[rd % 32] = value,
        Integer(value) => core.x[rd.min(32)] = value,
    }
    if flags.0 != core.fcsr & 0x1f || !matches!(value, Integer(_)) {
        core.fp_dirty = true;
    }
    core.fcsr = core.fcsr & 0xe0 | flags.0;
    true
}

/// Returns the single in a register, or a NaN if it is not NaN-boxed.
#[inline(always)]
fn unbox(bits: u64) -> u32 {
    if bits & BOX == BOX { bits as u32 } else { NAN32 }
}

/// Returns the kinds of the destination and of the sources: 0 for none, 1 for integer, 2 for floating point.
pub(crate) const fn registers(op: Op) -> [u8; 4] {
    use Op::*;
    match op {
        Flw | Fld => [2, 1, 0, 0],
        Fsw | Fsd => [0, 1, 2, 0],
        FmaddS | FmsubS | FnmsubS | FnmaddS | FmaddD | FmsubD | FnmsubD | FnmaddD => [2, 2, 2, 2],
        FaddS | FsubS | FmulS | FdivS | FsgnjS | FsgnjnS | FsgnjxS | FminS | FmaxS => [2, 2, 2, 0],
        FaddD | FsubD | FmulD | FdivD | FsgnjD | FsgnjnD | FsgnjxD | FminD | FmaxD => [2, 2, 2, 0],
        FsqrtS | FsqrtD | FcvtSD | FcvtDS => [2, 2, 0, 0],
        FcvtWS | FcvtWuS | FcvtLS | FcvtLuS | FmvXW | FclassS => [1, 2, 0, 0],
        FcvtWD | FcvtWuD | FcvtLD | FcvtLuD | FmvXD | FclassD => [1, 2, 0, 0],
        FeqS | FltS | FleS | FeqD | FltD | FleD => [1, 2, 2, 0],
        FcvtSW | FcvtSWu | FcvtSL | FcvtSLu | FmvWX => [2, 1, 0, 0],
        FcvtDW | FcvtDWu | FcvtDL | FcvtDLu | FmvDX => [2, 1, 0, 0],
        // Their first source is an immediate.
        Csrrwi | Csrrsi | Csrrci => [1, 0, 0, 0],
        _ => [1, 1, 1, 0],
    }
}
