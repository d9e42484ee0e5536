//! Bit strings, lowest bit first, with sign-based compression at the upper end.

/// Number of words in the longest string: encapsulation and payload.
const WORDS: usize = 6;

/// Number of bits in the longest string.
pub(crate) const MAX_BITS: u32 = 64 * WORDS as u32;

/// Reader of fields. Past the received bytes, the last bit repeats without end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    words: [u64; WORDS + 1],
    /// Position of the next bit.
    position: u32,
    /// Number of received bits.
    received: u32,
}

impl Reader {
    /// Creates a reader of `bytes` that starts at bit `position`. Ignores bytes past the longest possible
    /// string.
    #[inline]
    pub(crate) fn new(bytes: &[u8], position: u32) -> Self {
        let sign = bytes.last().map_or(0, |&last| (i64::from(last as i8) >> 7) as u64);
        let mut words = [sign; WORDS + 1];
        let (whole, rest) = bytes.as_chunks::<8>();
        for (word, bytes) in words.iter_mut().zip(whole) {
            *word = u64::from_le_bytes(*bytes);
        }
        if !rest.is_empty()
            && let Some(word) = words.get_mut(whole.len())
        {
            *word = partial(rest) | sign << (8 * rest.len());
        }
        Self { words, position, received: 8 * bytes.len() as u32 }
    }

    /// Reads the next `width` bits, at most 64.
    #[inline]
    pub(crate) fn take(&mut self, width: u32) -> u64 {
        let value = self.peek(width);
        self.position += width;
        value
    }

    /// Reads the next bit.
    #[inline]
    pub(crate) fn bit(&mut self) -> bool {
        self.take(1) != 0
    }

    /// Reads the next `width` bits and sign-extends them.
    #[inline]
    pub(crate) fn signed(&mut self, width: u32) -> u64 {
        let value = self.take(width);
        if width == 0 { 0 } else { sign_extended(value, width) as u64 }
    }

    #[inline]
    fn peek(&self, width: u32) -> u64 {
        if width == 0 {
            return 0;
        }
        let (index, shift) = ((self.position / 64) as usize, self.position % 64);
        // Past the longest string there are no bits, so no readable bit is lost here.
        let low = self.words.get(index).copied().unwrap_or_default() >> shift;
        let high = self.words.get(index + 1).copied().unwrap_or_default() << 1 << (63 - shift);
        (low | high) & (u64::MAX >> (64 - width))
    }

    /// Returns the last bit read.
    #[inline]
    pub(crate) fn previous(&self) -> bool {
        let at = self.position.saturating_sub(1);
        self.words.get((at / 64) as usize).is_some_and(|word| word >> (at % 64) & 1 != 0)
    }

    /// Returns the number of received bits that were not yet read.
    #[inline]
    pub(crate) fn rest(&self) -> u32 {
        self.received.saturating_sub(self.position)
    }

    /// Returns whether whole received bytes follow the last field of the string.
    #[inline]
    pub(crate) fn too_long(&self) -> bool {
        self.received > self.position.next_multiple_of(8)
    }
}

/// Sign-extends the lowest `bits` bits of `value`, 1 to 64.
#[inline]
pub(crate) const fn sign_extended(value: u64, bits: u32) -> i64 {
    let unused = 64 - bits;
    (value << unused) as i64 >> unused
}

