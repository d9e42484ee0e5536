use super::host::{Host, inexact_if, is_host_mode, is_safe};
use crate::{Flags, Format, Rounding, exact};

macro_rules! to_integer {
    ($name:ident, $integer:ident) => {
        #[inline]
        pub fn $name<H: Host>(a: u64, rounding: Rounding, flags: &mut Flags) -> $integer {
            if let Some((integer, inexact)) = round_to_i64::<H>(a, rounding)
                && let Ok(integer) = $integer::try_from(integer)
            {
                inexact_if(inexact, flags);
                return integer;
            }
            let range = i128::from($integer::MIN)..=i128::from($integer::MAX);
            exact::to_integer(H::FORMAT, a, &range, rounding, flags) as $integer
        }
    };
}

to_integer!(to_i32, i32);
to_integer!(to_u32, u32);
to_integer!(to_i64, i64);
to_integer!(to_u64, u64);

/// Returns the nearest integer and whether it is inexact. Returns `None` unless it is certainly in range.
#[inline]
fn round_to_i64<H: Host>(a: u64, rounding: Rounding) -> Option<(i64, bool)> {
    if H::FORMAT.exponent(a) >= H::FORMAT.bias() as u64 + 63 {
        return None;
    }
    let x = H::of(a);
    let toward_zero = x.truncate();
    let whole = H::from_i64(toward_zero);
    if whole == x {
        return Some((toward_zero, false));
    }
    // A number with a fraction is far from the ends of the range, and its fraction is exact.
    let (magnitude, away) = if x < H::ZERO { (whole - x, -1) } else { (x - whole, 1) };
    let is_away = match rounding {
        Rounding::NearestEven => magnitude > H::HALF || magnitude == H::HALF && toward_zero & 1 == 1,
        Rounding::TowardZero => false,
        Rounding::Down => away < 0,
        Rounding::Up => away > 0,
        Rounding::NearestMaxMagnitude => magnitude >= H::HALF,
    };
    Some((toward_zero + if is_away { away } else { 0 }, true))
}

#[inline]
pub fn from_signed<H: Host>(value: i64, rounding: Rounding, flags: &mut Flags) -> u64 {
    let inexact = is_too_long::<H>(value.unsigned_abs());
    if !inexact || is_host_mode(rounding) {
        inexact_if(inexact, flags);
        return H::from_i64(value).bits();
    }
    exact::from_integer(H::FORMAT, value.into(), rounding, flags)
}

#[inline]
pub fn from_unsigned<H: Host>(value: u64, rounding: Rounding, flags: &mut Flags) -> u64 {
    let inexact = is_too_long::<H>(value);
    if !inexact || is_host_mode(rounding) {
        inexact_if(inexact, flags);
        return H::from_u64(value).bits();
    }
    exact::from_integer(H::FORMAT, value.into(), rounding, flags)
}

/// Returns whether the bits from the first to the last 1 are more than a significand has.
#[inline]
fn is_too_long<H: Host>(value: u64) -> bool {
    value.leading_zeros() + value.trailing_zeros() < 63 - H::FORMAT.fraction_bits
}

#[inline]
pub fn widen(a: u32, flags: &mut Flags) -> u64 {
    let x = f32::from_bits(a);
    if x.is_nan() {
        // No number is rounded here, so the mode does not matter.
        return exact::to_format(Format::SINGLE, Format::DOUBLE, a.into(), Rounding::NearestEven, flags);
    }
    f64::from(x).to_bits()
}

#[inline]
pub fn narrow(a: u64, rounding: Rounding, flags: &mut Flags) -> u32 {
    let x = f64::from_bits(a);
    let narrow = x as f32;
    let inexact = f64::from(narrow) != x;
    if !inexact || is_host_mode(rounding) && is_safe::<f32>(narrow.to_bits().into()) {
        inexact_if(inexact, flags);
        return narrow.to_bits();
    }
    exact::to_format(Format::DOUBLE, Format::SINGLE, a, rounding, flags) as u32
}
