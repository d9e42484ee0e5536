//! Bits, the highest first: written into and read from the payload of one packet.

use crate::config::Code;

/// Bytes a writer has room for: a payload, a group that begins before its end, and the word that is being filled.
const ROOM: usize = 320;
/// Zero bytes after what a reader reads, so that a window never ends early.
const SLACK: usize = 16;

/// Writes bits. It has room for a packet; who uses it looks at [`BitWriter::bits`] after each group.
#[derive(Clone, Debug)]
pub struct BitWriter {
    bytes: [u8; ROOM],
    /// Whole words in `bytes`, as bytes.
    at: usize,
    /// Bits not in `bytes` yet, from the top.
    word: u64,
    /// Free bits in `word`: 1 to 64.
    free: u32,
}

impl BitWriter {
    /// An empty one.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: [0; ROOM], at: 0, word: 0, free: 64 }
    }

    /// Bits written.
    #[must_use]
    #[inline]
    pub const fn bits(&self) -> usize {
        self.at * 8 + 64 - self.free as usize
    }

    /// The low `len` bits of `value`, which has no others; at most 64.
    #[inline]
    pub fn put(&mut self, value: u64, len: u32) {
        debug_assert!(len == 64 || value >> len == 0);
        if len < self.free {
            self.free -= len;
            // Of no bits at all, the shift may be by a whole word.
            self.word |= value.wrapping_shl(self.free);
            return;
        }
        // At least the rest of the word: what is left over begins the next one.
        let over = len - self.free;
        self.word |= value >> over;
        if let Some(room) = self.bytes.get_mut(self.at..self.at + 8) {
            room.copy_from_slice(&self.word.to_be_bytes());
            self.at += 8;
        }
        self.free = 64 - over;
        self.word = if over == 0 { 0 } else { value << self.free };
    }

    /// Elias gamma of `n`, which is not 0: as many zeros as bits follow the first one of `n`, then `n`.
    #[inline]
    pub fn gamma(&mut self, n: u64) {
        let len = gamma_bits(n);
        if len <= 64 {
            self.put(n, len);
        } else {
            self.put(0, len - 64);
            self.put(n, 64);
        }
    }

    /// Elias delta of `n`, which is not 0: the number of its bits in gamma, then `n` without its first one.
    #[inline]
    pub fn delta(&mut self, n: u64) {
        let rest = n.max(1).ilog2();
        self.gamma(u64::from(rest) + 1);
        if rest > 0 {
            self.put(n & (u64::MAX >> (64 - rest)), rest);
        }
    }

    /// `n`, which is not 0, in a code.
    #[inline]
    pub fn elias(&mut self, code: Code, n: u64) {
        match code {
            Code::Gamma => self.gamma(n),
            Code::Delta => self.delta(n),
        }
    }

    /// What was written, with zeros up to a whole byte; the writer is empty then.
    pub fn take(&mut self) -> &[u8] {
        let len = self.bits().div_ceil(8);
        if let Some(room) = self.bytes.get_mut(self.at..self.at + 8) {
            room.copy_from_slice(&self.word.to_be_bytes());
        }
        (self.at, self.word, self.free) = (0, 0, 64);
        &self.bytes[..len.min(ROOM)]
    }
}

impl Default for BitWriter {
    fn default() -> Self {
        Self::new()
    }
}

/// Bits that `n` has in Elias gamma.
#[must_use]
#[inline]
pub const fn gamma_bits(n: u64) -> u32 {
    2 * (63 - (n | 1).leading_zeros()) + 1
}

/// Bits that `n` has in a code.
#[must_use]
pub const fn elias_bits(code: Code, n: u64) -> u32 {
    match code {
        Code::Gamma => gamma_bits(n),
        Code::Delta => {
            let rest = 63 - (n | 1).leading_zeros();
            gamma_bits(rest as u64 + 1) + rest
        }
    }
}

