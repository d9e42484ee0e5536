use core::fmt;
use core::num::NonZero;
use core::str::FromStr;

/// A rate in bits per cycle, as a fraction in its lowest terms. Never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    bits: NonZero<u32>,
    cycles: NonZero<u32>,
}

impl Rate {
    /// Creates a rate of `bits` bits in `cycles` cycles. Returns `None` if either is 0.
    pub const fn new(bits: u32, cycles: u32) -> Option<Self> {
        let (mut divisor, mut rest) = (bits, cycles);
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        if divisor == 0 {
            return None;
        }
        match (NonZero::new(bits / divisor), NonZero::new(cycles / divisor)) {
            (Some(bits), Some(cycles)) => Some(Self { bits, cycles }),
            _ => None,
        }
    }

    /// Creates a rate of `bits` bits per cycle. Returns `None` for 0.
    pub const fn whole(bits: u32) -> Option<Self> {
        Self::new(bits, 1)
    }

    /// Returns the bits that leave in [`cycles`](Self::cycles) cycles.
    pub const fn bits(self) -> u32 {
        self.bits.get()
    }

    /// Returns the cycles in which [`bits`](Self::bits) leave.
    pub const fn cycles(self) -> u32 {
        self.cycles.get()
    }
}

/// An error: the text is not a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRate;

impl fmt::Display for NoRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected bits a cycle above 0, such as 4, 0.5 or 1/2")
    }
}

impl core::error::Error for NoRate {}

/// Parses `4`, `0.5` or `1/2`.
impl FromStr for Rate {
    type Err = NoRate;

    fn from_str(text: &str) -> Result<Self, NoRate> {
        // `u32::from_str` would accept a sign.
        if !text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'/')) {
            return Err(NoRate);
        }
        let number = |text: &str| text.parse::<u32>().map_err(|_| NoRate);
        let (bits, cycles) = if let Some((bits, cycles)) = text.split_once('/') {
            (number(bits)?, number(cycles)?)
        } else if let Some((whole, part)) = text.split_once('.') {
            let digits = u32::try_from(part.len()).map_err(|_| NoRate)?;
            let cycles = 10u32.checked_pow(digits).ok_or(NoRate)?;
            let whole = number(whole)?.checked_mul(cycles).ok_or(NoRate)?;
            (whole.checked_add(number(part)?).ok_or(NoRate)?, cycles)
        } else {
            (number(text)?, 1)
        };
        Self::new(bits, cycles).ok_or(NoRate)
    }
}

/// Writes `4` or `1/2`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.bits, self.cycles.get()) {
            (bits, 1) => write!(f, "{bits}"),
            (bits, cycles) => write!(f, "{bits}/{cycles}"),
        }
    }
}
