use std::fmt;
use std::io;
use std::path::PathBuf;

use super::NoHello;
use crate::format::NotALog;

/// Why a plugin cannot be listened to any longer.
#[derive(Debug)]
pub enum Broken {
    /// It does not begin as plugins do.
    Hello(NoHello),
    /// Its log is not in the folder that is meant for it.
    Place(PathBuf),
    /// Its log cannot be read, or the socket not.
    Io(io::Error),
    /// Its log is none.
    Log(NotALog),
    /// It told of a slot that its log does not have, or in which no chunk is done.
    Slot(u32),
    /// A thread's chunk is not the next one.
    Order {
        /// The thread.
        thread: u32,
        /// The number of the chunk that was to come.
        expected: u32,
        /// The one that came.
        found: u32,
    },
    /// A chunk of definitions is done and was announced, but others before it were never seen.
    Definitions {
        /// The number of the chunk that was to come.
        expected: u32,
        /// The one that came.
        found: u32,
    },
    /// Bytes among definitions that are no record, at this offset in the log.
    Record(u64),
    /// A chunk that is done is not what was written, at this offset in the log.
    Checksum(u64),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hello(error) => write!(f, "{error}"),
            Self::Place(path) => {
                write!(f, "the plugin's log is elsewhere than it was told: {}", path.display())
            }
            Self::Io(error) => write!(f, "the plugin's log cannot be read: {error}"),
            Self::Log(error) => write!(f, "{error}"),
            Self::Slot(slot) => {
                write!(f, "the plugin tells of slot {slot}, in which there is no chunk that is done")
            }
            Self::Order { thread, expected, found } => {
                write!(
                    f,
                    "the plugin tells of chunk {found} of thread {thread}, but {expected} should come next"
                )
            }
            Self::Definitions { expected, found } => {
                write!(f, "the plugin tells of chunk {found} of definitions, but {expected} should come next")
            }
            Self::Record(at) => {
                write!(f, "something among the plugin's definitions is no record (at offset {at:#x})")
            }
            Self::Checksum(at) => {
                write!(f, "a chunk of the plugin is not what its checksum says (at offset {at:#x})")
            }
        }
    }
}

impl std::error::Error for Broken {}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
