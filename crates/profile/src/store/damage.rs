//! Why bytes are no profile.

use std::error::Error;
use std::fmt;

/// What is wrong with a file, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Offset in the file.
    pub offset: u64,
    /// What is wrong there.
    pub reason: Reason,
}

/// What is wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It does not begin like a profile.
    NoProfile,
    /// It is of a newer version.
    Version(u64),
    /// It ends too early.
    Ends,
    /// Something follows behind its end.
    Follows,
    /// Bytes are not those that were written.
    Checksum,
    /// A section that must be understood, and is not known.
    Section(u8),
    /// A section is missing, or comes twice, or not in its place.
    Order,
    /// A number that is none, or too large for what it is.
    Number,
    /// A name that is no text.
    Text,
    /// An instruction set, or what an instruction does, that is not known.
    Instruction,
    /// A binary that is not in the list, or cannot be.
    Binary,
    /// Something that should come after what is before it.
    Unsorted,
    /// Counts add up to more than ever can run.
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
                    super::VERSION
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
