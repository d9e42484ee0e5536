use std::error;
use std::fmt;

/// Why something cannot be part of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What the caller named it, a file name most likely.
    pub name: Box<str>,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What is wrong with bytes that were to become part of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// There are no bytes.
    Empty,
    /// They do not begin as ELF files do.
    NotElf,
    /// An ELF file of a big-endian program.
    BigEndian,
    /// An ELF file whose headers make no sense; says which.
    Malformed(&'static str),
    /// An ELF file in which nothing is said to be loaded.
    NothingToLoad,
    /// No segment of the ELF file has this offset in the file, at which it was said to be mapped.
    NotMapped {
        /// The offset.
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
