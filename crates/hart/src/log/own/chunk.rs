//! Chunk headers.

use tracewright_core::Crc32;

/// Size of a chunk header in bytes.
pub(super) const HEAD: usize = 24;
/// Maximum size of a chunk in bytes.
pub(super) const LARGEST: usize = 1 << 20;

/// Chunk header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// Length of the codes in bytes.
    pub codes: u32,
    /// Length of their data in bytes.
    pub data: u32,
    /// Number of blocks.
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
