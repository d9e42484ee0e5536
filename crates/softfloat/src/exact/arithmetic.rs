use super::number::{Number, Value};
use crate::{Flags, Format, Rounding};

/// Returns `a + b`.
#[cold]
pub fn add(format: Format, a: u64, b: u64, rounding: Rounding, flags: &mut Flags) -> u64 {
    match (Value::unpack(format, a), Value::unpack(format, b)) {
        (Value::Nan, _) | (_, Value::Nan) => nan(format, &[a, b], flags),
        (x, y) => sum(format, x, y, rounding, flags),
    }
}

/// Returns `a - b`.
#[cold]
pub fn sub(format: Format, a: u64, b: u64, rounding: Rounding, flags: &mut Flags) -> u64 {
    add(format, a, b ^ format.sign_bit(), rounding, flags)
}

/// Returns `a * b`.
#[cold]
pub fn mul(format: Format, a: u64, b: u64, rounding: Rounding, flags: &mut Flags) -> u64 {
    match product(format, a, b) {
        Some(Value::Nan) => nan(format, &[a, b], flags),
        Some(Value::Infinity { negative }) => format.infinity(negative),
        Some(Value::Finite(number)) => number.round(format, rounding, flags),
        None => invalid(format, flags),
    }
}

/// Returns `a * b + c`, rounded once.
#[cold]
pub fn fma(format: Format, a: u64, b: u64, c: u64, rounding: Rounding, flags: &mut Flags) -> u64 {
    match (product(format, a, b), Value::unpack(format, c)) {
        (None, _) => invalid(format, flags),
        (Some(Value::Nan), _) | (_, Value::Nan) => nan(format, &[a, b, c], flags),
        (Some(product), c) => sum(format, product, c, rounding, flags),
    }
}

/// Returns `a / b`.
#[cold]
pub fn div(format: Format, a: u64, b: u64, rounding: Rounding, flags: &mut Flags) -> u64 {
    let negative = format.is_negative(a ^ b);
    match (Value::unpack(format, a), Value::unpack(format, b)) {
        (Value::Nan, _) | (_, Value::Nan) => nan(format, &[a, b], flags),
        (Value::Infinity { .. }, Value::Infinity { .. }) => invalid(format, flags),
        (Value::Infinity { .. }, Value::Finite(_)) => format.infinity(negative),
        (Value::Finite(_), Value::Infinity { .. }) => format.zero(negative),
        (Value::Finite(x), Value::Finite(y)) => match (x.is_zero(), y.is_zero()) {
            (true, true) => invalid(format, flags),
            (true, false) => format.zero(negative),
            (false, true) => {
                flags.raise(Flags::DZ);
                format.infinity(negative)
            }
            (false, false) => {
                // 127 bits divided by 63 give 64 or 65 bits. The remainder says whether there are more.
                let (x, y) = (x.with_top(126), y.with_top(62));
                let quotient = x.significand / y.significand;
                let jam = quotient * y.significand != x.significand;
                let significand = quotient | u128::from(jam);
                Number { negative, exponent: x.exponent - y.exponent, significand }
                    .round(format, rounding, flags)
            }
        },
    }
}

/// Returns the square root.
#[cold]
pub fn sqrt(format: Format, a: u64, rounding: Rounding, flags: &mut Flags) -> u64 {
    match Value::unpack(format, a) {
        Value::Nan => nan(format, &[a], flags),
        Value::Finite(x) if x.is_zero() => a,
        Value::Infinity { negative: false } => a,
        Value::Infinity { negative: true } | Value::Finite(Number { negative: true, .. }) => {
            invalid(format, flags)
        }
        Value::Finite(x) => {
            // An even exponent can be halved. 126 or 127 bits have a root of 63 or 64.
            let top = if (x.with_top(126).exponent) % 2 == 0 { 126 } else { 125 };
            let x = x.with_top(top);
            let root = x.significand.isqrt();
            let jam = root * root != x.significand;
            let significand = root | u128::from(jam);
            Number { negative: false, exponent: x.exponent / 2, significand }.round(format, rounding, flags)
        }
    }
}

/// Returns the exact product, or `None` for infinity times zero.
fn product(format: Format, a: u64, b: u64) -> Option<Value> {
    let negative = format.is_negative(a ^ b);
    match (Value::unpack(format, a), Value::unpack(format, b)) {
        (Value::Nan, _) | (_, Value::Nan) => Some(Value::Nan),
        (Value::Infinity { .. }, Value::Infinity { .. }) => Some(Value::Infinity { negative }),
        (Value::Infinity { .. }, Value::Finite(x)) | (Value::Finite(x), Value::Infinity { .. }) => {
            (!x.is_zero()).then_some(Value::Infinity { negative })
        }
        (Value::Finite(x), Value::Finite(y)) => Some(Value::Finite(x.product(y))),
    }
}

/// Returns the rounded sum of two values that are not NaNs.
fn sum(format: Format, x: Value, y: Value, rounding: Rounding, flags: &mut Flags) -> u64 {
    match (x, y) {
        (Value::Infinity { negative: x }, Value::Infinity { negative: y }) if x != y => {
            invalid(format, flags)
        }
        (Value::Infinity { negative }, _) | (_, Value::Infinity { negative }) => format.infinity(negative),
        (Value::Finite(x), Value::Finite(y)) => x.sum(y, rounding).round(format, rounding, flags),
        (Value::Nan, _) | (_, Value::Nan) => format.nan(),
    }
}

/// Returns the result of an operation with at least one NaN among `operands`.
fn nan(format: Format, operands: &[u64], flags: &mut Flags) -> u64 {
    if operands.iter().any(|&bits| format.is_signalling(bits)) {
        flags.raise(Flags::NV);
    }
    format.nan()
}

fn invalid(format: Format, flags: &mut Flags) -> u64 {
    flags.raise(Flags::NV);
    format.nan()
}
