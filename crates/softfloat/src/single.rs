//! Single precision: binary32, the F extension.

use crate::{Flags, Rounding, fast};

/// Returns `a + b` (FADD.S).
#[inline]
pub fn add(a: u32, b: u32, rm: Rounding, flags: &mut Flags) -> u32 {
    fast::add::<f32>(a.into(), b.into(), rm, flags) as u32
}

/// Returns `a - b` (FSUB.S).
#[inline]
pub fn sub(a: u32, b: u32, rm: Rounding, flags: &mut Flags) -> u32 {
    fast::sub::<f32>(a.into(), b.into(), rm, flags) as u32
}

/// Returns `a * b` (FMUL.S).
#[inline]
pub fn mul(a: u32, b: u32, rm: Rounding, flags: &mut Flags) -> u32 {
    fast::mul::<f32>(a.into(), b.into(), rm, flags) as u32
}

/// Returns `a / b` (FDIV.S).
#[inline]
pub fn div(a: u32, b: u32, rm: Rounding, flags: &mut Flags) -> u32 {
    fast::div::<f32>(a.into(), b.into(), rm, flags) as u32
}

/// Returns the square root (FSQRT.S).
#[inline]
pub fn sqrt(a: u32, rm: Rounding, flags: &mut Flags) -> u32 {
    fast::sqrt::<f32>(a.into(), rm, flags) as u32
}

/// Returns `a * b + c`, rounded once (FMADD.S). Flip the signs of `a` or `c` for its variants.
#[inline]
pub fn fma(a: u32, b: u32, c: u32, rm: Rounding, flags: &mut Flags) -> u32 {
    fast::fma::<f32>(a.into(), b.into(), c.into(), rm, flags) as u32
}

/// Returns the smaller number, with -0 below +0 (FMIN.S). If one operand is a NaN, returns the other.
#[inline]
pub fn min(a: u32, b: u32, flags: &mut Flags) -> u32 {
    fast::min::<f32>(a.into(), b.into(), flags) as u32
}

/// Returns the larger number, with -0 below +0 (FMAX.S). If one operand is a NaN, returns the other.
#[inline]
pub fn max(a: u32, b: u32, flags: &mut Flags) -> u32 {
    fast::max::<f32>(a.into(), b.into(), flags) as u32
}

/// Returns `a == b` (FEQ.S). Only signalling NaNs are invalid.
#[inline]
pub fn eq(a: u32, b: u32, flags: &mut Flags) -> bool {
    fast::eq::<f32>(a.into(), b.into(), flags)
}

/// Returns `a < b` (FLT.S). Any NaN is invalid.
#[inline]
pub fn lt(a: u32, b: u32, flags: &mut Flags) -> bool {
    fast::lt::<f32>(a.into(), b.into(), flags)
}

/// Returns `a <= b` (FLE.S). Any NaN is invalid.
#[inline]
pub fn le(a: u32, b: u32, flags: &mut Flags) -> bool {
    fast::le::<f32>(a.into(), b.into(), flags)
}

/// Returns the kind of number as one bit of ten (FCLASS.S).
#[inline]
pub fn classify(a: u32) -> u32 {
    fast::classify::<f32>(a.into())
}

/// Returns the nearest `i32` (FCVT.W.S).
#[inline]
pub fn to_i32(a: u32, rm: Rounding, flags: &mut Flags) -> i32 {
    fast::to_i32::<f32>(a.into(), rm, flags)
}

/// Returns the nearest `u32` (FCVT.WU.S).
#[inline]
pub fn to_u32(a: u32, rm: Rounding, flags: &mut Flags) -> u32 {
    fast::to_u32::<f32>(a.into(), rm, flags)
}

/// Returns the nearest `i64` (FCVT.L.S).
#[inline]
pub fn to_i64(a: u32, rm: Rounding, flags: &mut Flags) -> i64 {
    fast::to_i64::<f32>(a.into(), rm, flags)
}

/// Returns the nearest `u64` (FCVT.LU.S).
#[inline]
pub fn to_u64(a: u32, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::to_u64::<f32>(a.into(), rm, flags)
}

/// Returns the number nearest to an `i32` (FCVT.S.W).
#[inline]
pub fn from_i32(value: i32, rm: Rounding, flags: &mut Flags) -> u32 {
    fast::from_signed::<f32>(value.into(), rm, flags) as u32
}

/// Returns the number nearest to an `u32` (FCVT.S.WU).
#[inline]
pub fn from_u32(value: u32, rm: Rounding, flags: &mut Flags) -> u32 {
    fast::from_unsigned::<f32>(value.into(), rm, flags) as u32
}

/// Returns the number nearest to an `i64` (FCVT.S.L).
#[inline]
pub fn from_i64(value: i64, rm: Rounding, flags: &mut Flags) -> u32 {
    fast::from_signed::<f32>(value, rm, flags) as u32
}

/// Returns the number nearest to an `u64` (FCVT.S.LU).
#[inline]
pub fn from_u64(value: u64, rm: Rounding, flags: &mut Flags) -> u32 {
    fast::from_unsigned::<f32>(value, rm, flags) as u32
}

/// Returns the same number in double precision (FCVT.D.S).
#[inline]
pub fn to_double(a: u32, flags: &mut Flags) -> u64 {
    fast::widen(a, flags)
}
