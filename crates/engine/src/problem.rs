//! Errors that end the decoding of a buffer, and problems that come back beside its result.

use std::error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use tracewright_frames::Lost;
use tracewright_input as input;

use crate::decode::Doubt;
use crate::limits::{Limit, Limits};

/// Why a buffer could not be decoded.
#[non_exhaustive]
pub enum Error {
    /// A file of the capture cannot be read.
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// A part of the capture is damaged or inconsistent.
    Capture(input::Problem),
    /// The program does not explain the trace, and [`Request::refuse_mismatch`](crate::Request) is set.
    WrongProgram(Vec<Doubt>),
    /// Threads cannot be started.
    Threads {
        /// Number of threads.
        jobs: usize,
        /// Why not.
        message: String,
    },
}

impl Error {
    pub(crate) fn read(path: &Path, error: io::Error) -> Self {
        Self::Read { path: path.into(), error }
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
            Self::Read { path, error } => write!(f, "{}: cannot read: {error}", path.display()),
            Self::Capture(problem) => problem.fmt(f),
            Self::WrongProgram(doubts) => {
                for (index, doubt) in doubts.iter().enumerate() {
                    write!(f, "{}{doubt}", if index == 0 { "" } else { "; " })?;
                }
                f.write_str(": nothing is counted")
            }
            Self::Threads { jobs, message } => write!(f, "cannot start {jobs} threads: {message}"),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Read { error, .. } => Some(error),
            Self::Capture(problem) => Some(problem),
            Self::WrongProgram(_) | Self::Threads { .. } => None,
        }
    }
}

impl From<input::Problem> for Error {
    fn from(problem: input::Problem) -> Self {
        Self::Capture(problem)
    }
}

/// Reason why a source cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannotDecode(pub String);

impl fmt::Display for CannotDecode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl error::Error for CannotDecode {}

/// A fault of a file of trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The file has fewer bytes than the capture says.
    EndsEarly {
        /// Bytes that are missing.
        missing: u64,
    },
    /// The file became shorter while it was read.
    Shrank {
        /// Bytes that are missing.
        missing: u64,
    },
    /// Bytes differ from those that were recorded.
    Differs {
        /// Offset of the first byte that was compared.
        from: u64,
        /// Offset after the last.
        to: u64,
    },
    /// Further pieces differ from those that were recorded.
    MoreDiffer {
        /// How many.
        pieces: u64,
        /// Bytes of a piece.
        piece: u64,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EndsEarly { missing } => write!(f, "ends early: {missing} bytes are missing"),
            Self::Shrank { missing } => {
                write!(f, "became shorter while it was read: {missing} bytes are missing")
            }
            Self::Differs { from, to } => {
                write!(f, "bytes {from:#x}..{to:#x} are not those that were recorded (checksum)")
            }
            Self::MoreDiffer { pieces, piece } => {
                write!(f, "{pieces} more pieces of {piece} bytes are not what was recorded")
            }
        }
    }
}

/// A source, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its index in the capture.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// Its number in the buffer.
    pub id: u16,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (ID {:#04x})", self.name, self.id)
    }
}

/// Something that the result lacks or that may be wrong. Its text does not name the buffer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Problem {
    /// The file is not what was recorded.
    File(Fault),
    /// A source cannot be decoded.
    Unsupported(Named, CannotDecode),
    /// The buffer has no bytes.
    Empty,
    /// No frame carries data of any source.
    NoFrames {
        /// Whether frames should have syncs, and none was found.
        syncs: bool,
        /// Bytes of the buffer.
        bytes: u64,
    },
    /// No point was found at which a source can be decoded.
    Unsynchronised {
        /// The source.
        source: Named,
        /// What was looked for.
        what: &'static str,
        /// Bytes of the source.
        bytes: u64,
    },
    /// No message was found in a buffer without frames.
    NoMessages {
        /// Bytes of the buffer.
        bytes: u64,
    },
    /// No source of the buffer can be read.
    NoSource,
    /// The program does not explain the trace of a source.
    WrongProgram(Doubt),
    /// The file ends inside a message.
    EndsInside {
        /// Where the message begins.
        offset: u64,
        /// How many bytes of it there are.
        len: usize,
    },
    /// A ring buffer ends inside a packet. This is a remark, not an error.
    RingEndsInside {
        /// Where the packet begins.
        offset: u64,
    },
    /// Bytes of frames were lost.
    Damage(Lost),
    /// A limit was reached.
    Stopped(Named, Limit, Limits),
    /// The trace reports no instruction.
    Nothing,
}

