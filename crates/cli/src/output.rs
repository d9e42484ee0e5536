//! Standard output and error, and how a verb ends.

use std::fmt;
use std::io::{self, BufWriter, StdoutLock, Write};

use tracewright_input::{Problem, Subject};

/// How a verb ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All was read.
    Good,
    /// Something in the capture could not be read, and was said so.
    HadErrors,
    /// A program was run, and ended with this status.
    Status(u8),
}

impl Outcome {
    /// `HadErrors` if there were any.
    pub fn from_errors(errors: u64) -> Self {
        if errors == 0 { Self::Good } else { Self::HadErrors }
    }

    /// The worse of the two.
    pub fn and(self, other: Self) -> Self {
        if self == Self::Good { other } else { self }
    }
}

/// Why a verb could not do its job.
#[derive(Debug)]
pub enum Error {
    /// Writing the output failed.
    Output(io::Error),
    /// The capture cannot be read, or the options do not fit it.
    Message(String),
}

impl Error {
    /// Whether whoever read our output has gone.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::Message(problem.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output(error) => write!(f, "cannot write the output: {error}"),
            Self::Message(message) => f.write_str(message),
        }
    }
}

/// Buffered standard output.
pub fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// A line to standard error.
pub fn report(line: &str) {
    // There is nowhere left to report a failure to.
    let _ = writeln!(io::stderr(), "tracewright: {line}");
}

/// A line of a table to standard error.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{}", line.trim_end());
}

/// What of a capture a verb needs to be whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Trace only: missing memory is worth a word, no more.
    Trace,
    /// Everything.
    All,
}

/// Reports a capture's problems; says whether any was an error.
pub fn report_problems(problems: &[Problem], needs: Needs) -> Outcome {
    let mut errors = 0;
    for problem in problems {
        let matters = problem.subject == Subject::Trace || needs == Needs::All;
        errors += u64::from(problem.is_error() && matters);
        report(&problem.to_string());
    }
    Outcome::from_errors(errors)
}
