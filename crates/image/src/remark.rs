use std::fmt;
use std::ops::Range;

/// Something about a part of an image that is not as it should be, though the image can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remark {
    /// A region lies where another that was added before it lies too.
    Overlap(Overlap),
    /// A file ends before a segment of it does; what is there was taken.
    Truncated {
        /// The file.
        name: Box<str>,
        /// The addresses of which it has no bytes.
        missing: Range<u64>,
    },
    /// A file tells source lines, but compressed: they are not read.
    CompressedLines {
        /// The file.
        name: Box<str>,
    },
    /// Bytes would lie beyond the end of the address space; they were left out.
    BeyondTheEnd {
        /// The file.
        name: Box<str>,
        /// Where its region starts.
        start: u64,
    },
}

/// A region of which a part is hidden by one that was added before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The name of the region that is hidden.
    pub name: Box<str>,
    /// All of its addresses.
    pub range: Range<u64>,
    /// The name of the region that hides it; the first, if several do.
    pub by: Box<str>,
    /// The lowest address at which it is hidden.
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
            Self::CompressedLines { name } => write!(
                f,
                "{name} has compressed debug information: no source lines \
                 (objcopy --decompress-debug-sections makes it readable)"
            ),
            Self::BeyondTheEnd { name, start } => {
                write!(f, "{name} at {start:#x} does not fit below the end of the address space")
            }
        }
    }
}
