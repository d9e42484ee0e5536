//! Rare integer instructions, kept apart so that the frequent ones stay together.

use tracewright_isa::riscv::Op;

/// Computes the result of `op`. RV32's values are sign-extended.
#[inline(never)]
pub(crate) fn compute(op: Op, a: u64, b: u64, imm: u32, is_rv32: bool) -> u64 {
    let (bits, mask) = if is_rv32 { (32, 31) } else { (64, 63) };
    let shift = (b & mask) as u32;
    let imm = imm & mask as u32;
    let unsigned = |value: u64| if is_rv32 { value as u32 as u64 } else { value };
    let value = match op {
        Op::Mulh if is_rv32 => ((a as i64).wrapping_mul(b as i64) >> 32) as u64,
        Op::Mulhsu if is_rv32 => ((a as i64).wrapping_mul(unsigned(b) as i64) >> 32) as u64,
        Op::Mulhu if is_rv32 => unsigned(a).wrapping_mul(unsigned(b)) >> 32,
        Op::Mulh => ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64,
        Op::Mulhsu => ((i128::from(a as i64) * i128::from(b)) >> 64) as u64,
        Op::Mulhu => ((u128::from(a) * u128::from(b)) >> 64) as u64,
        Op::Div if b == 0 => u64::MAX,
        Op::Div => (a as i64).wrapping_div(b as i64) as u64,
        Op::Divu => a.checked_div(b).unwrap_or(u64::MAX),
        Op::Rem if b == 0 => a,
        Op::Rem => (a as i64).wrapping_rem(b as i64) as u64,
        Op::Remu => a.checked_rem(b).unwrap_or(a),
        Op::Divw if b as i32 == 0 => u64::MAX,
        Op::Divw => word((a as i32).wrapping_div(b as i32) as u32),
        Op::Divuw => word((a as u32).checked_div(b as u32).unwrap_or(u32::MAX)),
        Op::Remw if b as i32 == 0 => word(a as u32),
        Op::Remw => word((a as i32).wrapping_rem(b as i32) as u32),
        Op::Remuw => word((a as u32).checked_rem(b as u32).unwrap_or(a as u32)),
        Op::Sh1add => (a << 1).wrapping_add(b),
        Op::Sh2add => (a << 2).wrapping_add(b),
        Op::Sh3add => (a << 3).wrapping_add(b),
        Op::AddUw => (a & 0xffff_ffff).wrapping_add(b),
        Op::Sh1addUw => ((a & 0xffff_ffff) << 1).wrapping_add(b),
        Op::Sh2addUw => ((a & 0xffff_ffff) << 2).wrapping_add(b),
        Op::Sh3addUw => ((a & 0xffff_ffff) << 3).wrapping_add(b),
        Op::SlliUw => (a & 0xffff_ffff) << imm,
        Op::Andn => a & !b,
        Op::Orn => a | !b,
        Op::Xnor => !(a ^ b),
        Op::Clz => a.leading_zeros().into(),
        Op::Ctz => a.trailing_zeros().into(),
        Op::Cpop => a.count_ones().into(),
        Op::Clzw => (a as u32).leading_zeros().into(),
        Op::Ctzw => (a as u32).trailing_zeros().into(),
        Op::Cpopw => (a as u32).count_ones().into(),
        Op::Max => (a as i64).max(b as i64) as u64,
        Op::Maxu => a.max(b),
        Op::Min => (a as i64).min(b as i64) as u64,
        Op::Minu => a.min(b),
        Op::SextB => a as i8 as i64 as u64,
        Op::SextH => a as i16 as i64 as u64,
        Op::ZextH => a as u16 as u64,
        Op::Rol => a.rotate_left(shift),
        Op::Ror => a.rotate_right(shift),
        Op::Rori => a.rotate_right(imm),
        Op::Rolw => word((a as u32).rotate_left(b as u32 & 31)),
        Op::Rorw => word((a as u32).rotate_right(b as u32 & 31)),
        Op::Roriw => word((a as u32).rotate_right(imm & 31)),
        Op::OrcB => u64::from_le_bytes(a.to_le_bytes().map(|byte| if byte == 0 { 0 } else { 0xff })),
        Op::Rev8 => a.swap_bytes() >> (64 - bits),
        Op::Bclr => a & !(1 << shift),
        Op::Bclri => a & !(1 << imm),
        Op::Bext => a >> shift & 1,
        Op::Bexti => a >> imm & 1,
        Op::Binv => a ^ 1 << shift,
        Op::Binvi => a ^ 1 << imm,
        Op::Bset => a | 1 << shift,
        Op::Bseti => a | 1 << imm,
        // Other operations are executed elsewhere.
        _ => 0,
    };
    if is_rv32 { word(value as u32) } else { value }
}

fn word(value: u32) -> u64 {
    value as i32 as i64 as u64
}
