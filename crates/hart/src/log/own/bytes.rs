//! Numbers as bytes.

/// Appends a varint: seven bits in each byte, the lowest first. The highest bit marks that more follow.
#[inline]
pub(super) fn put_varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Appends the lowest `len` bytes, the lowest first. Writing all eight and truncating is faster.
#[inline]
pub(super) fn put_fixed(to: &mut Vec<u8>, value: u64, len: usize) {
    let end = to.len() + len;
    to.extend_from_slice(&value.to_le_bytes());
    to.truncate(end);
}

/// Returns the number of significant bytes.
#[inline]
pub(super) fn len(value: u64) -> usize {
    (64 - value.leading_zeros()).div_ceil(8) as usize
}

/// Encodes a signed difference so that small ones give small numbers.
#[inline]
pub(super) fn zigzag(difference: u64) -> u64 {
    difference << 1 ^ ((difference as i64 >> 63) as u64)
}

/// Reverses [`zigzag`].
#[inline]
pub(super) fn unzigzag(value: u64) -> u64 {
    value >> 1 ^ (value & 1).wrapping_neg()
}

/// Reader of bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a>(pub &'a [u8]);

impl Cursor<'_> {
    #[inline]
    pub fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    #[inline]
    pub fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// Reads a varint of at most 32 bits.
    #[inline]
    pub fn small(&mut self) -> Option<u32> {
        u32::try_from(self.varint()?).ok()
    }

    /// Reads `len` bytes, at most eight.
    #[inline]
    pub fn fixed(&mut self, len: usize) -> Option<u64> {
        let value = match self.0.first_chunk() {
            Some(bytes) if len < 8 => u64::from_le_bytes(*bytes) & ((1 << (8 * len)) - 1),
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => {
                let mut bytes = [0; 8];
                bytes.get_mut(..len)?.copy_from_slice(self.0.get(..len)?);
                u64::from_le_bytes(bytes)
            }
        };
        self.0 = self.0.get(len..)?;
        Some(value)
    }
}
