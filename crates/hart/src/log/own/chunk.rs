//! What is around each chunk.

use tracewright_core::Crc32;

/// Bytes in front of a chunk.
pub(super) const HEAD: usize = 24;
/// The most bytes in a chunk.
pub(super) const LARGEST: usize = 1 << 20;

/// What is in front of a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// How many bytes of codes.
    pub codes: u32,
    /// How many bytes of what they need.
    pub data: u32,
    /// How many blocks.
    pub blocks: u32,
    /// How many instructions; in the last chunk, which is empty: of the whole log.
    pub instructions: u64,
}

impl Head {
    /// As bytes, with the checksum of them and of the chunk.
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

    /// Whether `head` and `chunk` are as they were written.
    pub fn is_sound(head: &[u8; HEAD], chunk: &[u8]) -> bool {
        Crc32::new().and(&head[..20]).and(chunk).sum().to_le_bytes() == head[20..]
    }
}
