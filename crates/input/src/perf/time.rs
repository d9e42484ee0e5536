//! Conversion from the trace's counter to the recorder's clock (`PERF_RECORD_TIME_CONV`).

use super::walk::Fields;

/// Conversion from a counter to the recorder's clock in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeConversion {
    shift: u32,
    mult: u64,
    zero: u64,
    /// Reference value and mask of a counter with few bits.
    short: Option<(u64, u64)>,
}

impl TimeConversion {
    /// Reads the body of the record. Older ones end after the third field.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let mut fields = Fields::new(body);
        let (shift, mult, zero) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let short = fields.u64().zip(fields.u64());
        let flags = fields.take(2).unwrap_or_default();
        let short = short.filter(|_| flags.get(1).is_some_and(|is_short| *is_short != 0));
        let shift = u32::try_from(shift).ok().filter(|shift| *shift < 64)?;
        Some(Self { shift, mult, zero, short })
    }

    /// Returns the time at which the counter had this value.
    #[must_use]
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        let ticks = match self.short {
            Some((at, mask)) => at.wrapping_add(ticks.wrapping_sub(at) & mask),
            None => ticks,
        };
        let since = (u128::from(ticks) * u128::from(self.mult)) >> self.shift;
        self.zero.wrapping_add(since as u64)
    }

    /// Returns the number of ticks in a duration, rounded up.
    #[must_use]
    pub fn ticks(&self, nanoseconds: u64) -> u64 {
        let ticks = (u128::from(nanoseconds) << self.shift).checked_div(self.mult.into()).unwrap_or(0);
        let ticks = u64::try_from(ticks).unwrap_or(u64::MAX);
        let is_short = (u128::from(ticks) * u128::from(self.mult)) >> self.shift < nanoseconds.into();
        ticks.saturating_add(u64::from(is_short))
    }

    /// Returns the frequency of the counter in hertz; 0 if unknown.
    #[must_use]
    pub fn hertz(&self) -> u64 {
        let ticks = 1_000_000_000_u128 << self.shift;
        ticks.checked_div(self.mult.into()).map_or(0, |hertz| u64::try_from(hertz).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(words: &[u64], is_short: bool) -> Vec<u8> {
        let mut body: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        body.extend([1, is_short.into(), 0, 0, 0, 0, 0, 0]);
        body
    }

    /// Computes the time as the kernel's header describes, without wide numbers: quotient and remainder
    /// separately.
    fn as_told(ticks: u64, shift: u64, mult: u64, zero: u64) -> u64 {
        let (quotient, rest) = (ticks >> shift, ticks & ((1 << shift) - 1));
        zero.wrapping_add(quotient.wrapping_mul(mult)).wrapping_add(rest.wrapping_mul(mult) >> shift)
    }

    #[test]
    fn a_counter_of_25_mhz() {
        let conversion = TimeConversion::read(&body(&[24, 40 << 24, 1000, 0, 0], false)).unwrap();
        assert_eq!(
            [0, 1, 25_000_000].map(|ticks| conversion.nanoseconds(ticks)),
            [1000, 1040, 1_000_001_000]
        );
        assert_eq!(conversion.hertz(), 25_000_000);
        assert_eq!([0, 1, 40, 41].map(|nanoseconds| conversion.ticks(nanoseconds)), [0, 1, 1, 2]);
        for ticks in [0, 1, 12_345, u64::from(u32::MAX), 1 << 50] {
            let conversion =
                TimeConversion::read(&body(&[21, 0x0355_5555, u64::MAX - 5, 0, 0], false)).unwrap();
            assert_eq!(conversion.nanoseconds(ticks), as_told(ticks, 21, 0x0355_5555, u64::MAX - 5));
        }
    }

    #[test]
    fn a_counter_of_few_bits_goes_on() {
        let mask = (1 << 32) - 1;
        let conversion = TimeConversion::read(&body(&[0, 1, 0, 0x5_ffff_fff0, mask], true)).unwrap();
        assert_eq!(conversion.nanoseconds(0xffff_fff1), 0x5_ffff_fff1);
        assert_eq!(conversion.nanoseconds(0x10), 0x6_0000_0010);
    }

    #[test]
    fn what_cannot_be_is_not_used() {
        assert_eq!(TimeConversion::read(&body(&[64, 1, 0], false)), None);
        assert_eq!(TimeConversion::read(&[0; 23]), None);
        let zero = TimeConversion::read(&[0; 24]).unwrap();
        assert_eq!((zero.hertz(), zero.nanoseconds(u64::MAX)), (0, 0));
    }
}
