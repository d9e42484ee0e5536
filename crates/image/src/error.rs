use std::error;
use std::fmt;

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
