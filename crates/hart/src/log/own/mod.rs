//! Our own log of what a machine executed: small, fast to write, and safe to cut off.
//!
//! A [`Writer`] is a [`Sink`](crate::Sink); a [`Reader`] tells a sink the same again. Its format is in `FORMAT.md`
//! beside this module. In short: a dictionary of the blocks seen so far, a guess which comes next, and nothing but a
//! count while the guesses are right; memory accesses against the last ones of the same instruction. All that is in
//! chunks, each with a checksum.
//!
//! The reader tells all instructions of a block at once, then its accesses, its cycles, and the block; of a block
//! with more than 4096 of one of these, so many at a time. All else comes as it was written.

mod bytes;
mod chunk;
mod model;
mod reader;
mod writer;

use std::{error, fmt, io};

pub use reader::{Header, Reader};
pub use writer::Writer;

/// What a log begins with.
pub const MAGIC: &[u8; 8] = b"twright\n";

/// The version that is written. Version 1, which has neither contexts nor losses, is read, too.
pub const VERSION: u8 = 2;

/// Why a log cannot be read further. All that was told before is right.
#[derive(Debug)]
pub enum Error {
    /// The file could not be read.
    Io(io::Error),
    /// It is no such log.
    NotALog,
    /// It has another version.
    Version(u8),
    /// There is something in it that this version does not know; these bits of what is in it.
    Contents(u8),
    /// It ends in the middle of the chunk at this offset, or before it: who wrote it was stopped.
    Truncated {
        /// Where the chunk is that is not whole.
        offset: u64,
    },
    /// The chunk at this offset is not what was written.
    Damaged {
        /// Where it is.
        offset: u64,
        /// What is wrong with it.
        what: &'static str,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::NotALog => write!(f, "this is no log of tracewright"),
            Self::Version(version) => {
                write!(f, "the log has version {version}, and versions up to {VERSION} are known")
            }
            Self::Contents(bits) => write!(f, "the log has something in it that is not known ({bits:#x})"),
            Self::Truncated { offset } => {
                write!(f, "the log ends in the chunk at offset {offset:#x}, too early")
            }
            Self::Damaged { offset, what } => write!(f, "the chunk at offset {offset:#x} is damaged: {what}"),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

/// What codes mean: the first byte of each thing that is told.
mod code {
    /// Below: so many blocks and one more, each as guessed.
    pub const SECOND: u8 = 0x80;
    /// From [`SECOND`] up to this: the block of the second guess, then so many as guessed.
    pub const KNOWN: u8 = 0xc0;
    /// A block that is not in the dictionary; it is added.
    pub const NEW: u8 = 0xc1;
    /// A block that is not added, since it is too long; the last part of it.
    pub const LONG: u8 = 0xc2;
    /// Instructions and accesses of a block to come.
    pub const PART: u8 = 0xc3;
    /// A trap.
    pub const TRAP: u8 = 0xc4;
    /// A context, from here on (since version 2).
    pub const CONTEXT: u8 = 0xc5;
    /// What comes does not follow from what came (since version 2).
    pub const LOST: u8 = 0xc6;
    /// From here on: a privilege, in the lowest two bits.
    pub const PRIVILEGE: u8 = 0xc8;
}
