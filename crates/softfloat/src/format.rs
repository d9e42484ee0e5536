/// A binary interchange format of IEEE 754, up to 64 bits: sign, biased exponent, fraction. Bits of a narrower
/// format are the low ones of a `u64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Bits of the exponent field.
    pub exponent_bits: u32,
    /// Bits of the fraction field: the precision less the bit that is not stored.
    pub fraction_bits: u32,
}

impl Format {
    /// binary32.
    pub const SINGLE: Self = Self { exponent_bits: 8, fraction_bits: 23 };
    /// binary64.
    pub const DOUBLE: Self = Self { exponent_bits: 11, fraction_bits: 52 };

    /// The sign bit.
    pub const fn sign_bit(self) -> u64 {
        1 << (self.exponent_bits + self.fraction_bits)
    }

    /// The fraction field, all ones.
    pub const fn fraction_mask(self) -> u64 {
        (1 << self.fraction_bits) - 1
    }

    /// The exponent field at its right end, all ones.
    pub const fn exponent_mask(self) -> u64 {
        (1 << self.exponent_bits) - 1
    }

    /// The bit of the fraction that says that a NaN is quiet.
    pub const fn quiet_bit(self) -> u64 {
        1 << (self.fraction_bits - 1)
    }

    /// The exponent of 1.0 as it is stored.
    pub const fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// The exponent of the smallest normal number, and of all subnormal ones.
    pub const fn min_exponent(self) -> i32 {
        1 - self.bias()
    }

    /// The sign bit if `negative`.
    pub const fn sign(self, negative: bool) -> u64 {
        if negative { self.sign_bit() } else { 0 }
    }

    /// Zero of either sign.
    pub const fn zero(self, negative: bool) -> u64 {
        self.sign(negative)
    }

    /// Infinity of either sign.
    pub const fn infinity(self, negative: bool) -> u64 {
        self.sign(negative) | self.exponent_mask() << self.fraction_bits
    }

    /// The largest finite number of either sign.
    pub const fn largest(self, negative: bool) -> u64 {
        self.infinity(negative) - 1
    }

    /// The canonical NaN: the only one that operations give.
    pub const fn nan(self) -> u64 {
        self.infinity(false) | self.quiet_bit()
    }

    /// Whether the sign bit is set.
    pub const fn is_negative(self, bits: u64) -> bool {
        bits & self.sign_bit() != 0
    }

    /// The exponent field.
    pub const fn exponent(self, bits: u64) -> u64 {
        bits >> self.fraction_bits & self.exponent_mask()
    }

    /// Whether this is a NaN of any kind.
    pub const fn is_nan(self, bits: u64) -> bool {
        bits & !self.sign_bit() > self.infinity(false)
    }

    /// Whether this is a NaN whose use is an invalid operation.
    pub const fn is_signalling(self, bits: u64) -> bool {
        self.is_nan(bits) && bits & self.quiet_bit() == 0
    }
}
