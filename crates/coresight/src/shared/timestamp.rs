//! Bytes of timestamps, in packets of ETMv3 and PTM.
//!
//! A timestamp is told lowest bits first, seven in each byte, whose bit 7 says whether another follows. Higher bits stay as they were.
//! The last byte that can be has six bits of 48, or eight of 64.

/// Width of the timestamps of a trace unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Width {
    /// 48 bits in up to seven bytes.
    #[default]
    Bits48,
    /// 64 bits in up to nine bytes.
    Bits64,
}

/// The bytes of a timestamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TimestampBytes {
    /// Low bits that are told.
    pub bits: u64,
    /// Number of bits that are told.
    pub told: u8,
}

impl Width {
    /// Returns the most bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Bits48 => 7,
            Self::Bits64 => 9,
        }
    }

    const fn bits(self) -> u8 {
        match self {
            Self::Bits48 => 48,
            Self::Bits64 => 64,
        }
    }
}

impl TimestampBytes {
    /// Reads the timestamp at the start of `bytes`. Returns it and the number of its bytes, or `None` if there are too few.
    pub fn read(bytes: &[u8], width: Width) -> Option<(Self, usize)> {
        let most = width.bytes();
        let mut found = Self::default();
        for (index, &byte) in bytes.iter().enumerate() {
            if index + 1 == most {
                let mask = if width == Width::Bits64 { 0xff } else { 0x3f };
                found.bits |= u64::from(byte & mask) << (7 * index);
                found.told = width.bits();
                return Some((found, most));
            }
            found.bits |= u64::from(byte & 0x7f) << (7 * index);
            found.told += 7;
            if byte & 0x80 == 0 {
                return Some((found, index + 1));
            }
        }
        None
    }

    /// Returns the timestamp after `previous`.
    pub const fn apply(&self, previous: u64) -> u64 {
        let mask = if self.told >= 64 { u64::MAX } else { (1 << self.told) - 1 };
        previous & !mask | self.bits & mask
    }

    /// Returns the shortest bytes for `value` after `previous`.
    pub const fn shortest(value: u64, previous: u64, width: Width) -> Self {
        let mut told = 7;
        while told < 7 * (width.bytes() as u8 - 1) && (value ^ previous) >> told != 0 {
            told += 7;
        }
        if (value ^ previous) >> told != 0 {
            told = width.bits();
        }
        let mask = if told >= 64 { u64::MAX } else { (1 << told) - 1 };
        Self { bits: value & mask, told }
    }

    /// Appends the bytes.
    pub fn write(&self, width: Width, bytes: &mut Vec<u8>) {
        let count =
            if self.told == width.bits() { width.bytes() } else { usize::from(self.told).div_ceil(7) };
        for index in 0..count {
            let byte = (self.bits >> (7 * index)) as u8;
            bytes.push(match () {
                () if index + 1 == width.bytes() => byte,
                () => byte & 0x7f | if index + 1 < count { 0x80 } else { 0 },
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_back() {
        for width in [Width::Bits48, Width::Bits64] {
            let mask = if width == Width::Bits48 { (1 << 48) - 1 } else { u64::MAX };
            let before = 0x1234_5678_9abc_def0 & mask;
            for shift in 0..64 {
                let value = (before ^ 1_u64 << shift) & mask;
                let short = TimestampBytes::shortest(value, before, width);
                let mut bytes = Vec::new();
                short.write(width, &mut bytes);
                assert!(bytes.len() <= width.bytes());
                assert_eq!(TimestampBytes::read(&bytes, width), Some((short, bytes.len())), "{bytes:02x?}");
                assert_eq!(short.apply(before), value);
                assert_eq!(TimestampBytes::read(&bytes[..bytes.len() - 1], width), None);
            }
        }
    }
}
