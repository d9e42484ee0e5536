use core::fmt;

/// How timestamps are encoded, as a VERSION says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// As a binary number.
    Natural,
    /// In Gray code, in which neighbours differ in one bit.
    Gray,
}

impl Encoding {
    /// Returns the encoding that a VERSION with this number says.
    pub const fn of_version(version: u8) -> Option<Self> {
        match version {
            3 => Some(Self::Natural),
            4 => Some(Self::Gray),
            _ => None,
        }
    }

    /// Returns the number of a VERSION.
    pub const fn version(self) -> u8 {
        match self {
            Self::Natural => 3,
            Self::Gray => 4,
        }
    }

    /// Returns the bits of a timestamp.
    pub const fn bits(self, value: u64) -> u64 {
        match self {
            Self::Natural => value,
            Self::Gray => value ^ value >> 1,
        }
    }

    /// Returns the timestamp with these bits.
    pub const fn value(self, bits: u64) -> u64 {
        if let Self::Natural = self {
            return bits;
        }
        let mut value = bits;
        let mut shift = 1;
        while shift < 64 {
            value ^= value >> shift;
            shift *= 2;
        }
        value
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Natural => "natural binary",
            Self::Gray => "in Gray code",
        })
    }
}

/// A timestamp. Only its low bits are told; the others are those of the timestamp before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamp {
    /// Its value.
    pub value: u64,
    /// Number of low bits that were told: a multiple of four up to 48, 56 or 64.
    pub told: u8,
}

impl Timestamp {
    /// Returns the number of nibbles that a length nibble stands for, or `None` if it is not one.
    #[inline(always)]
    pub(super) const fn nibbles(length: u8) -> Option<u8> {
        match length {
            0..=0xc => Some(length),
            0xd => Some(14),
            0xe => Some(16),
            _ => None,
        }
    }

    /// Returns the length nibble.
    pub(super) const fn length(&self) -> u8 {
        match self.told {
            0..=48 => self.told / 4,
            49..=56 => 0xd,
            _ => 0xe,
        }
    }

    /// Returns the timestamp after `previous` of which `nibbles` nibbles are told, with these bits.
    #[inline(always)]
    pub(super) const fn after(previous: u64, encoding: Encoding, bits: u64, nibbles: u8) -> Self {
        let told = 4 * nibbles;
        let kept = if told >= 64 { 0 } else { !0 << told };
        Self { value: encoding.value(encoding.bits(previous) & kept | bits), told }
    }

    /// Returns a timestamp in the fewest nibbles after `previous`.
    pub const fn shortest(value: u64, previous: u64, encoding: Encoding) -> Self {
        let changed = 64 - (encoding.bits(value) ^ encoding.bits(previous)).leading_zeros() as u8;
        let told = match changed.div_ceil(4) {
            nibbles @ 0..=12 => 4 * nibbles,
            13..=14 => 56,
            _ => 64,
        };
        Self { value, told }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gray_code_of_the_first_numbers() {
        let bits: Vec<u64> = (0..8).map(|value| Encoding::Gray.bits(value)).collect();
        assert_eq!(bits, [0, 1, 3, 2, 6, 7, 5, 4]);
        for value in [0, 1, 0x1234_5678_9abc_def0, u64::MAX] {
            assert_eq!(Encoding::Gray.value(Encoding::Gray.bits(value)), value);
        }
    }

    #[test]
    fn shortest_and_back() {
        let before = 0x1234_5678_9abc_def0;
        for encoding in [Encoding::Natural, Encoding::Gray] {
            for shift in 0..64 {
                let value = before ^ 1 << shift;
                let short = Timestamp::shortest(value, before, encoding);
                let nibbles = Timestamp::nibbles(short.length()).unwrap();
                assert_eq!(4 * nibbles, short.told);
                let mask = if short.told == 64 { u64::MAX } else { (1 << short.told) - 1 };
                let bits = encoding.bits(value) & mask;
                assert_eq!(Timestamp::after(before, encoding, bits, nibbles), short);
            }
            assert_eq!(Timestamp::shortest(before, before, encoding).told, 0);
        }
        assert_eq!(Timestamp::nibbles(0xf), None);
    }
}
