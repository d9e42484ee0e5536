//! Errors of making a capture.

use std::error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use tracewright_core::Isa;
use tracewright_etrace::encode::Unfit;
use tracewright_input::Problem;

use crate::record::Contradictions;

/// Programs that the protocols before ETMv4 trace.
pub(crate) const ARM_32: &str = "32-bit Arm";

/// Why a capture cannot be made, or is incomplete.
#[non_exhaustive]
pub enum Error {
    /// A file that cannot be read, and why.
    Read(PathBuf, io::Error),
    /// A file that cannot be written.
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
        /// Whether the capture was closed, so that what was recorded before can be read.
        kept: bool,
    },
    /// A listing that cannot be written: the caller's own writer failed.
    Listing(io::Error),
    /// A file or folder of a capture, or a program, that cannot be used.
    Input(Problem),
    /// A program's file that cannot be used, and why.
    Program(PathBuf, String),
    /// A log that cannot be used, and why.
    Log(PathBuf, LogProblem),
    /// A log that contradicts the program: another program ran.
    WrongProgram {
        /// The log.
        log: PathBuf,
        /// The program.
        program: PathBuf,
        /// Number and place of the contradictions.
        contradictions: Contradictions,
    },
    /// An encoder option that is malformed, or does not fit the others.
    Option(String),
    /// A value that does not fit the width that an option gives its field, so that the trace would be wrong.
    Unfit(Unfit),
    /// An encoder option that the protocol does not have.
    UnknownOption {
        /// Its name.
        name: String,
        /// The protocol's name in messages.
        protocol: &'static str,
    },
    /// A condition that is malformed, or does not fit the program.
    Condition {
        /// Which condition.
        of: Condition,
        /// What is wrong with it.
        problem: String,
        /// The condition's text, and a line below it that marks the place.
        marked: String,
    },
    /// An event that is malformed, and why.
    Event(EventAt, String),
    /// A format of delta trace that is malformed, or does not fit the run.
    Delta {
        /// The format as given; empty for the default.
        format: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Both a port and data trace are requested, but a port takes instruction trace only.
    PortWithData,
    /// A feature that a protocol does not have.
    Unsupported {
        /// The protocol, or `tracewright` itself.
        by: &'static str,
        /// The feature.
        what: &'static str,
    },
    /// A protocol that is not registered.
    UnknownProtocol(String),
    /// A protocol that cannot trace such programs.
    WrongProtocol {
        /// The protocol that was requested.
        asked: &'static str,
        /// Programs that it can trace.
        of: &'static str,
        /// The instruction set that the program begins in.
        isa: Isa,
        /// A protocol that can.
        instead: &'static str,
    },
    /// A Linux program is to run on a host other than Linux.
    LinuxOnly,
    /// QEMU or its plugin cannot be used.
    Qemu(String),
    /// No thread ran: there is nothing to trace.
    NothingRan,
    /// An encoder that cannot be set up with these options.
    Encoder(String),
}

/// What is wrong with a log.
#[derive(Debug)]
#[non_exhaustive]
pub enum LogProblem {
    /// The kind of log is not known.
    Unknown,
    /// The log is damaged, or not what its first bytes say.
    Damaged(Box<dyn error::Error + Send + Sync>),
    /// The log does not have this thread; it has at least these.
    NoThread(u32, Vec<u32>),
    /// The log has no threads.
    Empty,
    /// The log has no instruction.
    NoInstructions,
    /// The log does not tell threads apart.
    NoThreads,
    /// The log is not of a RISC-V processor, which the request needs.
    NotRiscv {
        /// Feature that needs RISC-V.
        what: &'static str,
        /// The log's processor.
        target: &'static str,
    },
    /// The log has only addresses, and no program is given.
    OnlyAddresses,
    /// The log has no cycles.
    NoCycles,
}

/// A condition of trace control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The condition for what is traced.
    When,
    /// The condition that stops tracing.
    Trigger,
}

/// Where an event was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventAt {
    /// The event's own text.
    Text(String),
    /// A line of a file, counted from 1.
    Line(PathBuf, usize),
}

impl Error {
    /// Returns the error of a file that cannot be read.
    pub fn read(path: &Path, error: io::Error) -> Self {
        Self::Read(path.to_owned(), error)
    }

    /// Returns the error of a file that cannot be written.
    pub fn write(path: &Path, error: io::Error) -> Self {
        Self::Write { path: path.to_owned(), error, kept: false }
    }

