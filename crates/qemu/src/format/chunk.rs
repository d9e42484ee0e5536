use super::{long_at, word_at};

/// Bytes of the head of a chunk.
pub const CHUNK_HEADER: usize = 64;

/// The head of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkHeader {
    /// What it holds.
    pub kind: ChunkKind,
    /// Whether more may come.
    pub state: ChunkState,
    /// Which chunk of its kind, or of its thread, it is, counted from 0.
    pub sequence: u32,
    /// Bytes behind the head that count, if it is [done](ChunkState::Done); otherwise all up to the first word that is 0 where a
    /// word or a record would begin.
    pub len: u32,
    /// Instructions that the thread had retired when the chunk was begun.
    pub instructions: u64,
    /// When it was begun: nanoseconds since the log was.
    pub begun: u64,
    /// When it was done.
    pub done: u64,
    /// [`checksum`] of those bytes, if it is done.
    pub checksum: u64,
}

/// What a chunk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChunkKind {
    /// [`Record`](super::Record)s.
    Definitions,
    /// [`Word`](super::Word)s of the thread with this index.
    Thread(u32),
}

/// Whether a chunk may still grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChunkState {
    /// It is being written, or was when QEMU was killed.
    Open,
    /// It is whole.
    Done,
}

const DEFINITIONS: u32 = 1;
const THREAD: u32 = 2;
const OPEN: u32 = 1;
const DONE: u32 = 2;

impl ChunkHeader {
    /// As bytes.
    pub fn to_bytes(&self) -> [u8; CHUNK_HEADER] {
        let (kind, thread) = match self.kind {
            ChunkKind::Definitions => (DEFINITIONS, 0),
            ChunkKind::Thread(index) => (THREAD, index),
        };
        let state = match self.state {
            ChunkState::Open => OPEN,
            ChunkState::Done => DONE,
        };
        let mut bytes = [0; CHUNK_HEADER];
        for (to, word) in bytes[..20].chunks_exact_mut(4).zip([kind, thread, self.sequence, state, self.len])
        {
            to.copy_from_slice(&word.to_le_bytes());
        }
        let longs = [self.instructions, self.begun, self.done, self.checksum];
        for (to, long) in bytes[24..56].chunks_exact_mut(8).zip(longs) {
            to.copy_from_slice(&long.to_le_bytes());
        }
        bytes
    }

    /// Read back; `None` if this is no chunk, or one that was never begun.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let kind = match (word_at(bytes, 0)?, word_at(bytes, 4)?) {
            (DEFINITIONS, _) => ChunkKind::Definitions,
            (THREAD, index) => ChunkKind::Thread(index),
            _ => return None,
        };
        let state = match word_at(bytes, 12)? {
            OPEN => ChunkState::Open,
            DONE => ChunkState::Done,
            _ => return None,
        };
        Some(Self {
            kind,
            state,
            sequence: word_at(bytes, 8)?,
            len: word_at(bytes, 16)?,
            instructions: long_at(bytes, 24)?,
            begun: long_at(bytes, 32)?,
            done: long_at(bytes, 40)?,
            checksum: long_at(bytes, 48)?,
        })
    }
}

/// A sum of the bytes of a chunk that are behind its head: eight at a time, what is missing at the end taken as 0.
pub fn checksum(bytes: &[u8]) -> u64 {
    let mix = |sum: u64, long: u64| (sum ^ long).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let (longs, rest) = bytes.as_chunks::<8>();
    let sum = longs.iter().fold(bytes.len() as u64, |sum, &long| mix(sum, u64::from_le_bytes(long)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(sum, u64::from_le_bytes(last))
}
