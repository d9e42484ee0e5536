//! Nibbles of a stream: read in words, and written one by one.

/// Nibbles of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Position of the first one: twice that of its byte, and one more if it is the high half of the byte.
    pub start: u64,
    /// Number of nibbles.
    pub nibbles: u64,
}

impl Span {
    /// Returns the stream position of the byte that the first nibble is in.
    #[inline]
    pub const fn offset(&self) -> u64 {
        self.start / 2
    }

    /// Returns whether the first nibble is the high half of its byte, so that the packet before ends in that byte.
    #[inline]
    pub const fn begins_inside(&self) -> bool {
        self.start % 2 == 1
    }

    /// Returns the position of the nibble after the last one.
    #[inline]
    pub const fn end(&self) -> u64 {
        self.start + self.nibbles
    }

    /// Returns whether the last nibble is the low half of its byte.
    #[inline]
    pub const fn ends_inside(&self) -> bool {
        self.end() % 2 == 1
    }

    /// Returns the number of bytes whose low half is one of the nibbles. Each byte of a stream counts for one packet.
    #[inline]
    pub const fn own_bytes(&self) -> u64 {
        self.end().div_ceil(2) - self.start.div_ceil(2)
    }
}

/// Bytes that can be read from any nibble of a packet on, beyond those of the packet.
pub(super) const PADDING: usize = 16;

/// Returns 16 nibbles from nibble `at` on, the first one lowest. Nibbles after the end are zero.
#[inline(always)]
pub(super) fn word(bytes: &[u8], at: usize) -> u64 {
    let Some(&[a, b, c, d, e, f, g, h, next]) =
        bytes.get(at >> 1..(at >> 1) + 9).and_then(|bytes| <&[u8; 9]>::try_from(bytes).ok())
    else {
        return short_word(bytes, at);
    };
    let low = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    if at & 1 == 0 { low } else { low >> 4 | u64::from(next) << 60 }
}

#[cold]
fn short_word(bytes: &[u8], at: usize) -> u64 {
    (0..16).fold(0, |word, index| word | u64::from(nibble(bytes, at + index)) << (4 * index))
}

/// Returns nibble `at`, or 0 after the end.
pub(super) fn nibble(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at / 2).map_or(0, |byte| byte >> (at % 2 * 4) & 0xf)
}

/// Returns the number that the lowest `count` nibbles of a word are, of which the lowest is the most significant one.
#[inline(always)]
pub(super) const fn number(word: u64, count: u8) -> u64 {
    const LOW: u64 = 0x0f0f_0f0f_0f0f_0f0f;
    let swapped = word.swap_bytes();
    let first_highest = (swapped & LOW) << 4 | swapped >> 4 & LOW;
    match first_highest.checked_shr(64 - 4 * count as u32) {
        Some(number) => number,
        None => 0,
    }
}

/// A writer of nibbles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nibbles {
    bytes: Vec<u8>,
    /// Whether the last byte has only its low half.
    half: bool,
}

impl Nibbles {
    /// Creates a writer whose first nibble is at the start of a byte.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a nibble.
    pub fn push(&mut self, nibble: u8) {
        match self.bytes.last_mut().filter(|_| self.half) {
            Some(byte) => *byte |= nibble << 4,
            None => self.bytes.push(nibble & 0xf),
        }
        self.half = !self.half;
    }

    /// Appends the lowest `count` nibbles of a number, most significant one first.
    pub fn number(&mut self, value: u64, count: u8) {
        (0..count).rev().for_each(|index| self.push((value >> (4 * index)) as u8 & 0xf));
    }

    /// Returns the number of nibbles.
    pub fn len(&self) -> usize {
        2 * self.bytes.len() - usize::from(self.half)
    }

    /// Returns whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the bytes. The high half of the last one is zero, a NULL, if it was not written.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the bytes that are whole, and removes them.
    pub fn take_whole(&mut self) -> Vec<u8> {
        let keep = self.bytes.len() - usize::from(self.half);
        let rest = self.bytes.split_off(keep);
        std::mem::replace(&mut self.bytes, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_from_any_nibble() {
        let bytes: Vec<u8> = (0..24_u32).map(|byte| (byte * 37 + 11) as u8).collect();
        for at in 0..2 * bytes.len() {
            assert_eq!(word(&bytes, at), short_word(&bytes, at), "{at}");
        }
    }

    #[test]
    fn numbers_and_back() {
        let mut written = Nibbles::new();
        let values = [(0xf, 1), (0x1_2345, 5), (0xfedc_ba98_7654_3210, 16), (7, 3)];
        values.iter().for_each(|&(value, count)| written.number(value, count));
        assert_eq!((written.len(), written.bytes().len()), (25, 13));
        assert_eq!(written.bytes()[..3], [0x1f, 0x32, 0x54]);
        let mut at = 0;
        for (value, count) in values {
            assert_eq!(number(word(written.bytes(), at), count), value);
            at += usize::from(count);
        }
        assert_eq!(number(0x1234, 0), 0);
    }

    #[test]
    fn each_byte_counts_once() {
        let spans = [(0, 1), (1, 1), (2, 3), (5, 2), (7, 1), (8, 4)];
        let own: Vec<u64> =
            spans.iter().map(|&(start, nibbles)| Span { start, nibbles }.own_bytes()).collect();
        assert_eq!(own, [1, 0, 2, 1, 0, 2]);
        assert_eq!(own.iter().sum::<u64>(), 6);
    }
}
