//! The two precisions, which have the same operations: a function for each instruction.

use crate::{Flags, Rounding, fast};

/// Defines the operations on numbers of type `$float` with these bits. Their instructions end in `$letter`.
macro_rules! operations {
    ($bits:ident, $float:ident, $letter:literal) => {
        use super::{Flags, Rounding, fast};

        #[doc = concat!("Returns `a + b` (FADD.", $letter, ").")]
        #[inline]
        pub fn add(a: $bits, b: $bits, rm: Rounding, flags: &mut Flags) -> $bits {
            fast::add::<$float>(a.into(), b.into(), rm, flags) as $bits
        }

        #[doc = concat!("Returns `a - b` (FSUB.", $letter, ").")]
        #[inline]
        pub fn sub(a: $bits, b: $bits, rm: Rounding, flags: &mut Flags) -> $bits {
            fast::sub::<$float>(a.into(), b.into(), rm, flags) as $bits
        }

        #[doc = concat!("Returns `a * b` (FMUL.", $letter, ").")]
        #[inline]
        pub fn mul(a: $bits, b: $bits, rm: Rounding, flags: &mut Flags) -> $bits {
            fast::mul::<$float>(a.into(), b.into(), rm, flags) as $bits
        }

        #[doc = concat!("Returns `a / b` (FDIV.", $letter, ").")]
        #[inline]
        pub fn div(a: $bits, b: $bits, rm: Rounding, flags: &mut Flags) -> $bits {
            fast::div::<$float>(a.into(), b.into(), rm, flags) as $bits
        }

        #[doc = concat!("Returns the square root (FSQRT.", $letter, ").")]
        #[inline]
        pub fn sqrt(a: $bits, rm: Rounding, flags: &mut Flags) -> $bits {
            fast::sqrt::<$float>(a.into(), rm, flags) as $bits
        }

        #[doc = concat!("Returns `a * b + c`, rounded once (FMADD.", $letter, ").")]
        /// Flip the signs of `a` or `c` for its variants.
        #[inline]
        pub fn fma(a: $bits, b: $bits, c: $bits, rm: Rounding, flags: &mut Flags) -> $bits {
            fast::fma::<$float>(a.into(), b.into(), c.into(), rm, flags) as $bits
        }

        #[doc = concat!("Returns the smaller number, with -0 below +0 (FMIN.", $letter, ").")]
        /// If one operand is a NaN, returns the other.
        #[inline]
        pub fn min(a: $bits, b: $bits, flags: &mut Flags) -> $bits {
            fast::min::<$float>(a.into(), b.into(), flags) as $bits
        }

        #[doc = concat!("Returns the larger number, with -0 below +0 (FMAX.", $letter, ").")]
        /// If one operand is a NaN, returns the other.
        #[inline]
        pub fn max(a: $bits, b: $bits, flags: &mut Flags) -> $bits {
            fast::max::<$float>(a.into(), b.into(), flags) as $bits
        }

        #[doc = concat!("Returns `a == b` (FEQ.", $letter, ").")]
        /// Only signalling NaNs are invalid.
        #[inline]
        pub fn eq(a: $bits, b: $bits, flags: &mut Flags) -> bool {
            fast::eq::<$float>(a.into(), b.into(), flags)
        }

        #[doc = concat!("Returns `a < b` (FLT.", $letter, ").")]
        /// Any NaN is invalid.
        #[inline]
        pub fn lt(a: $bits, b: $bits, flags: &mut Flags) -> bool {
            fast::lt::<$float>(a.into(), b.into(), flags)
        }

        #[doc = concat!("Returns `a <= b` (FLE.", $letter, ").")]
        /// Any NaN is invalid.
        #[inline]
        pub fn le(a: $bits, b: $bits, flags: &mut Flags) -> bool {
            fast::le::<$float>(a.into(), b.into(), flags)
        }

        #[doc = concat!("Returns the kind of number as one bit of ten (FCLASS.", $letter, ").")]
        #[inline]
        pub fn classify(a: $bits) -> u32 {
            fast::classify::<$float>(a.into())
        }

        #[doc = concat!("Returns the nearest `i32` (FCVT.W.", $letter, ").")]
        #[inline]
        pub fn to_i32(a: $bits, rm: Rounding, flags: &mut Flags) -> i32 {
            fast::to_i32::<$float>(a.into(), rm, flags)
        }

        #[doc = concat!("Returns the nearest `u32` (FCVT.WU.", $letter, ").")]
        #[inline]
        pub fn to_u32(a: $bits, rm: Rounding, flags: &mut Flags) -> u32 {
            fast::to_u32::<$float>(a.into(), rm, flags)
        }

        #[doc = concat!("Returns the nearest `i64` (FCVT.L.", $letter, ").")]
        #[inline]
        pub fn to_i64(a: $bits, rm: Rounding, flags: &mut Flags) -> i64 {
            fast::to_i64::<$float>(a.into(), rm, flags)
        }

        #[doc = concat!("Returns the nearest `u64` (FCVT.LU.", $letter, ").")]
        #[inline]
        pub fn to_u64(a: $bits, rm: Rounding, flags: &mut Flags) -> u64 {
            fast::to_u64::<$float>(a.into(), rm, flags)
        }

        #[doc = concat!("Returns the number nearest to an `i32` (FCVT.", $letter, ".W).")]
        #[inline]
        pub fn from_i32(value: i32, rm: Rounding, flags: &mut Flags) -> $bits {
            fast::from_signed::<$float>(value.into(), rm, flags) as $bits
        }

        #[doc = concat!("Returns the number nearest to an `u32` (FCVT.", $letter, ".WU).")]
        #[inline]
        pub fn from_u32(value: u32, rm: Rounding, flags: &mut Flags) -> $bits {
            fast::from_unsigned::<$float>(value.into(), rm, flags) as $bits
        }

        #[doc = concat!("Returns the number nearest to an `i64` (FCVT.", $letter, ".L).")]
        #[inline]
        pub fn from_i64(value: i64, rm: Rounding, flags: &mut Flags) -> $bits {
            fast::from_signed::<$float>(value, rm, flags) as $bits
        }

        #[doc = concat!("Returns the number nearest to an `u64` (FCVT.", $letter, ".LU).")]
        #[inline]
        pub fn from_u64(value: u64, rm: Rounding, flags: &mut Flags) -> $bits {
            fast::from_unsigned::<$float>(value, rm, flags) as $bits
        }
    };
}

/// Single precision: binary32, the F extension.
pub mod single {
    operations!(u32, f32, "S");

    /// Returns the same number in double precision (FCVT.D.S).
    #[inline]
    pub fn to_double(a: u32, flags: &mut Flags) -> u64 {
        fast::widen(a, flags)
    }
}

/// Double precision: binary64, the D extension.
pub mod double {
    operations!(u64, f64, "D");

    /// Returns the nearest number in single precision (FCVT.S.D).
    #[inline]
    pub fn to_single(a: u64, rm: Rounding, flags: &mut Flags) -> u32 {
        fast::narrow(a, rm, flags)
    }
}
