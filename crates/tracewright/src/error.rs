use std::error;
use std::fmt;
use std::path::PathBuf;

use tracewright_engine as engine;
use tracewright_input as input;

/// Why a trace gives no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The capture, or a program, cannot be opened.
    Open(input::Problem),
    /// The trace cannot be decoded.
    Decode(engine::Error),
    /// The capture has no such source or buffer.
    Selection(String),
    /// A log cannot be read.
    #[cfg(feature = "capture")]
    Log(tracewright_capture::Error),
    /// A log is of another processor than the trace.
    OtherProcessor {
        /// The log.
        log: PathBuf,
        /// Processor that the trace is of.
        what: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(problem) => problem.fmt(f),
            Self::Decode(error) => error.fmt(f),
            Self::Selection(message) => f.write_str(message),
            #[cfg(feature = "capture")]
            Self::Log(error) => error.fmt(f),
            Self::OtherProcessor { log, what } => {
                write!(f, "{}: the trace is of {what}, the log is not", log.display())
            }
        }
    }
}

impl error::Error for Error {
    /// The text has that of the inner error already: only what caused that one is told.
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Open(problem) => problem.source(),
            Self::Decode(error) => error.source(),
            #[cfg(feature = "capture")]
            Self::Log(error) => error.source(),
            Self::Selection(_) | Self::OtherProcessor { .. } => None,
        }
    }
}

impl From<input::Problem> for Error {
    fn from(problem: input::Problem) -> Self {
        Self::Open(problem)
    }
}

#[cfg(feature = "capture")]
impl From<tracewright_capture::Error> for Error {
    fn from(error: tracewright_capture::Error) -> Self {
        Self::Log(error)
    }
}

impl From<engine::Error> for Error {
    fn from(error: engine::Error) -> Self {
        Self::Decode(error)
    }
}
