use std::fmt;

use super::{long_at, word_at};

/// How a log begins.
pub const MAGIC: [u8; 8] = *b"twretire";
/// The version that is written. Others are refused.
pub const VERSION: u32 = 1;
/// Bytes of the header.
pub const HEADER_SIZE: usize = 4096;
/// Where the header has the count of checkpoints, while there is one thread.
pub const COUNT_AT: usize = 64;
/// Bytes of a chunk, as they are written. Readers take any multiple of 4096 up to 2^26.
pub const CHUNK_SIZE: usize = 1 << 18;
const MOST_CHUNK: usize = 1 << 26;

/// What the log is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The processor.
    pub target: Target,
    /// Bytes of each chunk.
    pub chunk_size: u32,
    /// Whether accesses to memory are in it.
    pub has_accesses: bool,
    /// Whether these have values.
    pub has_values: bool,
    /// The process.
    pub pid: u32,
    /// The process that forked it, if it was recorded too; else 0.
    pub forked_from: u32,
    /// The version of QEMU's plugin interface.
    pub api: u32,
    /// When it began: nanoseconds since 1970.
    pub time: u64,
    /// Checkpoints that were passed while there was one thread; see [`ChunkHeader::since_last`](super::ChunkHeader::since_last).
    pub checkpoints: u64,
}

/// The processor that QEMU is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Target {
    /// `qemu-aarch64`.
    Aarch64 = 1,
    /// `qemu-arm`.
    Arm = 2,
    /// `qemu-riscv64`.
    Riscv64 = 3,
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Aarch64, Self::Arm, Self::Riscv64];

    /// QEMU's name for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aarch64 => "aarch64",
            Self::Arm => "arm",
            Self::Riscv64 => "riscv64",
        }
    }
}

/// Why bytes are no log that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotALog {
    /// It begins otherwise.
    Magic,
    /// Fewer bytes than a header has.
    Short,
    /// A version that is not known here.
    Version(u32),
    /// A processor that is not known here.
    Target(u32),
    /// Chunks cannot have this size.
    ChunkSize(u32),
}

impl fmt::Display for NotALog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic => f.write_str("not a retirement log: it does not begin with `twretire`"),
            Self::Short => f.write_str("the retirement log ends within its header"),
            Self::Version(version) => {
                write!(f, "a retirement log of version {version}; version {VERSION} can be read")
            }
            Self::Target(number) => write!(f, "a retirement log of a processor that is not known ({number})"),
            Self::ChunkSize(size) => write!(f, "a retirement log cannot have chunks of {size} bytes"),
        }
    }
}

impl std::error::Error for NotALog {}

impl Header {
    /// As bytes.
    pub fn to_bytes(&self) -> [u8; HEADER_SIZE] {
        let mut bytes = [0; HEADER_SIZE];
        bytes[..8].copy_from_slice(&MAGIC);
        let contents = u32::from(self.has_accesses) | u32::from(self.has_values) << 1;
        let words =
            [VERSION, self.target as u32, self.chunk_size, contents, self.pid, self.forked_from, self.api, 0];
        for (to, word) in bytes[8..40].chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes[40..48].copy_from_slice(&self.time.to_le_bytes());
        bytes[COUNT_AT..COUNT_AT + 8].copy_from_slice(&self.checkpoints.to_le_bytes());
        bytes
    }

    /// Read back.
    ///
    /// # Errors
    /// When these bytes are no header of a log that can be read.
    pub fn parse(bytes: &[u8]) -> Result<Self, NotALog> {
        if !bytes.starts_with(&MAGIC) {
            return Err(NotALog::Magic);
        }
        if bytes.len() < HEADER_SIZE {
            return Err(NotALog::Short);
        }
        let word = |at| word_at(bytes, at).unwrap_or_default();
        if word(8) != VERSION {
            return Err(NotALog::Version(word(8)));
        }
        let target = Target::ALL.into_iter().find(|&target| target as u32 == word(12));
        let chunk_size = word(16);
        let size = chunk_size as usize;
        if size == 0 || !size.is_multiple_of(4096) || size > MOST_CHUNK {
            return Err(NotALog::ChunkSize(chunk_size));
        }
        Ok(Self {
            target: target.ok_or(NotALog::Target(word(12)))?,
            chunk_size,
            has_accesses: word(20) & 1 != 0,
            has_values: word(20) & 2 != 0,
            pid: word(24),
            forked_from: word(28),
            api: word(32),
            time: long_at(bytes, 40).unwrap_or_default(),
            checkpoints: long_at(bytes, COUNT_AT).unwrap_or_default(),
        })
    }
}