impl Problem {
    /// Returns a stable name of the problem. The wording of its text may change.
    pub fn id(&self) -> &'static str {
        match self {
            Self::File(Fault::EndsEarly { .. }) => "file-ends-early",
            Self::File(Fault::Shrank { .. }) => "file-shrank",
            Self::File(_) => "file-differs",
            Self::Unsupported(..) => "unsupported-source",
            Self::Empty => "empty",
            Self::NoFrames { .. } => "no-frames",
            Self::Unsynchronised { .. } => "unsynchronised",
            Self::NoMessages { .. } => "no-messages",
            Self::NoSource => "no-source",
            Self::WrongProgram(_) => "wrong-program",
            Self::EndsInside { .. } | Self::RingEndsInside { .. } => "ends-inside",
            Self::Damage(_) => "damage",
            Self::Stopped(..) => "stopped",
            Self::Nothing => "nothing-decoded",
        }
    }

    /// Returns whether something is missing from the result.
    pub fn is_error(&self) -> bool {
        !matches!(self, Self::RingEndsInside { .. })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(fault) => fault.fmt(f),
            Self::Unsupported(source, why) => write!(f, "{source}: {why}"),
            Self::Empty => f.write_str("is empty"),
            Self::NoFrames { syncs: false, .. } => f.write_str("holds no data of any source"),
            Self::NoFrames { syncs: true, bytes } => write!(
                f,
                "no frame sync in {bytes} bytes: are these memory-aligned frames (packing coresight)?"
            ),
            Self::Unsynchronised { source, what, bytes } => {
                let plural = if *bytes == 1 { "" } else { "s" };
                write!(f, "{source}: no {what} in {bytes} byte{plural}, nothing could be read")
            }
            Self::NoMessages { bytes } => write!(f, "no message in {bytes} bytes: check the encapsulation"),
            Self::NoSource => f.write_str("no source of it can be read"),
            Self::WrongProgram(doubt) => doubt.fmt(f),
            Self::EndsInside { offset, len } => {
                let plural = if *len == 1 { "" } else { "s" };
                write!(
                    f,
                    "the file ends inside a message ({len} byte{plural}, from {offset:#x} on): it was cut"
                )
            }
            Self::RingEndsInside { offset } => {
                write!(f, "the trace ends inside a packet, at {offset:#x}")
            }
            Self::Damage(lost) => write!(f, "{} bytes at {:#x} lost: {}", lost.len, lost.offset, lost.reason),
            Self::Stopped(source, limit, limits) => {
                write!(f, "{source}: ")?;
                let mib = limits.memory >> 20;
                match limit {
                    Limit::Instructions => {
                        write!(f, "stopped after {} instructions, the limit", limits.instructions)
                    }
                    Limit::Memory => {
                        write!(f, "stopped: what the trace tells takes more than {mib} MiB, the limit")
                    }
                    Limit::Waiting => write!(
                        f,
                        "stopped: text of several sources waits to be sorted, and takes more than {mib} MiB; one \
                         source alone does not wait"
                    ),
                    Limit::Output => f.write_str("stopped: its output is not wanted any more"),
                }?;
                f.write_str(": all that follows is left out")
            }
            Self::Nothing => f.write_str("the trace reports no instruction"),
        }
    }
}
