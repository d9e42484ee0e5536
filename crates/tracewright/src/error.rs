use std::error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use tracewright_engine as engine;
use tracewright_input as input;
use tracewright_profile::PlaceError;
use tracewright_profile::branch_list::ReadError;
use tracewright_profile::store::Damage;

use crate::file_kind::FileKind;

/// Why a trace gives no result.
#[non_exhaustive]
pub enum Error {
    /// There is no such file or folder.
    Missing(PathBuf),
    /// The file or folder cannot be read.
    Unreadable(PathBuf, io::Error),
    /// The file is not a capture, but something else.
    NotACapture(PathBuf, FileKind),
    /// A packing or sources are given for a capture of this kind, which describes itself.
    DescribesItself(PathBuf, &'static str),
    /// The capture is a log, which has no packets.
    NoPackets(PathBuf),
    /// The capture, or a program, cannot be opened.
    Open(input::Problem),
    /// The trace cannot be decoded.
    Decode(engine::Error),
    /// The capture has no such source or buffer.
    Selection(String),
    /// The file of a profile is damaged.
    Profile(PathBuf, Damage),
    /// A branch list cannot be read.
    BranchList(PathBuf, ReadError),
    /// No program has a function, symbol or file of this name.
    Places(PlaceError),
    /// A log cannot be read.
    #[cfg(feature = "capture")]
    Log(tracewright_capture::Error),
    /// A log of another program is only read as one of RISC-V, and the trace is of an Arm core.
    #[cfg(feature = "capture")]
    RiscvLog(PathBuf, &'static str),
    /// A log is of another processor than the trace.
    OtherProcessor {
        /// The log.
        log: PathBuf,
        /// Processor that the trace is of.
        what: String,
    },
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
            Self::Missing(path) => write!(f, "{}: no such file or folder", path.display()),
            Self::Unreadable(path, error) => write!(f, "{}: cannot read: {error}", path.display()),
            Self::NotACapture(path, kind) => {
                let hint = match kind {
                    FileKind::Unknown => "; tracewright info FILE tells what fits",
                    _ => "",
                };
                write!(f, "{} {kind}{hint}", path.display())
            }
            Self::DescribesItself(path, what) => write!(
                f,
                "{}: {what} describes itself: --packing and --source are for raw trace files",
                path.display()
            ),
            Self::NoPackets(path) => write!(
                f,
                "{} is a log, which has no packets: decode shows what ran, and encode makes a trace of it, with packets",
                path.display()
            ),
            Self::Open(problem) => problem.fmt(f),
            Self::Decode(error) => error.fmt(f),
            Self::Selection(message) => f.write_str(message),
            Self::Profile(path, damage) => write!(f, "{}: {damage}", path.display()),
            Self::BranchList(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Places(error) => error.fmt(f),
            #[cfg(feature = "capture")]
            Self::Log(error) => error.fmt(f),
            #[cfg(feature = "capture")]
            Self::RiscvLog(log, of) => write!(
                f,
                "{}: the trace is of an Arm core, and logs of {of} are read of RISC-V programs only: record --qemu --log writes \
                 logs of Arm programs",
                log.display()
            ),
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
            Self::Unreadable(_, error) => Some(error),
            #[cfg(feature = "capture")]
            Self::RiscvLog(..) => None,
            Self::Missing(_)
            | Self::NotACapture(..)
            | Self::DescribesItself(..)
            | Self::NoPackets(_)
            | Self::Selection(_)
            | Self::Profile(..)
            | Self::BranchList(..)
            | Self::Places(_)
            | Self::OtherProcessor { .. } => None,
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

impl From<PlaceError> for Error {
    fn from(error: PlaceError) -> Self {
        Self::Places(error)
    }
}

impl From<engine::Error> for Error {
    fn from(error: engine::Error) -> Self {
        Self::Decode(error)
    }
}
