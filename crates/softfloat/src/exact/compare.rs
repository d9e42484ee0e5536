use core::cmp::Ordering;

use crate::{Flags, Format};

/// Returns `a == b`. Only signalling NaNs are invalid.
#[cold]
pub fn eq(format: Format, a: u64, b: u64, flags: &mut Flags) -> bool {
    invalid_if(format.is_signalling(a) || format.is_signalling(b), flags);
    compare(format, a, b) == Some(Ordering::Equal)
}

/// Returns `a < b`. Any NaN is invalid.
#[cold]
pub fn lt(format: Format, a: u64, b: u64, flags: &mut Flags) -> bool {
    invalid_if(format.is_nan(a) || format.is_nan(b), flags);
    compare(format, a, b) == Some(Ordering::Less)
}

/// Returns `a <= b`. Any NaN is invalid.
#[cold]
pub fn le(format: Format, a: u64, b: u64, flags: &mut Flags) -> bool {
    invalid_if(format.is_nan(a) || format.is_nan(b), flags);
    matches!(compare(format, a, b), Some(Ordering::Less | Ordering::Equal))
}

/// Returns the smaller number, with -0 below +0. If one operand is a NaN, returns the other.
#[cold]
pub fn min(format: Format, a: u64, b: u64, flags: &mut Flags) -> u64 {
    choose(format, a, b, Ordering::Less, flags)
}

/// Returns the larger number, with -0 below +0. If one operand is a NaN, returns the other.
#[cold]
pub fn max(format: Format, a: u64, b: u64, flags: &mut Flags) -> u64 {
    choose(format, a, b, Ordering::Greater, flags)
}

/// Returns the mask of FCLASS: one bit of ten, by sign and kind.
pub fn classify(format: Format, a: u64) -> u32 {
    let negative = format.is_negative(a);
    let magnitude = a & !format.sign_bit();
    let (below_zero, above_zero) = if format.is_nan(a) {
        return if format.is_signalling(a) { 1 << 8 } else { 1 << 9 };
    } else if magnitude == format.infinity(false) {
        (0, 7)
    } else if format.exponent(a) != 0 {
        (1, 6)
    } else if magnitude != 0 {
        (2, 5)
    } else {
        (3, 4)
    };
    1 << if negative { below_zero } else { above_zero }
}

fn choose(format: Format, a: u64, b: u64, wanted: Ordering, flags: &mut Flags) -> u64 {
    invalid_if(format.is_signalling(a) || format.is_signalling(b), flags);
    match (format.is_nan(a), format.is_nan(b)) {
        (true, true) => format.nan(),
        (true, false) => b,
        (false, true) => a,
        (false, false) if order(format, a).cmp(&order(format, b)) == wanted => a,
        (false, false) => b,
    }
}

/// Compares two numbers, with both zeros equal. Returns `None` if either is a NaN.
fn compare(format: Format, a: u64, b: u64) -> Option<Ordering> {
    if format.is_nan(a) || format.is_nan(b) {
        return None;
    }
    if (a | b) & !format.sign_bit() == 0 {
        return Some(Ordering::Equal);
    }
    Some(order(format, a).cmp(&order(format, b)))
}

/// Returns a key in the order of numbers, with -0 below +0. The formats order magnitudes by their bits.
fn order(format: Format, bits: u64) -> i64 {
    let magnitude = (bits & !format.sign_bit()) as i64;
    if format.is_negative(bits) { !magnitude } else { magnitude }
}

fn invalid_if(condition: bool, flags: &mut Flags) {
    if condition {
        flags.raise(Flags::NV);
    }
}
