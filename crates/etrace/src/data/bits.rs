//! Strings of bits, the lowest first, whose upper end repeats.

/// No data packet is longer: an atomic with all fields at their widest has 208 bits.
const MAX: usize = 32;

/// The bytes of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    bytes: [u8; MAX],
    bits: u16,
}

impl Payload {
    /// The bytes, the last one filled up with the highest bit.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.bits.div_ceil(8))]
    }

    /// How many bits must be sent: those above repeat the highest of them.
    pub const fn bits(&self) -> usize {
        self.bits as usize
    }
}

/// Takes fields from bytes. Bits above the last one repeat it.
#[derive(Debug)]
pub(super) struct Reader {
    words: [u64; MAX / 8 + 4],
    at: usize,
}

impl Reader {
    /// `None` if there are no bytes, or more than a packet can have.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let last = *bytes.last()?;
        if bytes.len() > MAX {
            return None;
        }
        let fill = if last >> 7 == 1 { 0xff } else { 0 };
        let mut words = [if fill == 0 { 0 } else { u64::MAX }; MAX / 8 + 4];
        for (word, chunk) in words.iter_mut().zip(bytes.chunks(8)) {
            let mut whole = [fill; 8];
            whole[..chunk.len()].copy_from_slice(chunk);
            *word = u64::from_le_bytes(whole);
        }
        Some(Self { words, at: 0 })
    }

    /// The next `bits` bits, at most 64.
    pub fn take(&mut self, bits: u32) -> u64 {
        if bits == 0 {
            return 0;
        }
        let (word, shift) = (self.at / 64, self.at % 64);
        self.at += bits as usize;
        let mut value = self.words[word] >> shift;
        if shift > 0 {
            value |= self.words[word + 1] << (64 - shift);
        }
        value & (u64::MAX >> (64 - bits))
    }

    /// The same, the highest bit being the sign.
    pub fn take_signed(&mut self, bits: u32) -> u64 {
        extended(self.take(bits), bits)
    }
}

/// Puts fields one after another.
#[derive(Debug, Default)]
pub(super) struct Writer {
    words: [u64; MAX / 8 + 1],
    at: usize,
}

impl Writer {
    /// The lowest `bits` bits of `value`, at most 64.
    pub fn put(&mut self, value: u64, bits: u32) {
        if bits == 0 {
            return;
        }
        let value = value & (u64::MAX >> (64 - bits));
        let (word, shift) = (self.at / 64, self.at % 64);
        self.words[word] |= value << shift;
        if shift > 0 {
            self.words[word + 1] |= value >> (64 - shift);
        }
        self.at += bits as usize;
    }

    /// What must be sent of it.
    pub fn finish(mut self) -> Payload {
        let top = self.at - 1;
        let sign = self.words[top / 64] >> (top % 64) & 1 == 1;
        let fill = if sign { u64::MAX } else { 0 };
        let (word, shift) = (self.at / 64, self.at % 64);
        self.words[word] = self.words[word] & !(u64::MAX << shift) | fill << shift;
        self.words[word + 1..].fill(fill);
        // The highest bit that is not as all above it, and one of those: or just one, if all are the same.
        let other = self.words.iter().rposition(|&word| word != fill);
        let bits = other.map_or(1, |i| 64 * i + (self.words[i] ^ fill).ilog2() as usize + 2);
        let mut bytes = [0; MAX];
        for (to, word) in bytes.chunks_exact_mut(8).zip(self.words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes[bits.div_ceil(8)..].fill(0);
        Payload { bytes, bits: bits as u16 }
    }
}

/// The lowest `bits` bits of `value`, 1 to 64, the highest being the sign.
pub(super) const fn extended(value: u64, bits: u32) -> u64 {
    let shift = 64 - bits;
    ((value << shift) as i64 >> shift) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (fields as value and bits, bytes)
    const CASES: [(&[(u64, u32)], &[u8]); 6] = [
        (&[(0, 3)], &[0]),
        (&[(7, 3), (u64::MAX, 64)], &[0xff]),
        (&[(2, 3), (0, 64), (0, 64), (0, 64)], &[2]),
        (&[(2, 3), (0x80, 8)], &[2, 0xfc]),
        (&[(0x7f, 8)], &[0x7f]),
        (&[(0xff, 8), (0, 1)], &[0xff, 0]),
    ];

    #[test]
    fn fields() {
        for (fields, bytes) in CASES {
            let mut writer = Writer::default();
            fields.iter().for_each(|&(value, bits)| writer.put(value, bits));
            assert_eq!(writer.finish().as_bytes(), bytes, "{fields:?}");
            let mut reader = Reader::new(bytes).unwrap();
            for &(value, bits) in fields {
                assert_eq!(reader.take(bits), value, "{fields:?}");
            }
        }
    }

    #[test]
    fn no_packet() {
        assert!(Reader::new(&[]).is_none());
        assert!(Reader::new(&[0; MAX]).is_some());
        assert!(Reader::new(&[0; MAX + 1]).is_none());
    }
}
