use std::{error, fmt, io};

/// Why a log cannot be read further.
#[derive(Debug)]
pub enum LogError {
    /// The file could not be read.
    Io {
        /// In which line, counted from 1.
        line: u64,
        /// Why.
        error: io::Error,
    },
    /// A line is not as it should be.
    Line {
        /// Which, counted from 1.
        line: u64,
        /// What should have been there.
        expected: &'static str,
        /// What was there instead: the rest of the line, or its beginning if it is long.
        found: String,
    },
    /// A line is longer than any line of such a log.
    TooLong {
        /// Which, counted from 1.
        line: u64,
        /// How many bytes are the most.
        limit: usize,
    },
    /// The log tells only where the instruction was, and the program has none there.
    NoCode {
        /// In which line, counted from 1.
        line: u64,
        /// The address.
        pc: u64,
    },
}

/// How much of a line an error shows.
const SHOWN: usize = 60;

impl LogError {
    /// For a line whose `rest` is not as expected.
    pub(super) fn line(line: u64, expected: &'static str, rest: &[u8]) -> Self {
        let mut found = String::from_utf8_lossy(&rest[..rest.len().min(SHOWN)]).into_owned();
        if rest.len() > SHOWN {
            found.push_str("...");
        }
        Self::Line { line, expected, found }
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { line, error } => write!(f, "line {line}: {error}"),
            Self::Line { line, expected, found } if found.is_empty() => {
                write!(f, "line {line}: expected {expected}, found the end of the line")
            }
            Self::Line { line, expected, found } => {
                write!(f, "line {line}: expected {expected}, found {found:?}")
            }
            Self::TooLong { line, limit } => write!(f, "line {line}: longer than {limit} bytes"),
            Self::NoCode { line, pc } => write!(f, "line {line}: the program has no instruction at {pc:#x}"),
        }
    }
}

impl error::Error for LogError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}
