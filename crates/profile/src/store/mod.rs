//! Profile files: compact, with checksums, and the same bytes for the same profile. `book/src/reference/profile-format.md` describes
//! the format.
//!
//! ```
//! use tracewright_profile::{Profile, store};
//!
//! let bytes = store::write(&Profile::default());
//! assert!(store::is_profile(&bytes));
//! assert_eq!(store::read(&bytes), Ok(Profile::default()));
//! assert_eq!(store::read(&bytes[..20]).unwrap_err().offset, 20);
//! ```

mod read;
mod shape;
pub(crate) mod varint;
mod write;

use std::error::Error;
use std::fmt;

pub use read::read;
pub use write::write;

/// First bytes of every file.
pub const MAGIC: [u8; 8] = *b"\x89TWPROF\n";
/// Version that is written, and newest version that is read.
pub const VERSION: u64 = 1;
/// Largest sum in a file: of instructions, of taken branches, and of each number of the funnel. CallSums of a few files and
/// products with small numbers still fit into 64 bits.
pub const LARGEST_SUM: u64 = 1 << 60;

/// Section tags.
mod tag {
    /// Binaries.
    pub const BINARIES: u8 = b'B';
    /// Funnel.
    pub const FUNNEL: u8 = b'F';
    /// Executable segments of binaries.
    pub const SEGMENTS: u8 = b's';
    /// Paths where binaries were found.
    pub const PATHS: u8 = b'p';
    /// Blocks and branches of a binary.
    pub const CODE: u8 = b'C';
    /// End.
    pub const END: u8 = b'E';
}

/// Returns whether a file that begins with `start` is a profile.
pub fn is_profile(start: &[u8]) -> bool {
    start.starts_with(&MAGIC)
}

/// Error of reading a profile file, with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Offset in the file.
    pub offset: u64,
    /// Kind of damage.
    pub reason: Reason,
}

/// Kind of damage of a profile file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The file does not begin like a profile.
    NoProfile,
    /// The version is newer than [`VERSION`].
    Version(u64),
    /// The file ends too early.
    Ends,
    /// Bytes follow the end.
    Follows,
    /// A checksum does not match.
    Checksum,
    /// A mandatory section is not known.
    Section(u8),
    /// A section is missing, occurs twice, or is out of order.
    Order,
    /// A number is malformed or out of range.
    Number,
    /// A name is not UTF-8.
    Text,
    /// An instruction set or instruction class is not known.
    Instruction,
    /// A binary number is not in the list, or the binary is inconsistent.
    Binary,
    /// Entries are not sorted.
    Unsorted,
    /// Counts add up to more than [`LARGEST_SUM`].
    TooMuch,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.reason {
            Reason::NoProfile => return f.write_str("no profile of tracewright: it does not begin like one"),
            Reason::Version(version) => {
                return write!(
                    f,
                    "a profile of version {version}; this tracewright reads up to {}: take a newer one",
                    VERSION
                );
            }
            Reason::Section(tag) => {
                return write!(
                    f,
                    "at offset {:#x}: a section {tag:#04x} that this tracewright does not know",
                    self.offset
                );
            }
            Reason::Ends => "it ends too early: was it copied whole?",
            Reason::Follows => "bytes behind its end",
            Reason::Checksum => "damaged: the checksum of a section is wrong",
            Reason::Order => "a section is missing, or not in its place",
            Reason::Number => "a number that cannot be",
            Reason::Text => "a name that is no text (UTF-8)",
            Reason::Instruction => "an instruction that cannot be",
            Reason::Binary => "a binary that is not in the list, or a build ID of what is no ELF file",
            Reason::Unsorted => "something is there twice, or not in order",
            Reason::TooMuch => "counts of more than 2^60",
        };
        write!(f, "at offset {:#x}: {what}", self.offset)
    }
}

impl Error for Damage {}
