use std::error;
use std::fmt;
use std::ops::Range;

/// Error for something that cannot be part of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Name that the caller gave, usually of a file.
    pub name: Box<str>,
    /// Reason.
    pub reason: Reason,
}

/// Reason why bytes cannot be part of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// No bytes.
    Empty,
    /// Not an ELF file.
    NotElf,
    /// ELF file of a big-endian program.
    BigEndian,
    /// ELF file with a broken header, and which one.
    Malformed(&'static str),
    /// ELF file without anything to load.
    NothingToLoad,
    /// ELF file without a segment at the file offset where it was said to be mapped.
    NotMapped {
        /// Offset in the file.
        offset: u64,
    },
}

impl Error {
    pub(crate) fn new(name: &str, reason: Reason) -> Self {
        Self { name: name.into(), reason }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("no bytes"),
            Self::NotElf => f.write_str("not an ELF file"),
            Self::BigEndian => {
                f.write_str("an ELF file of a big-endian program: only little-endian ones are read")
            }
            Self::Malformed(what) => write!(f, "a broken ELF file: {what}"),
            Self::NothingToLoad => f.write_str("an ELF file with nothing to load: no segment has bytes"),
            Self::NotMapped { offset } => {
                write!(
                    f,
                    "no segment of this ELF file has file offset {offset:#x}: is it the file that was mapped?"
                )
            }
        }
    }
}

impl error::Error for Error {}

/// Oddity of a part of an image that does not prevent its use.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remark {
    /// Region that overlaps one added earlier.
    Overlap(Overlap),
    /// File that ends before one of its segments does; the present bytes are used.
    Truncated {
        /// Name of the file.
        name: Box<str>,
        /// Addresses without bytes.
        missing: Range<u64>,
    },
    /// Bytes beyond the end of the address space, which were left out.
    BeyondTheEnd {
        /// Name of the file.
        name: Box<str>,
        /// Start of its region.
        start: u64,
    },
}

/// Region that is partly hidden by one added earlier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Name of the hidden region.
    pub name: Box<str>,
    /// All of its addresses.
    pub range: Range<u64>,
    /// Name of the region that hides it, the first of several.
    pub by: Box<str>,
    /// Lowest hidden address.
    pub at: u64,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overlap(Overlap { name, range, by, at }) => write!(
                f,
                "{name} at {:#x}-{:#x} overlaps {by}, which was given before it, at {at:#x}: there the bytes of {by} \
                 are used",
                range.start, range.end
            ),
            Self::Truncated { name, missing } => {
                write!(f, "{name} ends early: no bytes for {:#x}-{:#x}", missing.start, missing.end)
            }
            Self::BeyondTheEnd { name, start } => {
                write!(f, "{name} at {start:#x} does not fit below the end of the address space")
            }
        }
    }
}