/// Reads the bits of one packet's payload, from a copy of its own that has zeros at its end.
#[derive(Clone, Debug)]
pub struct BitReader {
    bytes: [u8; 256 + SLACK],
    /// Bits of the payload.
    bits: usize,
    /// Bits read.
    at: usize,
}

impl BitReader {
    /// Reads a payload: at most 256 bytes.
    #[must_use]
    pub fn new(payload: &[u8]) -> Self {
        let mut bytes = [0; 256 + SLACK];
        let len = payload.len().min(256);
        bytes[..len].copy_from_slice(&payload[..len]);
        Self { bytes, bits: len * 8, at: 0 }
    }

    /// Bits read.
    #[must_use]
    #[inline]
    pub const fn at(&self) -> usize {
        self.at
    }

    /// Whether nothing but the zeros that fill a byte is left.
    #[must_use]
    pub fn is_padding(&self) -> bool {
        let left = self.bits.saturating_sub(self.at);
        left < 8 && self.window() == 0
    }

    /// Whether more was read than there is.
    #[must_use]
    #[inline]
    pub const fn is_over(&self) -> bool {
        self.at > self.bits
    }

    /// The bits that come next, at the top; the lowest seven are not valid.
    #[must_use]
    #[inline]
    pub fn window(&self) -> u64 {
        self.window_at(self.at)
    }

    /// The same from another place on.
    #[must_use]
    #[inline]
    pub(crate) fn window_at(&self, at: usize) -> u64 {
        let from = (at / 8).min(256 + SLACK - 8);
        let word: [u8; 8] = self.bytes[from..from + 8].try_into().unwrap_or_default();
        u64::from_be_bytes(word) << (at % 8)
    }

    /// Goes on at another place.
    #[inline]
    pub(crate) fn seek(&mut self, at: usize) {
        self.at = at.min(self.bits);
    }

    /// Bits of the payload.
    #[must_use]
    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.bits
    }

    /// Goes on by so many bits.
    #[inline]
    pub fn skip(&mut self, bits: u32) {
        self.at = (self.at + bits as usize).min(self.bits + 1);
    }

    /// `len` bits as a number: at most 57. `None` if there are fewer.
    #[inline]
    pub fn take(&mut self, len: u32) -> Option<u64> {
        let value = if len == 0 { 0 } else { self.window() >> (64 - len) };
        self.skip(len);
        (!self.is_over()).then_some(value)
    }

    /// A number in Elias gamma. `None` at the end, and if it has more than 64 bits.
    #[inline]
    pub fn gamma(&mut self) -> Option<u64> {
        let window = self.window();
        let zeros = window.leading_zeros();
        if zeros > 28 {
            return self.long_gamma();
        }
        self.skip(2 * zeros + 1);
        (!self.is_over()).then_some(window >> (63 - 2 * zeros))
    }

    #[cold]
    fn long_gamma(&mut self) -> Option<u64> {
        let mut zeros = 0;
        while self.take(1)? == 0 {
            zeros += 1;
        }
        let high = self.take(zeros.min(32))?;
        let low = self.take(zeros.saturating_sub(32).min(32))?;
        (zeros < 64).then(|| {
            let rest = zeros.saturating_sub(32);
            1 << zeros | high << rest | low
        })
    }

    /// A number in Elias delta. `None` at the end, and if it has more than 64 bits.
    #[inline]
    pub fn delta(&mut self) -> Option<u64> {
        let rest = u32::try_from(self.gamma()? - 1).ok().filter(|&rest| rest < 64)?;
        let high = self.take(rest.min(32))?;
        let low = self.take(rest.saturating_sub(32))?;
        Some(1 << rest | high << rest.saturating_sub(32) | low)
    }

    /// A number in a code.
    #[inline]
    pub fn elias(&mut self, code: Code) -> Option<u64> {
        match code {
            Code::Gamma => self.gamma(),
            Code::Delta => self.delta(),
        }
    }
}

#[cfg(test)]
mod tests;
