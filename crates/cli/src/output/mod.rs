//! Standard output, files that results go to, standard error, and how a verb ends.

mod escape;
mod file;

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use tracewright_core::text::Printable;
use tracewright_engine::{self as engine, Limit};
use tracewright_input::{Buffer, Problem, Subject};

pub use self::escape::Form;
pub use self::file::{FileError, Output, report_unwritten, write};

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
    /// The same, and lines of ours that mark the place.
    Marked(String, String),
}

impl Error {
    /// Writes it to standard error.
    pub fn report(&self) {
        match self {
            Self::Marked(message, lines) => {
                report(message);
                lines.lines().for_each(say);
            }
            _ => report(&self.to_string()),
        }
    }

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

impl From<tracewright_engine::Error> for Error {
    fn from(error: tracewright_engine::Error) -> Self {
        Self::Message(error.to_string())
    }
}

impl From<tracewright::Error> for Error {
    fn from(error: tracewright::Error) -> Self {
        Self::Message(error.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output(error) if FileError::is_in(error) => error.fmt(f),
            Self::Output(error) => write!(f, "standard output: cannot write: {error}"),
            Self::Message(message) => f.write_str(message),
            Self::Marked(message, lines) => write!(f, "{message}\n{lines}"),
        }
    }
}

/// Returns a path as it may be printed.
pub fn printable_path(path: &Path) -> String {
    Printable(&path.to_string_lossy()).to_string()
}

/// Writes one line to standard error. Whatever foreign names are in it, it stays one line, and steers no terminal.
pub fn report(line: &str) {
    say(&format!("tracewright: {line}"));
}

/// Writes a line of a table to standard error.
pub fn say(line: &str) {
    // There is nowhere left to report a failure to.
    let line = format!("{}\n", Printable(line.trim_end()));
    let _ = io::stderr().write_all(line.as_bytes());
}

/// What of a capture a verb needs to be whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Trace only: missing memory is worth a word, no more.
    Trace,
    /// Everything.
    All,
}

/// Reports a problem of a buffer, with the option that may help.
pub fn report_problem(buffer: &Buffer, problem: &engine::Problem) {
    let option = match problem {
        engine::Problem::Stopped(_, Limit::Instructions, _) => " (--max-instructions)",
        engine::Problem::Stopped(_, Limit::Memory, _) => " (--max-memory)",
        engine::Problem::Stopped(_, Limit::Waiting, _) => " (--id)",
        engine::Problem::NoFrames { syncs: true, .. } => " (--packing)",
        _ => "",
    };
    report(&format!("{}: {problem}{option}", buffer.name));
}

/// Reports a capture's problems; says whether any was an error.
pub fn report_problems<'a>(problems: impl IntoIterator<Item = &'a Problem>, needs: Needs) -> Outcome {
    let mut errors = 0;
    for problem in problems {
        let matters = problem.subject == Subject::Trace || needs == Needs::All;
        errors += u64::from(problem.is_error() && matters);
        report(&problem.to_string());
    }
    Outcome::from_errors(errors)
}
