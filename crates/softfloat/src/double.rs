//! Double precision: binary64, the D extension.

use crate::{Flags, Rounding, fast};

/// `a + b`: FADD.D.
#[inline]
pub fn add(a: u64, b: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::add::<f64>(a, b, rm, flags)
}

/// `a - b`: FSUB.D.
#[inline]
pub fn sub(a: u64, b: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::sub::<f64>(a, b, rm, flags)
}

/// `a * b`: FMUL.D.
#[inline]
pub fn mul(a: u64, b: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::mul::<f64>(a, b, rm, flags)
}

/// `a / b`: FDIV.D.
#[inline]
pub fn div(a: u64, b: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::div::<f64>(a, b, rm, flags)
}

/// The square root: FSQRT.D.
#[inline]
pub fn sqrt(a: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::sqrt::<f64>(a, rm, flags)
}

/// `a * b + c`, rounded once: FMADD.D. Its kin are the same with the signs of `a` or `c` flipped.
#[inline]
pub fn fma(a: u64, b: u64, c: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::fma::<f64>(a, b, c, rm, flags)
}

/// The smaller number, -0 below +0; the other one if one is a NaN: FMIN.D.
#[inline]
pub fn min(a: u64, b: u64, flags: &mut Flags) -> u64 {
    fast::min::<f64>(a, b, flags)
}

/// The larger number, -0 below +0; the other one if one is a NaN: FMAX.D.
#[inline]
pub fn max(a: u64, b: u64, flags: &mut Flags) -> u64 {
    fast::max::<f64>(a, b, flags)
}

/// `a == b`; only signalling NaNs are invalid: FEQ.D.
#[inline]
pub fn eq(a: u64, b: u64, flags: &mut Flags) -> bool {
    fast::eq::<f64>(a, b, flags)
}

/// `a < b`; any NaN is invalid: FLT.D.
#[inline]
pub fn lt(a: u64, b: u64, flags: &mut Flags) -> bool {
    fast::lt::<f64>(a, b, flags)
}

/// `a <= b`; any NaN is invalid: FLE.D.
#[inline]
pub fn le(a: u64, b: u64, flags: &mut Flags) -> bool {
    fast::le::<f64>(a, b, flags)
}

/// The kind of number, one bit of ten: FCLASS.D.
#[inline]
pub fn classify(a: u64) -> u32 {
    fast::classify::<f64>(a)
}

/// The nearest `i32`: FCVT.W.D.
#[inline]
pub fn to_i32(a: u64, rm: Rounding, flags: &mut Flags) -> i32 {
    fast::to_i32::<f64>(a, rm, flags)
}

/// The nearest `u32`: FCVT.WU.D.
#[inline]
pub fn to_u32(a: u64, rm: Rounding, flags: &mut Flags) -> u32 {
    fast::to_u32::<f64>(a, rm, flags)
}

/// The nearest `i64`: FCVT.L.D.
#[inline]
pub fn to_i64(a: u64, rm: Rounding, flags: &mut Flags) -> i64 {
    fast::to_i64::<f64>(a, rm, flags)
}

/// The nearest `u64`: FCVT.LU.D.
#[inline]
pub fn to_u64(a: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::to_u64::<f64>(a, rm, flags)
}

/// The nearest number to an `i32`: FCVT.D.W.
#[inline]
pub fn from_i32(value: i32, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::from_signed::<f64>(value.into(), rm, flags)
}

/// The nearest number to an `u32`: FCVT.D.WU.
#[inline]
pub fn from_u32(value: u32, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::from_unsigned::<f64>(value.into(), rm, flags)
}

/// The nearest number to an `i64`: FCVT.D.L.
#[inline]
pub fn from_i64(value: i64, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::from_signed::<f64>(value, rm, flags)
}

/// The nearest number to an `u64`: FCVT.D.LU.
#[inline]
pub fn from_u64(value: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    fast::from_unsigned::<f64>(value, rm, flags)
}

/// The nearest number in single precision: FCVT.S.D.
#[inline]
pub fn to_single(a: u64, rm: Rounding, flags: &mut Flags) -> u32 {
    fast::narrow(a, rm, flags)
}
