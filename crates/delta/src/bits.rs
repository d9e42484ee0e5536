//! Bit readers and writers for the payload of one packet, the highest bit first.

use crate::config::Code;

/// Size of a writer's buffer: a payload, a group that begins before its end, and the word that is being filled.
const ROOM: usize = 320;
/// Zero bytes after a reader's payload, so that a window is always whole.
const SLACK: usize = 16;

/// A writer of bits with room for one packet. Check [`BitWriter::bits`] after each group.
#[derive(Clone, Debug)]
pub struct BitWriter {
    bytes: [u8; ROOM],
    /// Bytes of the whole words in `bytes`.
    at: usize,
    /// Bits that are not in `bytes` yet, from the top.
    word: u64,
    /// Free bits in `word`: 1 to 64.
    free: u32,
}

impl BitWriter {
    /// Creates an empty writer.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: [0; ROOM], at: 0, word: 0, free: 64 }
    }

    /// Returns the number of bits written.
    #[must_use]
    #[inline]
    pub const fn bits(&self) -> usize {
        self.at * 8 + 64 - self.free as usize
    }

    /// Writes the low `len` bits of `value`, at most 64. The other bits must be 0.
    #[inline]
    pub fn put(&mut self, value: u64, len: u32) {
        debug_assert!(len == 64 || value >> len == 0);
        if len < self.free {
            self.free -= len;
            // With `len` 0, the shift may be by a whole word.
            self.word |= value.wrapping_shl(self.free);
            return;
        }
        // These bits fill the word. What is left begins the next one.
        let over = len - self.free;
        self.word |= value >> over;
        if let Some(room) = self.bytes.get_mut(self.at..self.at + 8) {
            room.copy_from_slice(&self.word.to_be_bytes());
            self.at += 8;
        }
        self.free = 64 - over;
        self.word = if over == 0 { 0 } else { value << self.free };
    }

    /// Writes `n`, which is not 0, in Elias gamma: a zero for each bit after the first one of `n`, then `n`.
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

    /// Writes `n`, which is not 0, in Elias delta: its number of bits in gamma, then `n` without its first bit.
    #[inline]
    pub fn delta(&mut self, n: u64) {
        let rest = n.max(1).ilog2();
        self.gamma(u64::from(rest) + 1);
        if rest > 0 {
            self.put(n & (u64::MAX >> (64 - rest)), rest);
        }
    }

    /// Writes `n`, which is not 0, in `code`.
    #[inline]
    pub fn elias(&mut self, code: Code, n: u64) {
        match code {
            Code::Gamma => self.gamma(n),
            Code::Delta => self.delta(n),
        }
    }

    /// Returns the bytes written, with zeros up to a whole byte, and empties the writer.
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

/// Returns the number of bits of `n` in Elias gamma.
#[must_use]
#[inline]
pub const fn gamma_bits(n: u64) -> u32 {
    2 * (63 - (n | 1).leading_zeros()) + 1
}

/// Returns the number of bits of `n` in `code`.
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

/// A reader of the bits of one packet's payload. It keeps a copy with zeros at the end.
#[derive(Clone, Debug)]
pub struct BitReader {
    bytes: [u8; 256 + SLACK],
    /// Number of bits in the payload.
    bits: usize,
    /// Number of bits read.
    at: usize,
}

impl BitReader {
    /// Creates a reader of a payload of at most 256 bytes.
    #[must_use]
    pub fn new(payload: &[u8]) -> Self {
        let mut bytes = [0; 256 + SLACK];
        let len = payload.len().min(256);
        bytes[..len].copy_from_slice(&payload[..len]);
        Self { bytes, bits: len * 8, at: 0 }
    }

    /// Returns the number of bits read.
    #[must_use]
    #[inline]
    pub const fn at(&self) -> usize {
        self.at
    }

    /// Returns whether only the zeros that fill the last byte are left.
    #[must_use]
    pub fn is_padding(&self) -> bool {
        let left = self.bits.saturating_sub(self.at);
        left < 8 && self.window() == 0
    }

    /// Returns whether more bits were read than there are.
    #[must_use]
    #[inline]
    pub const fn is_over(&self) -> bool {
        self.at > self.bits
    }

    /// Returns the next bits, from the top. The lowest seven are not valid.
    #[must_use]
    #[inline]
    pub fn window(&self) -> u64 {
        self.window_at(self.at)
    }

    /// Returns the bits from position `at` on, as [`window`](Self::window) does.
    #[must_use]
    #[inline]
    pub(crate) fn window_at(&self, at: usize) -> u64 {
        let from = (at / 8).min(256 + SLACK - 8);
        let word: [u8; 8] = self.bytes[from..from + 8].try_into().unwrap_or_default();
        u64::from_be_bytes(word) << (at % 8)
    }

    /// Moves to position `at`.
    #[inline]
    pub(crate) fn seek(&mut self, at: usize) {
        self.at = at.min(self.bits);
    }

    /// Returns the number of bits in the payload.
    #[must_use]
    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.bits
    }

    /// Skips `bits` bits.
    #[inline]
    pub fn skip(&mut self, bits: u32) {
        self.at = (self.at + bits as usize).min(self.bits + 1);
    }

    /// Reads `len` bits, at most 57, as a number. Returns `None` if there are fewer.
    #[inline]
    pub fn take(&mut self, len: u32) -> Option<u64> {
        let value = if len == 0 { 0 } else { self.window() >> (64 - len) };
        self.skip(len);
        (!self.is_over()).then_some(value)
    }

    /// Reads a number in Elias gamma. Returns `None` at the end, and if it has more than 64 bits.
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

    /// Reads a number in Elias delta. Returns `None` at the end, and if it has more than 64 bits.
    #[inline]
    pub fn delta(&mut self) -> Option<u64> {
        let rest = u32::try_from(self.gamma()? - 1).ok().filter(|&rest| rest < 64)?;
        let high = self.take(rest.min(32))?;
        let low = self.take(rest.saturating_sub(32))?;
        Some(1 << rest | high << rest.saturating_sub(32) | low)
    }

    /// Reads a number in `code`.
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
