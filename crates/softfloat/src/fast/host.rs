use core::ops::{Add, Div, Mul, Sub};

use crate::{Flags, Format, Rounding};

/// A floating-point type of the host.
pub trait Host:
    Copy + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// Format of the type.
    const FORMAT: Format;
    /// 0.
    const ZERO: Self;
    /// 1/2.
    const HALF: Self;

    /// Creates a number from its bits.
    fn of(bits: u64) -> Self;
    /// Returns the bits.
    fn bits(self) -> u64;
    /// Returns the square root, if the host has an instruction for it.
    fn root(self) -> Option<Self>;
    /// Rounds towards zero. The result must be in range.
    fn truncate(self) -> i64;
    /// Converts an integer, rounding to nearest even.
    fn from_i64(value: i64) -> Self;
    /// Converts an integer, rounding to nearest even.
    fn from_u64(value: u64) -> Self;
    /// Returns `a * b + c`, rounded to nearest even, or `None` if the fast path does not apply.
    fn fma(a: u64, b: u64, c: u64, flags: &mut Flags) -> Option<u64>;
}

macro_rules! host {
    ($float:ident, $bits:ident, $format:expr, $fma:path) => {
        impl Host for $float {
            const FORMAT: Format = $format;
            const ZERO: Self = 0.0;
            const HALF: Self = 0.5;

            #[inline]
            fn of(bits: u64) -> Self {
                $float::from_bits(bits as $bits)
            }

            #[inline]
            fn bits(self) -> u64 {
                self.to_bits().into()
            }

            #[inline]
            fn root(self) -> Option<Self> {
                #[cfg(feature = "std")]
                return Some(self.sqrt());
                #[cfg(not(feature = "std"))]
                None
            }

            #[inline]
            fn truncate(self) -> i64 {
                self as i64
            }

            #[inline]
            fn from_i64(value: i64) -> Self {
                value as $float
            }

            #[inline]
            fn from_u64(value: u64) -> Self {
                value as $float
            }

            #[inline]
            fn fma(a: u64, b: u64, c: u64, flags: &mut Flags) -> Option<u64> {
                $fma(a, b, c, flags)
            }
        }
    };
}

host!(f32, u32, Format::SINGLE, super::fma::single);
host!(f64, u64, Format::DOUBLE, super::fma::double);

/// Raises NX if `inexact`.
#[inline]
pub fn inexact_if(inexact: bool, flags: &mut Flags) {
    flags.raise(Flags(u8::from(inexact) * Flags::NX.0));
}

/// Returns whether the host rounds in this mode.
#[inline]
pub fn is_host_mode(rounding: Rounding) -> bool {
    rounding == Rounding::NearestEven
}

/// Returns whether a result, rounded to nearest, raised no other flag than NX. It must be normal and larger than the
/// smallest normal number, to which a tiny result may have been rounded up.
#[inline]
pub fn is_safe<H: Host>(bits: u64) -> bool {
    let field = H::FORMAT.exponent(bits);
    field.wrapping_sub(2) < H::FORMAT.exponent_mask() - 2
}

/// Returns the exponent field and the significand, with its leading 1, of a normal number, and `None` for other
/// values.
#[inline]
pub fn normal<H: Host>(bits: u64) -> Option<(u64, u64)> {
    let field = H::FORMAT.exponent(bits);
    let leading = 1 << H::FORMAT.fraction_bits;
    (field.wrapping_sub(1) < H::FORMAT.exponent_mask() - 1)
        .then_some((field, bits & H::FORMAT.fraction_mask() | leading))
}

/// Returns the error of `sum`, the rounded sum of `x` and `y` (Knuth's TwoSum). The error is exact unless something
/// overflows.
#[inline]
pub fn sum_error<H: Host>(x: H, y: H, sum: H) -> H {
    let y_part = sum - x;
    let x_part = sum - y_part;
    (x - x_part) + (y - y_part)
}
