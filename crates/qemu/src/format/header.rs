use std::fmt;

use super::{long_at, word_at};

/// First bytes of a log.
pub const MAGIC: [u8; 8] = *b"twretire";
/// Version that is written. Others are refused.
pub const VERSION: u32 = 1;
/// Size of the header in bytes.
pub const HEADER_SIZE: usize = 4096;
/// Offset in the header of the checkpoint count, while there is one thread.
pub const COUNT_AT: usize = 64;
/// Size of a chunk in bytes, as written. Readers accept any multiple of 4096 up to 2^26.
pub const CHUNK_SIZE: usize = 1 << 18;
const MOST_CHUNK: usize = 1 << 26;

/// Log header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Processor.
    pub target: Target,
    /// Size of each chunk in bytes.
    pub chunk_size: u32,
    /// Recorded part of memory accesses.
    pub data: LogData,
    /// Process ID.
    pub pid: u32,
    /// Process that forked it, if that was recorded too; else 0.
    pub forked_from: u32,
    /// Version of QEMU's plugin interface.
    pub api: u32,
    /// Start time: nanoseconds since 1970.
    pub time: u64,
    /// Checkpoints passed while there was one thread; see [`ChunkHeader::since_last`](super::ChunkHeader::since_last).
    pub checkpoints: u64,
}

/// Processor that QEMU emulates.
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
    /// All processors.
    pub const ALL: [Self; 3] = [Self::Aarch64, Self::Arm, Self::Riscv64];

    /// Returns QEMU's name of the processor.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aarch64 => "aarch64",
            Self::Arm => "arm",
            Self::Riscv64 => "riscv64",
        }
    }
}

/// Recorded part of memory accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum LogData {
    /// Nothing.
    #[default]
    Nothing = 0,
    /// Addresses.
    Addresses = 1,
    /// Addresses and values.
    Values = 3,
}

impl LogData {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Nothing, Self::Addresses, Self::Values];

    /// Returns the name that the plugin's argument `data` has for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::Addresses => "addresses",
            Self::Values => "values",
        }
    }
}

/// Reason why bytes are no readable log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotALog {
    /// The first bytes are wrong.
    Magic,
    /// There are fewer bytes than a header has.
    Short,
    /// The version is not known.
    Version(u32),
    /// The processor is not known.
    Target(u32),
    /// The chunk size is invalid.
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
    /// Returns a header with the usual chunk size, of a log without accesses. Numbers and times are 0.
    pub fn new(target: Target) -> Self {
        Self {
            target,
            chunk_size: CHUNK_SIZE as u32,
            data: LogData::Nothing,
            pid: 0,
            forked_from: 0,
            api: 0,
            time: 0,
            checkpoints: 0,
        }
    }

    /// Encodes the header.
    pub fn to_bytes(&self) -> [u8; HEADER_SIZE] {
        let mut bytes = [0; HEADER_SIZE];
        bytes[..8].copy_from_slice(&MAGIC);
        let (target, data) = (self.target as u32, self.data as u32);
        let words = [VERSION, target, self.chunk_size, data, self.pid, self.forked_from, self.api, 0];
        for (to, word) in bytes[8..40].chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes[40..48].copy_from_slice(&self.time.to_le_bytes());
        bytes[COUNT_AT..COUNT_AT + 8].copy_from_slice(&self.checkpoints.to_le_bytes());
        bytes
    }

    /// Decodes a header.
    ///
    /// # Errors
    /// Returns an error if the bytes are no header of a readable log.
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
        // Values without addresses make no sense.
        let data = LogData::ALL.into_iter().find(|&data| data as u32 == word(20) & 3);
        let data = data.unwrap_or_default();
        let chunk_size = word(16);
        let size = chunk_size as usize;
        if size == 0 || !size.is_multiple_of(4096) || size > MOST_CHUNK {
            return Err(NotALog::ChunkSize(chunk_size));
        }
        Ok(Self {
            target: target.ok_or(NotALog::Target(word(12)))?,
            chunk_size,
            data,
            pid: word(24),
            forked_from: word(28),
            api: word(32),
            time: long_at(bytes, 40).unwrap_or_default(),
            checkpoints: long_at(bytes, COUNT_AT).unwrap_or_default(),
        })
    }
}
