use std::fmt;
use std::io;

use crate::format::NotALog;

/// Error for bytes that cannot be decoded. What came before them was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Offset in the given bytes.
    pub offset: usize,
    /// Kind of damage.
    pub kind: DamageKind,
}

/// Kind of damage of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DamageKind {
    /// A record is malformed.
    Record,
    /// A word has no meaning.
    Word(u32),
    /// A word cannot come here.
    Misplaced(u32),
    /// A translation was not defined.
    Translation(u32),
    /// An outcome stands for no translation yet.
    Outcome,
    /// The translation does not have such an instruction.
    Instruction(u32),
    /// A word needs more words than there are.
    Cut,
    /// One instruction has more accesses than possible.
    Accesses,
    /// The checksum of a chunk does not match.
    Checksum,
    /// A chunk is missing or duplicate; the number is that of the expected one.
    Chunk(u32),
}

impl fmt::Display for DamageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record => f.write_str("this is no record"),
            Self::Word(word) => write!(f, "the word {word:#010x} stands for nothing"),
            Self::Misplaced(word) => write!(f, "the word {word:#010x} cannot come here"),
            Self::Translation(number) => write!(f, "translation {number} was not defined"),
            Self::Outcome => f.write_str("an outcome that stands for no translation yet"),
            Self::Instruction(index) => write!(f, "the translation has no instruction {index}"),
            Self::Cut => f.write_str("a word calls for more words than there are"),
            Self::Accesses => f.write_str("more accesses to memory than an instruction can do"),
            Self::Checksum => f.write_str("the checksum of this chunk does not match"),
            Self::Chunk(number) => write!(f, "chunk {number} should come here"),
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at offset {:#x})", self.kind, self.offset)
    }
}

impl std::error::Error for Damage {}

/// Error of reading a log.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The file could not be read.
    Io(io::Error),
    /// The file is no readable log.
    NotALog(NotALog),
    /// The log is damaged. What came before was reported.
    Damage {
        /// Offset in the file.
        offset: u64,
        /// Kind of damage.
        kind: DamageKind,
    },
    /// The file ends inside a chunk: it was cut short. What its chunks have can be read; what came after them is not known.
    CutShort {
        /// Length of the file.
        len: u64,
    },
    /// The log has no such thread.
    NoThread(u32),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::NotALog(error) => error.fmt(f),
            Self::Damage { offset, kind } => write!(f, "the log is damaged: {kind} (at offset {offset:#x})"),
            Self::CutShort { len } => {
                write!(f, "the log was cut short: it ends inside a chunk (at offset {len:#x})")
            }
            Self::NoThread(index) => write!(f, "the log has no thread {index}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::NotALog(error) => Some(error),
            Self::Damage { .. } | Self::CutShort { .. } | Self::NoThread(_) => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<NotALog> for Error {
    fn from(error: NotALog) -> Self {
        Self::NotALog(error)
    }
}
