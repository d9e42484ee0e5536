/// A binary interchange format of IEEE 754 of up to 64 bits: sign, biased exponent, fraction. The bits of a narrower
/// format are the low bits of a `u64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Bits of the exponent field.
    pub exponent_bits: u32,
    /// Bits of the fraction field: the precision less the implicit bit.
    pub fraction_bits: u32,
}

impl Format {
    /// binary32.
    pub const SINGLE: Self = Self { exponent_bits: 8, fraction_bits: 23 };
    /// binary64.
    pub const DOUBLE: Self = Self { exponent_bits: 11, fraction_bits: 52 };

    /// Returns the sign bit.
    pub const fn sign_bit(self) -> u64 {
        1 << (self.exponent_bits + self.fraction_bits)
    }

    /// Returns the mask of the fraction field.
    pub const fn fraction_mask(self) -> u64 {
        (1 << self.fraction_bits) - 1
    }

    /// Returns the mask of the exponent field, shifted to bit 0.
    pub const fn exponent_mask(self) -> u64 {
        (1 << self.exponent_bits) - 1
    }

    /// Returns the fraction bit that marks a quiet NaN.
    pub const fn quiet_bit(self) -> u64 {
        1 << (self.fraction_bits - 1)
    }

    /// Returns the stored exponent of 1.0.
    pub const fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// Returns the exponent of the smallest normal number and of all subnormal numbers.
    pub const fn min_exponent(self) -> i32 {
        1 - self.bias()
    }

    /// Returns the sign bit if `negative`, otherwise 0.
    pub const fn sign(self, negative: bool) -> u64 {
        if negative { self.sign_bit() } else { 0 }
    }

    /// Returns zero of either sign.
    pub const fn zero(self, negative: bool) -> u64 {
        self.sign(negative)
    }

    /// Returns infinity of either sign.
    pub const fn infinity(self, negative: bool) -> u64 {
        self.sign(negative) | self.exponent_mask() << self.fraction_bits
    }

    /// Returns the largest finite number of either sign.
    pub const fn largest(self, negative: bool) -> u64 {
        self.infinity(negative) - 1
    }

    /// Returns the canonical NaN, which is the only NaN that operations return.
    pub const fn nan(self) -> u64 {
        self.infinity(false) | self.quiet_bit()
    }

    /// Returns whether the sign bit is set.
    pub const fn is_negative(self, bits: u64) -> bool {
        bits & self.sign_bit() != 0
    }

    /// Returns the exponent field.
    pub const fn exponent(self, bits: u64) -> u64 {
        bits >> self.fraction_bits & self.exponent_mask()
    }

    /// Returns whether `bits` are a NaN of any kind.
    pub const fn is_nan(self, bits: u64) -> bool {
        bits & !self.sign_bit() > self.infinity(false)
    }

    /// Returns whether `bits` are a signalling NaN, whose use is an invalid operation.
    pub const fn is_signalling(self, bits: u64) -> bool {
        self.is_nan(bits) && bits & self.quiet_bit() == 0
    }
}
