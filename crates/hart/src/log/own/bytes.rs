//! Numbers and chunk headers as bytes.

use tracewright_core::Crc32;

/// Maximum number of instructions, accesses and cycles of a block in the dictionary.
pub(super) const MOST: usize = 4096;

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

    /// Reads a number of instructions, accesses or cycles.
    pub fn count(&mut self) -> Option<usize> {
        Some(self.small()? as usize).filter(|&count| count <= MOST)
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

/// Size of a chunk header in bytes.
pub(super) const HEAD: usize = 24;
/// Maximum size of a chunk in bytes.
pub(super) const LARGEST: usize = 1 << 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// Length of the codes in bytes.
    pub codes: u32,
    /// Length of their data in bytes.
    pub data: u32,
    pub blocks: u32,
    /// Number of instructions; in the last chunk, which is empty, of the whole log.
    pub instructions: u64,
}

impl Head {
    /// Encodes the header with a checksum of itself and the chunk.
    pub fn write(&self, codes: &[u8], data: &[u8]) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        head[0..4].copy_from_slice(&self.codes.to_le_bytes());
        head[4..8].copy_from_slice(&self.data.to_le_bytes());
        head[8..12].copy_from_slice(&self.blocks.to_le_bytes());
        head[12..20].copy_from_slice(&self.instructions.to_le_bytes());
        let sum = Crc32::new().and(&head[..20]).and(codes).and(data).sum();
        head[20..].copy_from_slice(&sum.to_le_bytes());
        head
    }

    pub fn read(head: &[u8; HEAD]) -> Self {
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        Self {
            codes: word(0),
            data: word(4),
            blocks: word(8),
            instructions: u64::from(word(12)) | u64::from(word(16)) << 32,
        }
    }

    /// Returns whether the checksum of `head` and `chunk` is right.
    pub fn is_sound(head: &[u8; HEAD], chunk: &[u8]) -> bool {
        Crc32::new().and(&head[..20]).and(chunk).sum().to_le_bytes() == head[20..]
    }
}
