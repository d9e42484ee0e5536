//! Double precision: binary64, the D extension.

use crate::{Flags, Rounding, fast};

/// Returns `a + b` (FADD.D).
#[inline]
pub fn add(a: u64, b: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::add::<f64>(a, b, rm, flags)
}

/// Returns `a - b` (FSUB.D).
#[inline]
pub fn sub(a: u64, b: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::sub::<f64>(a, b, rm, flags)
}

/// Returns `a * b` (FMUL.D).
#[inline]
pub fn mul(a: u64, b: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::mul::<f64>(a, b, rm, flags)
}

/// Returns `a / b` (FDIV.D).
#[inline]
pub fn div(a: u64, b: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::div::<f64>(a, b, rm, flags)
}

/// Returns the square root (FSQRT.D).
#[inline]
pub fn sqrt(a: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::sqrt::<f64>(a, rm, flags)
}

/// Returns `a * b + c`, rounded once (FMADD.D). Flip the signs of `a` or `c` for its variants.
#[inline]
pub fn fma(a: u64, b: u64, c: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::fma::<f64>(a, b, c, rm, flags)
}

/// Returns the smaller number, with -0 below +0 (FMIN.D). If one operand is a NaN, returns the other.
#[inline]
pub fn min(a: u64, b: u64, flags: &mut Flags) -> u64 {
    fast::min::<f64>(a, b, flags)
}

/// Returns the larger number, with -0 below +0 (FMAX.D). If one operand is a NaN, returns the other.
#[inline]
pub fn max(a: u64, b: u64, flags: &mut Flags) -> u64 {
    fast::max::<f64>(a, b, flags)
}

/// Returns `a == b` (FEQ.D). Only signalling NaNs are invalid.
#[inline]
pub fn eq(a: u64, b: u64, flags: &mut Flags) -> bool {
    fast::eq::<f64>(a, b, flags)
}

/// Returns `a < b` (FLT.D). Any NaN is invalid.
#[inline]
pub fn lt(a: u64, b: u64, flags: &mut Flags) -> bool {
    fast::lt::<f64>(a, b, flags)
}

/// Returns `a <= b` (FLE.D). Any NaN is invalid.
#[inline]
pub fn le(a: u64, b: u64, flags: &mut Flags) -> bool {
    fast::le::<f64>(a, b, flags)
}

/// Returns the kind of number as one bit of ten (FCLASS.D).
#[inline]
pub fn classify(a: u64) -> u32 {
    fast::classify::<f64>(a)
}

/// Returns the nearest `i32` (FCVT.W.D).
#[inline]
pub fn to_i32(a: u64, rm: Rounding, flags: &mut Flags) -> i32 {
    fast::to_i32::<f64>(a, rm, flags)
}

/// Returns the nearest `u32` (FCVT.WU.D).
#[inline]
pub fn to_u32(a: u64, rm: Rounding, flags: &mut Flags) -> u32 {
    fast::to_u32::<f64>(a, rm, flags)
}

/// Returns the nearest `i64` (FCVT.L.D).
#[inline]
pub fn to_i64(a: u64, rm: Rounding, flags: &mut Flags) -> i64 {
    fast::to_i64::<f64>(a, rm, flags)
}

/// Returns the nearest `u64` (FCVT.LU.D).
#[inline]
pub fn to_u64(a: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::to_u64::<f64>(a, rm, flags)
}

/// Returns the number nearest to an `i32` (FCVT.D.W).
#[inline]
pub fn from_i32(value: i32, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::from_signed::<f64>(value.into(), rm, flags)
}

/// Returns the number nearest to an `u32` (FCVT.D.WU).
#[inline]
pub fn from_u32(value: u32, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::from_unsigned::<f64>(value.into(), rm, flags)
}

/// Returns the number nearest to an `i64` (FCVT.D.L).
#[inline]
pub fn from_i64(value: i64, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::from_signed::<f64>(value, rm, flags)
}

/// Returns the number nearest to an `u64` (FCVT.D.LU).
#[inline]
pub fn from_u64(value: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::from_unsigned::<f64>(value, rm, flags)
}

/// Returns the nearest number in single precision (FCVT.S.D).
#[inline]
pub fn to_single(a: u64, rm: Rounding, flags: &mut Flags) -> u32 {
    fast::narrow(a, rm, flags)
}