    /// Returns the error of a log.
    pub fn log(path: &Path, problem: LogProblem) -> Self {
        Self::Log(path.to_owned(), problem)
    }

    /// Returns the error of an encoder option.
    pub(crate) fn option(message: impl Into<String>) -> Self {
        Self::Option(message.into())
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::Input(problem)
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Read(_, error) | Self::Write { error, .. } | Self::Listing(error) => Some(error),
            Self::Input(problem) => Some(problem),
            _ => None,
        }
    }
}

impl fmt::Debug for Error {
    /// Writes what [`Display`](fmt::Display) does: `main` shows errors that it returns like this.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Write { path, error, kept } => {
                let kept = if *kept { "; what was recorded until then is kept in the capture" } else { "" };
                write!(f, "{}: cannot write: {error}{kept}", path.display())
            }
            Self::Listing(error) => write!(f, "the listing: cannot write: {error}"),
            Self::Input(problem) => problem.fmt(f),
            Self::Program(path, problem) => write!(f, "{}: {problem}", path.display()),
            Self::Log(path, problem) => write!(f, "{}: {problem}", path.display()),
            Self::WrongProgram { log, program, contradictions } => write!(
                f,
                "{}: {} is not the program that ran: {contradictions}: no capture is written; name the program that ran",
                log.display(),
                program.display()
            ),
            Self::Option(message) => write!(f, "option {message}"),
            Self::Unfit(unfit) => write!(f, "option {}: {unfit}: no capture is written", unfit.parameter()),
            Self::UnknownOption { name, protocol } => {
                write!(f, "there is no option {name:?} for {protocol}")
            }
            Self::Condition { problem, marked, .. } => write!(f, "{problem}\n{marked}"),
            Self::Event(EventAt::Text(text), problem) => write!(f, "event {text:?}: {problem}"),
            Self::Event(EventAt::Line(path, line), problem) => {
                write!(f, "{}: line {line}: {problem}", path.display())
            }
            Self::Delta { problem, .. } => write!(f, "delta trace: {problem}"),
            Self::PortWithData => f.write_str("a port takes instruction trace only: data trace must be off"),
            Self::Unsupported { by, what } => write!(f, "{by} has no {what}"),
            Self::UnknownProtocol(name) => write!(f, "there is no protocol {name:?}"),
            Self::WrongProtocol { asked, of, isa, instead } => {
                let is = match isa {
                    Isa::A64 if *of == ARM_32 => "64-bit Arm",
                    isa if isa.is_arm() => "Arm",
                    _ => "RISC-V",
                };
                write!(f, "protocol {asked} is for {of} programs; this one is for {is}: {instead}")
            }
            Self::LinuxOnly => {
                f.write_str("recording programs works on Linux only; a capture made there can be read here")
            }
            Self::Qemu(problem) => f.write_str(problem),
            Self::NothingRan => f.write_str("no thread ran: there is nothing to trace"),
            Self::Encoder(why) => f.write_str(why),
        }
    }
}

impl fmt::Display for LogProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str(
                "no log of a kind that is known: tracewright's own, that of its plugin for QEMU, Spike's, CVA6's, QEMU's, or \
                 retirements as CSV",
            ),
            Self::Damaged(error) => error.fmt(f),
            Self::NoThread(index, known) if known.is_empty() => write!(f, "the log has no thread {index}"),
            Self::NoThread(index, known) => {
                let names: Vec<_> = known.iter().take(8).map(ToString::to_string).collect();
                let more = if known.len() > 8 { ", ..." } else { "" };
                write!(f, "the log has no thread {index}; there are {}{more}", names.join(", "))
            }
            Self::Empty => f.write_str("the log has no thread"),
            Self::NoInstructions => f.write_str("the log has no instruction"),
            Self::NoThreads => f.write_str("the log does not tell threads apart"),
            Self::NotRiscv { what, target } => {
                write!(f, "{what} is for RISC-V, and this is a log of {target}")
            }
            Self::OnlyAddresses => {
                f.write_str("QEMU's log tells only addresses: name the program that it ran, too")
            }
            Self::NoCycles => f.write_str(
                "the log does not tell in which cycles instructions retire: logs of CVA6 do, and those that \
                 `record --timing MODEL --details all --log FILE` writes",
            ),
        }
    }
}

/// Returns a copy of an error: [`io::Error`] cannot be cloned.
pub(crate) fn same(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}
