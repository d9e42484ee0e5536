use std::error;
use std::fmt;

use tracewright_engine as engine;
use tracewright_input as input;

/// Why something could not be done with a capture.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The capture, or a program, cannot be opened.
    Open(input::Problem),
    /// The trace cannot be decoded.
    Decode(engine::Error),
    /// The capture has no such source or buffer.
    Selection(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(problem) => problem.fmt(f),
            Self::Decode(error) => error.fmt(f),
            Self::Selection(message) => f.write_str(message),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Open(problem) => Some(problem),
            Self::Decode(error) => Some(error),
            Self::Selection(_) => None,
        }
    }
}

impl From<input::Problem> for Error {
    fn from(problem: input::Problem) -> Self {
        Self::Open(problem)
    }
}

impl From<engine::Error> for Error {
    fn from(error: engine::Error) -> Self {
        Self::Decode(error)
    }
}
