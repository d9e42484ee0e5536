use super::{long_at, word_at};

/// Size of a chunk header in bytes.
pub const CHUNK_HEADER: usize = 64;
/// Offset in the header of an open chunk of the checkpoint count at the start of the last translation.
pub const BEGAN_AT: usize = 40;
/// Offset in the header of an open chunk of the current checkpoint count, if it is counted in the chunk.
pub const CHUNK_COUNT_AT: usize = 48;

/// Chunk header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkHeader {
    /// Contents.
    pub kind: ChunkKind,
    /// Set to `Open` while more may come.
    pub state: ChunkState,
    /// Location of the checkpoint count; see [`since_last`](Self::since_last).
    pub counted: Counted,
    /// Number of the chunk among those of its kind or thread, from 0.
    pub sequence: u32,
    /// Number of valid bytes after the header, if it is [done](ChunkState::Done). Otherwise the chunk is valid up to
    /// the first word that is 0 where a word or a record would begin.
    pub len: u32,
    /// Number of instructions that the thread had retired when the chunk began.
    pub instructions: u64,
    /// Start time: nanoseconds since the start of the log.
    pub begun: u64,
    /// End time. In an open chunk: the checkpoint count at the start of the last translation.
    pub done: u64,
    /// [`checksum`] of the valid bytes. In an open chunk: the checkpoint count, if it is [counted](Counted) here.
    pub checksum: u64,
}

/// Location of a thread's checkpoint count, for readers of an open chunk of a killed QEMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Counted {
    /// Nowhere that outlives QEMU.
    Unknown = 0,
    /// In the header of the log ([`COUNT_AT`](super::COUNT_AT)).
    Log = 1,
    /// In the header of the chunk.
    Chunk = 2,
}

/// Contents of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChunkKind {
    /// [`Record`](super::Record)s.
    Definitions,
    /// [`Word`](super::Word)s of the thread with this index.
    Thread(u32),
}

/// State of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChunkState {
    /// The chunk is being written, or was when QEMU was killed.
    Open,
    /// The chunk is complete.
    Done,
}

const DEFINITIONS: u32 = 1;
const THREAD: u32 = 2;
const OPEN: u32 = 1;
const DONE: u32 = 2;

impl ChunkHeader {
    /// Returns the header of a chunk with nothing in it yet.
    pub fn open(kind: ChunkKind, sequence: u32) -> Self {
        let (state, counted) = (ChunkState::Open, Counted::Unknown);
        Self { kind, state, counted, sequence, len: 0, instructions: 0, begun: 0, done: 0, checksum: 0 }
    }

    /// Returns the header of the chunk when it is complete at time `done`, with these bytes in it.
    #[must_use]
    pub fn finished(self, bytes: &[u8], done: u64) -> Self {
        let (len, checksum) = (bytes.len() as u32, checksum(bytes));
        Self { state: ChunkState::Done, len, done, checksum, ..self }
    }

    /// Encodes the header.
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
        let words = [kind, thread, self.sequence, state, self.len, self.counted as u32];
        for (to, word) in bytes[..24].chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        let longs = [self.instructions, self.begun, self.done, self.checksum];
        for (to, long) in bytes[24..56].chunks_exact_mut(8).zip(longs) {
            to.copy_from_slice(&long.to_le_bytes());
        }
        bytes
    }

    /// Decodes a header. Returns `None` if this is no chunk, or one that was never begun.
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
        let counted = match word_at(bytes, 20)? {
            1 => Counted::Log,
            2 => Counted::Chunk,
            _ => Counted::Unknown,
        };
        Some(Self {
            kind,
            state,
            counted,
            sequence: word_at(bytes, 8)?,
            len: word_at(bytes, 16)?,
            instructions: long_at(bytes, 24)?,
            begun: long_at(bytes, 32)?,
            done: long_at(bytes, 40)?,
            checksum: long_at(bytes, 48)?,
        })
    }

    /// Returns the number of checkpoints since the last translation began, if the chunk is open and that is known.
    /// `log_count` is the count in the header of the log.
    pub fn since_last(&self, log_count: u64) -> Option<u64> {
        let count = match (self.state, self.counted) {
            (ChunkState::Open, Counted::Log) => log_count,
            (ChunkState::Open, Counted::Chunk) => self.checksum,
            _ => return None,
        };
        Some(count.wrapping_sub(self.done))
    }
}

/// Computes the checksum of the bytes after the header: eight at a time, padded with zeros.
pub fn checksum(bytes: &[u8]) -> u64 {
    let mix = |sum: u64, long: u64| (sum ^ long).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let (longs, rest) = bytes.as_chunks::<8>();
    let sum = longs.iter().fold(bytes.len() as u64, |sum, &long| mix(sum, u64::from_le_bytes(long)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(sum, u64::from_le_bytes(last))
}
