//! Strings of bits, lowest first, with sign-based compression at their upper end.

/// Words of the longest string: encapsulation and payload.
const WORDS: usize = 6;

/// Bits of the longest string.
pub(crate) const MAX_BITS: u32 = 64 * WORDS as u32;

/// Reads fields. Beyond the bytes that were received the last bit goes on for ever.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    words: [u64; WORDS + 1],
    /// The next bit.
    position: u32,
    /// How many bits were received.
    received: u32,
}

impl Reader {
    /// Reads `bytes` from bit `position` on. Bytes that no string can have are not looked at.
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

    /// The next `width` bits, at most 64.
    #[inline]
    pub(crate) fn take(&mut self, width: u32) -> u64 {
        let value = self.peek(width);
        self.position += width;
        value
    }

    /// The next bit.
    #[inline]
    pub(crate) fn bit(&mut self) -> bool {
        self.take(1) != 0
    }

    /// The next `width` bits as a number with a sign.
    #[inline]
    pub(crate) fn signed(&mut self, width: u32) -> u64 {
        let value = self.take(width);
        if width == 0 { 0 } else { ((value << (64 - width)) as i64 >> (64 - width)) as u64 }
    }

    #[inline]
    fn peek(&self, width: u32) -> u64 {
        if width == 0 {
            return 0;
        }
        let (index, shift) = ((self.position / 64) as usize, self.position % 64);
        // A string that is longer than any has no bits there; nothing is lost that could be read.
        let low = self.words.get(index).copied().unwrap_or_default() >> shift;
        let high = self.words.get(index + 1).copied().unwrap_or_default() << 1 << (63 - shift);
        (low | high) & (u64::MAX >> (64 - width))
    }

    /// The bit before the next.
    #[inline]
    pub(crate) fn previous(&self) -> bool {
        let at = self.position.saturating_sub(1);
        self.words.get((at / 64) as usize).is_some_and(|word| word >> (at % 64) & 1 != 0)
    }

    /// How many bits were received that were not read.
    #[inline]
    pub(crate) fn rest(&self) -> u32 {
        self.received.saturating_sub(self.position)
    }

    /// Whether whole bytes were received that are not part of the string, whose last field was read.
    #[inline]
    pub(crate) fn too_long(&self) -> bool {
        self.received > self.position.next_multiple_of(8)
    }
}

/// Up to seven bytes as a number.
#[inline]
fn partial(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Writes fields.
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

    /// The last bit.
    #[inline]
    pub(crate) fn last(&self) -> bool {
        let at = self.position.saturating_sub(1);
        self.words[(at / 64) as usize] >> (at % 64) & 1 != 0
    }

    /// Leaves out what repeats the bit before it, at the upper end, and tells how many bytes are left: `least` at least.
    /// The padding repeats it, too.
    pub(crate) fn compress(&mut self, least: usize) -> usize {
        (self.significant() as usize).div_ceil(8).max(least)
    }

    /// How many bits must be sent, one at least: those above repeat the highest of them, in all words.
    pub(crate) fn significant(&mut self) -> u32 {
        let sign = if self.last() { u64::MAX } else { 0 };
        let (index, shift) = ((self.position / 64) as usize, self.position % 64);
        self.words[index] |= sign << shift;
        self.words[index + 1..].fill(sign);
        let top = (0..=index).rev().find(|&i| self.words[i] != sign);
        let bits = top.map_or(0, |i| 64 * i as u32 + 64 - (self.words[i] ^ sign).leading_zeros());
        // One bit more, for the sign.
        bits + 1
    }

    /// How many bytes there are if nothing is left out; the padding is 0.
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
