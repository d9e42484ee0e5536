use std::{error, fmt, io};

/// Error of reading a log.
#[derive(Debug)]
pub enum LogError {
    /// The file could not be read.
    Io {
        /// Line number, from 1.
        line: u64,
        /// Cause.
        error: io::Error,
    },
    /// A line is malformed.
    Line {
        /// Line number, from 1.
        line: u64,
        /// Expected text.
        expected: &'static str,
        /// Text found: the rest of the line, cut if it is long.
        found: String,
    },
    /// A line is too long.
    TooLong {
        /// Line number, from 1.
        line: u64,
        /// Maximum length in bytes.
        limit: usize,
    },
    /// The log has only the address of the instruction, and the program has no code there.
    NoCode {
        /// Line number, from 1.
        line: u64,
        /// Address.
        pc: u64,
    },
}

/// Maximum length of the text shown in an error.
const SHOWN: usize = 60;

impl LogError {
    /// Creates an error for a line whose `rest` is not as expected.
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
