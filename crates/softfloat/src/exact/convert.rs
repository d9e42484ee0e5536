use core::ops::RangeInclusive;

use super::number::{Number, Value};
use crate::{Flags, Format, Rounding};

/// Returns the integer nearest to `a` in the rounding mode. A number outside of `range`, which must not exceed 64
/// bits, becomes the nearest limit. A NaN becomes the upper limit.
#[cold]
pub fn to_integer(
    format: Format,
    a: u64,
    range: &RangeInclusive<i128>,
    rounding: Rounding,
    flags: &mut Flags,
) -> i128 {
    let (min, max) = (*range.start(), *range.end());
    let (integer, inexact) = match Value::unpack(format, a) {
        Value::Nan | Value::Infinity { negative: false } => (i128::MAX, false),
        Value::Infinity { negative: true } => (i128::MIN, false),
        Value::Finite(x) => {
            let large = !x.is_zero() && x.exponent + x.significand.ilog2() as i32 > 64;
            let (magnitude, inexact) = if large { (1 << 65, false) } else { x.in_units(0, rounding) };
            (if x.negative { -(magnitude as i128) } else { magnitude as i128 }, inexact)
        }
    };
    if !range.contains(&integer) {
        flags.raise(Flags::NV);
    } else if inexact {
        flags.raise(Flags::NX);
    }
    integer.clamp(min, max)
}

/// Returns the number nearest to an integer of at most 64 bits and a sign.
#[cold]
pub fn from_integer(format: Format, integer: i128, rounding: Rounding, flags: &mut Flags) -> u64 {
    Number { negative: integer < 0, exponent: 0, significand: integer.unsigned_abs() }
        .round(format, rounding, flags)
}

/// Returns the nearest number of another format.
#[cold]
pub fn to_format(from: Format, to: Format, a: u64, rounding: Rounding, flags: &mut Flags) -> u64 {
    match Value::unpack(from, a) {
        Value::Nan => {
            if from.is_signalling(a) {
                flags.raise(Flags::NV);
            }
            to.nan()
        }
        Value::Infinity { negative } => to.infinity(negative),
        Value::Finite(x) => x.round(to, rounding, flags),
    }
}