/// Returns up to seven bytes as a little-endian number.
#[inline]
fn partial(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Writer of fields.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Writer {
    words: [u64; WORDS + 1],
    position: u32,
}

impl Writer {
    /// Appends the low `width` bits of `value`, at most 64.
    #[inline]
    pub(crate) fn put(&mut self, value: u64, width: u32) {
        debug_assert!(width <= 64 && self.position + width <= MAX_BITS);
        if width == 0 {
            return;
        }
        let value = value & (u64::MAX >> (64 - width));
        let (index, shift) = ((self.position / 64) as usize, self.position % 64);
        self.words[index] |= value << shift;
        self.words[index + 1] |= value >> 1 >> (63 - shift);
        self.position += width;
    }

    /// Appends a bit.
    #[inline]
    pub(crate) fn bit(&mut self, bit: bool) {
        self.put(u64::from(bit), 1);
    }

    /// Returns the last bit written.
    #[inline]
    pub(crate) fn last(&self) -> bool {
        let at = self.position.saturating_sub(1);
        self.words[(at / 64) as usize] >> (at % 64) & 1 != 0
    }

    /// Drops the upper bits that repeat the bit below them. Returns how many bytes remain, at least `least`.
    /// The padding of the last byte repeats the same bit.
    pub(crate) fn compress(&mut self, least: usize) -> usize {
        (self.significant() as usize).div_ceil(8).max(least)
    }

    /// Returns how many bits must be sent, at least one, and sets the bits above them, in all words, to the
    /// highest sent bit.
    pub(crate) fn significant(&mut self) -> u32 {
        let sign = if self.last() { u64::MAX } else { 0 };
        let (index, shift) = ((self.position / 64) as usize, self.position % 64);
        self.words[index] |= sign << shift;
        self.words[index + 1..].fill(sign);
        let top = (0..=index).rev().find(|&i| self.words[i] != sign);
        let bits = top.map_or(0, |i| 64 * i as u32 + 64 - (self.words[i] ^ sign).leading_zeros());
        // One more bit, for the sign.
        bits + 1
    }

    /// Returns the length in bytes without compression; the padding is 0.
    pub(crate) fn len(&self) -> usize {
        self.position.div_ceil(8) as usize
    }

    /// Copies the lowest bytes to `out`.
    pub(crate) fn copy_to(&self, out: &mut [u8]) {
        for (bytes, word) in out.chunks_mut(8).zip(&self.words) {
            bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(fields: &[(u64, u32)]) -> Vec<u8> {
        let mut writer = Writer::default();
        fields.iter().for_each(|&(value, width)| writer.put(value, width));
        let mut out = vec![0; writer.compress(1)];
        writer.copy_to(&mut out);
        out
    }

    #[test]
    fn bits_that_repeat_are_left_out() {
        assert_eq!(bytes(&[(0, 64)]), [0]);
        assert_eq!(bytes(&[(u64::MAX, 64), (u64::MAX, 64)]), [0xff]);
        assert_eq!(bytes(&[(0x7f, 64)]), [0x7f]);
        assert_eq!(bytes(&[(0x80, 64)]), [0x80, 0]);
        assert_eq!(bytes(&[(0x80, 8)]), [0x80]);
        assert_eq!(bytes(&[(1, 3)]), [1]);
        assert_eq!(bytes(&[(5, 3)]), [0xfd]);
        assert_eq!(bytes(&[(1, 63), (3, 2)]), [1, 0, 0, 0, 0, 0, 0, 0x80]);
    }

    #[test]
    fn bits_that_were_not_received_repeat_the_last() {
        let mut reader = Reader::new(&[0x81], 0);
        assert_eq!((reader.take(7), reader.take(64), reader.bit()), (1, u64::MAX, true));
        let mut reader = Reader::new(&[0x41], 6);
        assert_eq!((reader.bit(), reader.take(64)), (true, 0));
        assert!(!reader.too_long());
        let mut reader = Reader::new(&[1, 2, 3], 0);
        assert_eq!((reader.take(12), reader.too_long()), (0x201, true));
        assert_eq!((reader.take(5), reader.too_long()), (0x10, false));
    }

    #[test]
    fn fields_lie_across_words() {
        let fields = [(0x1234_5678_9abc_def0, 64), (5, 3), (u64::MAX - 6, 64), (0x2aa, 10), (0, 1), (9, 5)];
        let bytes = bytes(&fields);
        let mut reader = Reader::new(&bytes, 0);
        for (value, width) in fields {
            assert_eq!(reader.take(width), value);
        }
    }
}
