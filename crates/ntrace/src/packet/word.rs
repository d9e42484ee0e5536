//! Reader of short messages, which nearly all are: all bytes at once.

use super::Malformed;
use super::bytes::Source;

/// Most bytes of a short message.
pub(crate) const SHORT: usize = 8;

/// Bits of data in a byte.
const MDO: u32 = 6;
/// The lowest bit of each byte.
const LOW: u64 = 0x0101_0101_0101_0101;

/// Fields of one whole message of up to eight bytes. What is wrong with others is not said.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    /// Data bits without those between them.
    data: u64,
    /// The lowest bit of each byte that ends a variable field which was not read.
    ends: u64,
    /// Number of bits that were read.
    at: u32,
    last: u64,
}

impl Word {
    /// Takes the message apart that `word` begins with. Returns its length too; `None` if it is longer, or no message.
    #[inline(always)]
    pub fn new(word: u64) -> Option<(Self, usize)> {
        let ends = word & word >> 1 & LOW;
        let end = ends & ends.wrapping_neg();
        let message = word & (end << 8).wrapping_sub(1);
        let reserved = message >> 1 & !message & LOW;
        if end == 0 || reserved != 0 || word & 3 != 0 {
            return None;
        }
        let six = message >> 2 & 0x3f3f_3f3f_3f3f_3f3f;
        let twelve = six & 0x003f_003f_003f_003f | (six & 0x3f00_3f00_3f00_3f00) >> 2;
        let twenty_four = twelve & 0x0000_0fff_0000_0fff | (twelve & 0x0fff_0000_0fff_0000) >> 4;
        let data = twenty_four & 0x00ff_ffff | (twenty_four & 0x00ff_ffff_0000_0000) >> 8;
        Some((Self { data, ends: message & LOW, at: 0, last: 0 }, end.trailing_zeros() as usize / 8 + 1))
    }

    /// Returns the bit after the next variable field.
    #[inline(always)]
    fn stop(&self) -> u32 {
        // There is none after the last field.
        MDO * (self.ends.trailing_zeros() / 8 + 1) * u32::from(self.ends != 0)
    }

    #[inline(always)]
    fn take(&mut self, to: u32) -> u64 {
        let value = self.data >> self.at & ((1 << (to - self.at)) - 1);
        self.at = to;
        value
    }
}

impl Source for Word {
    #[inline(always)]
    fn fixed(&mut self, bits: u32, name: &'static str) -> Result<u64, Malformed> {
        if self.at + bits > self.stop() {
            return Err(Malformed::Short(name));
        }
        self.last = self.take(self.at + bits);
        Ok(self.last)
    }

    #[inline(always)]
    fn variable(&mut self, name: &'static str) -> Result<(u64, u32), Malformed> {
        let (from, stop) = (self.at, self.stop());
        if stop <= from {
            return Err(Malformed::Short(name));
        }
        self.ends &= self.ends - 1;
        Ok((self.take(stop), stop - from))
    }

    #[inline(always)]
    fn last(&self) -> u64 {
        self.last
    }

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.ends == 0
    }
}
