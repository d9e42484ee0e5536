//! Our own log of an execution: small, fast to write, and readable if cut off.
//!
//! A [`Writer`] is a [`HartSink`](crate::HartSink); a [`Reader`] replays the log to a sink. `FORMAT.md` beside this module
//! describes the format. In short: a dictionary of the blocks seen so far with a prediction of the next block, so that
//! correct predictions are only counted; and memory accesses as differences to the last ones of the same instruction.
//! The log consists of chunks with checksums.
//!
//! The reader reports all instructions of a block at once, then its accesses, its cycles, and the block. If a block has
//! more than 4096 of one of these, it reports so many at a time. Everything else is reported as it was written.

mod bytes;
mod model;
mod reader;
mod writer;

use std::{error, fmt, io};

use tracewright_core::{Ended, Flow, Isa, Role};
use tracewright_isa::riscv::AccessKind;

pub use reader::{Decoder, Header, Reader};
pub use writer::Writer;

/// First bytes of a log.
pub const MAGIC: &[u8; 8] = b"twright\n";

/// Version that is written. Version 1, which has neither contexts nor losses, can also be read.
pub const VERSION: u8 = 3;

/// Error of reading a log. What was reported before it is correct.
#[derive(Debug)]
pub enum Error {
    /// The file could not be read.
    Io(io::Error),
    /// The file is not a log.
    NotALog,
    /// The version is not supported.
    Version(u8),
    /// The log has contents that this version does not know; the value is the unknown bits.
    Contents(u8),
    /// The log ends in or before the chunk at this offset: the writer was interrupted.
    Truncated {
        /// Offset of the incomplete chunk.
        offset: u64,
    },
    /// The chunk at this offset is damaged.
    Damaged {
        /// Offset of the chunk.
        offset: u64,
        /// Description of the damage.
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

/// Codes: the first byte of each record.
mod code {
    /// Codes below this: a number of blocks, less one, that were all predicted.
    pub const SECOND: u8 = 0x80;
    /// Codes from [`SECOND`] up to this: the block of the second prediction, then a number of predicted blocks.
    pub const KNOWN: u8 = 0xc0;
    /// A new block, which is added to the dictionary.
    pub const NEW: u8 = 0xc1;
    /// The last part of a block that is too long for the dictionary.
    pub const LONG: u8 = 0xc2;
    /// Instructions and accesses of the current block.
    pub const PART: u8 = 0xc3;
    /// A trap.
    pub const TRAP: u8 = 0xc4;
    /// Context from here on (since version 2).
    pub const CONTEXT: u8 = 0xc5;
    /// A gap (since version 2).
    pub const LOST: u8 = 0xc6;
    /// Code that is in no program file (since version 3).
    pub const CODE: u8 = 0xc7;
    /// Privilege from here on, in the lowest two bits.
    pub const PRIVILEGE: u8 = 0xc8;
}

// Values by their numbers in a log.
const FLOWS: [Flow; 7] =
    [Flow::Next, Flow::Direct, Flow::Indirect, Flow::Isb, Flow::Wait, Flow::TransactionStart, Flow::Pair];
const ROLES: [Role; 6] =
    [Role::Jump, Role::Call, Role::Return, Role::ExceptionReturn, Role::LoopEnd, Role::Swap];
const ENDS: [Ended; 4] = [Ended::Taken, Ended::NotTaken, Ended::Through, Ended::Cut];
const ISAS: [Isa; 5] = [Isa::Rv32, Isa::Rv64, Isa::A64, Isa::A32, Isa::T32];
const KINDS: [AccessKind; 3] = [AccessKind::Load, AccessKind::Store, AccessKind::Amo];

/// Returns the number of a value, which is in the table.
fn number<T: PartialEq>(table: &[T], value: &T) -> u8 {
    table.iter().position(|known| known == value).unwrap_or_default() as u8
}
