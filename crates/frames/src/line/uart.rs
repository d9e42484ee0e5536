use super::trust::Trust;
use super::unit::{FRACTION, units};
use crate::LineEvent;

/// Bits of a character: start bit, eight bits of data, stop bit.
const BITS: u64 = 10;
const STOP: u64 = 9;
/// Bits of the longest run inside a character, or of ones up to the next.
pub(crate) const LONGEST: u64 = 9;

/// The characters of a UART, taken from runs of the line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uart {
    /// Bits of the character that has begun, the start bit lowest.
    bits: u64,
    count: u64,
}

impl Uart {
    /// Accepts a run of `len` samples from sample `at` on.
    pub(crate) fn run(
        &mut self,
        (level, at, len): (bool, u64, u64),
        unit: u64,
        trust: &mut Trust,
        emit: &mut impl FnMut(LineEvent),
    ) {
        if trust.start.is_none() && !level {
            *self = Self::default();
            trust.start = Some(at);
        }
        if let Some(start) = trust.start {
            let end = at + len;
            // Bits are counted from the start bit, so that inexact edges do not add up.
            let upto = units(end - start, unit).min(BITS);
            let is_glitch = upto <= self.count;
            if level {
                self.bits |= (1 << upto) - (1 << self.count.min(upto));
            }
            self.count = upto;
            if is_glitch || upto == BITS && !level {
                trust.bad(at, end);
            } else if upto == BITS {
                let byte = (self.bits >> 1) as u8;
                // No other place has nine zeros and a one.
                if byte == 0 {
                    trust.is_sure();
                }
                let stop = start + STOP * unit / FRACTION;
                trust.good([(start, byte)], stop.min(end), emit);
            }
        }
        // No character has so many ones.
        if level && units(len, unit) >= BITS {
            trust.is_sure();
        }
    }
}
