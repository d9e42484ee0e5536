use std::{error, fmt, io};

use super::sequence::Follows;

/// Error of reading a log.
#[derive(Debug)]
pub struct LogError {
    /// Line number, from 1.
    pub line: u64,
    /// The problem.
    pub problem: LineProblem,
}

/// Problem of a line of a log.
#[derive(Debug)]
pub enum LineProblem {
    /// The file could not be read.
    Io(io::Error),
    /// The line is malformed.
    Unexpected {
        /// Expected text.
        expected: &'static str,
        /// Text found: the rest of the line, cut if it is long.
        found: String,
    },
    /// The line is longer than this number of bytes.
    TooLong(usize),
    /// The log has only the address of the instruction, which is this, and the program has no code there.
    NoCode(u64),
    /// The line does not follow from the one before it.
    DoesNotFollow {
        /// Number of the line before it.
        before: u64,
        /// Address of the instruction before it.
        from: u64,
        /// Addresses that can follow.
        expected: Follows,
        /// Address of the line.
        found: u64,
    },
}

/// Maximum length of the text shown in an error.
const SHOWN: usize = 60;

impl LineProblem {
    /// Creates the problem of a line whose `rest` is not as expected.
    pub(super) fn unexpected(expected: &'static str, rest: &[u8]) -> Self {
        let mut found = String::from_utf8_lossy(&rest[..rest.len().min(SHOWN)]).into_owned();
        if rest.len() > SHOWN {
            found.push_str("...");
        }
        Self::Unexpected { expected, found }
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match &self.problem {
            LineProblem::Io(error) => error.fmt(f),
            LineProblem::Unexpected { expected, found } if found.is_empty() => {
                write!(f, "expected {expected}, found the end of the line")
            }
            LineProblem::Unexpected { expected, found } => write!(f, "expected {expected}, found {found:?}"),
            LineProblem::TooLong(limit) => write!(f, "longer than {limit} bytes"),
            LineProblem::NoCode(pc) => write!(f, "the program has no instruction at {pc:#x}"),
            LineProblem::DoesNotFollow { before, from, expected: Follows { next, target }, found } => {
                write!(f, "does not follow from line {before}: after the instruction at {from:#x} comes ")?;
                match (next, target) {
                    (Some(next), Some(target)) => write!(f, "{next:#x} or {target:#x}")?,
                    (next, target) => write!(f, "{:#x}", next.or(*target).unwrap_or_default())?,
                }
                write!(f, ", not {found:#x}")
            }
        }
    }
}

impl error::Error for LogError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match &self.problem {
            LineProblem::Io(error) => Some(error),
            _ => None,
        }
    }
}
