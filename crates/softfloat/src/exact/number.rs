use crate::{Flags, Format, Rounding};

/// A finite number with more precision and range than any format: `significand` times two to the power of `exponent`.
///
/// The last bit may be "jammed": it is then 1 if any bit beyond it is not zero. That is enough to round correctly if
/// at least two bits lie between it and the last bit of the result. Jammed numbers have at least 63 bits.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    /// Sign, also of zero.
    pub negative: bool,
    /// Weight of the last bit.
    pub exponent: i32,
    /// Bits of the number.
    pub significand: u128,
}

/// The value of some bits.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A NaN of either kind.
    Nan,
    /// Infinity.
    Infinity {
        /// Sign.
        negative: bool,
    },
    /// A finite number, zeros included.
    Finite(Number),
}

impl Value {
    /// Unpacks `bits`.
    pub fn unpack(format: Format, bits: u64) -> Self {
        let negative = format.is_negative(bits);
        let fraction = bits & format.fraction_mask();
        let field = format.exponent(bits);
        if field == format.exponent_mask() {
            return if fraction == 0 { Self::Infinity { negative } } else { Self::Nan };
        }
        // Subnormal numbers have the exponent of the smallest normal number, but no leading 1.
        let leading = if field == 0 { 0 } else { 1 << format.fraction_bits };
        let exponent = field.max(1) as i32 - format.bias() - format.fraction_bits as i32;
        Self::Finite(Number { negative, exponent, significand: (leading | fraction).into() })
    }
}

impl Number {
    /// Returns whether this is zero.
    pub fn is_zero(self) -> bool {
        self.significand == 0
    }

    /// Shifts the significand left until its first 1 is at bit `top`. Leaves it if it is there or beyond.
    ///
    /// The number must not be zero.
    pub fn with_top(self, top: u32) -> Self {
        let shift = top - self.significand.ilog2();
        Self { exponent: self.exponent - shift as i32, significand: self.significand << shift, ..self }
    }

    /// Returns the exact product. Both significands must have at most 64 bits.
    pub fn product(self, other: Self) -> Self {
        Self {
            negative: self.negative != other.negative,
            exponent: self.exponent + other.exponent,
            significand: self.significand * other.significand,
        }
    }

    /// Returns the sum. `rounding` selects the sign of a zero.
    ///
    /// The sum is jammed if one summand is much smaller. Then at most one leading bit cancels, so at least 126 bits
    /// are left.
    pub fn sum(self, other: Self, rounding: Rounding) -> Self {
        let cancelled = rounding == Rounding::Down;
        let same_sign = self.negative == other.negative;
        if self.is_zero() || other.is_zero() {
            let mut sum = if self.is_zero() { other } else { self };
            if sum.is_zero() && !same_sign {
                sum.negative = cancelled;
            }
            return sum;
        }
        // Leaves one bit for the carry.
        let (x, y) = (self.with_top(126), other.with_top(126));
        let x_is_larger = (x.exponent, x.significand) >= (y.exponent, y.significand);
        let (large, small) = if x_is_larger { (x, y) } else { (y, x) };
        let addend = shift_right_jam(small.significand, large.exponent.abs_diff(small.exponent));
        if same_sign {
            return Self { significand: large.significand + addend, ..large };
        }
        let significand = large.significand - addend;
        let negative = if significand == 0 { cancelled } else { large.negative };
        Self { negative, significand, ..large }
    }

    /// Returns the magnitude in units of two to the power of `unit`, rounded, and whether it is inexact. The result
    /// must fit.
    pub fn in_units(self, unit: i32, rounding: Rounding) -> (u128, bool) {
        if unit <= self.exponent {
            return (self.significand << (self.exponent - unit), false);
        }
        // Beyond some distance from the unit, all numbers round alike.
        let shift = unit.abs_diff(self.exponent);
        let significand = shift_right_jam(self.significand, shift.saturating_sub(120));
        let shift = shift.min(120);
        let kept = significand >> shift;
        let rest = significand - (kept << shift);
        let half = 1 << (shift - 1);
        let up = match rounding {
            Rounding::NearestEven => rest > half || rest == half && kept & 1 == 1,
            Rounding::TowardZero => false,
            Rounding::Down => self.negative && rest != 0,
            Rounding::Up => !self.negative && rest != 0,
            Rounding::NearestMaxMagnitude => rest >= half,
        };
        (kept + u128::from(up), rest != 0)
    }

    /// Returns the nearest number of `format` in the rounding mode.
    pub fn round(self, format: Format, rounding: Rounding, flags: &mut Flags) -> u64 {
        if self.is_zero() {
            return format.zero(self.negative);
        }
        let fraction_bits = format.fraction_bits as i32;
        let magnitude = self.exponent + self.significand.ilog2() as i32;
        let exponent = magnitude.max(format.min_exponent());
        let (significand, inexact) = self.in_units(exponent - fraction_bits, rounding);
        // The leading 1 of a normal number adds one to the exponent field, and so does a carry out of the fraction.
        let field = (exponent - format.min_exponent()) as u64;
        let bits = (field << fraction_bits) + significand as u64;
        if bits >= format.infinity(false) {
            return self.overflow(format, rounding, flags);
        }
        if inexact {
            flags.raise(Flags::NX);
            if magnitude < format.min_exponent() && self.is_tiny(magnitude, format, rounding) {
                flags.raise(Flags::UF);
            }
        }
        format.sign(self.negative) | bits
    }

    /// Returns whether a number below the smallest normal number stays below it if rounded with an unlimited
    /// exponent.
    fn is_tiny(self, magnitude: i32, format: Format, rounding: Rounding) -> bool {
        let fraction_bits = format.fraction_bits;
        let (significand, _) = self.in_units(magnitude - fraction_bits as i32, rounding);
        let carry = significand >> (fraction_bits + 1) != 0;
        magnitude + i32::from(carry) < format.min_exponent()
    }

    fn overflow(self, format: Format, rounding: Rounding, flags: &mut Flags) -> u64 {
        flags.raise(Flags::OF);
        flags.raise(Flags::NX);
        let to_infinity = match rounding {
            Rounding::NearestEven | Rounding::NearestMaxMagnitude => true,
            Rounding::TowardZero => false,
            Rounding::Down => self.negative,
            Rounding::Up => !self.negative,
        };
        if to_infinity { format.infinity(self.negative) } else { format.largest(self.negative) }
    }
}

/// Shifts right. If a bit that is not zero is shifted out, the last bit becomes 1.
fn shift_right_jam(value: u128, shift: u32) -> u128 {
    let kept = value.checked_shr(shift).unwrap_or(0);
    let lost = kept.checked_shl(shift).unwrap_or(0) != value;
    kept | u128::from(lost)
}
