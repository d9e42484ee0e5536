use std::fmt;
use std::io;
use std::path::PathBuf;

use super::MOST_SLOTS;
use super::protocol::PROTOCOL;
use crate::format::NotALog;

/// Reason why a connection to a plugin failed.
#[derive(Debug)]
pub enum Broken {
    /// The connection ended before the greeting, or could not be read.
    Silent(io::Error),
    /// The first word is wrong.
    Magic(u32),
    /// The version is not known: plugin and recorder are of different builds.
    Version(u32),
    /// The number of slots is too large.
    Slots(u32),
    /// The path is too long.
    Path(u32),
    /// The log is not in the folder that is meant for it.
    Place(PathBuf),
    /// The log or the socket cannot be read.
    Io(io::Error),
    /// The log is invalid.
    Log(NotALog),
    /// The plugin announced a slot that its log does not have, or that has no finished chunk.
    Slot(u32),
    /// A thread's chunk is not the next one.
    Order {
        /// Thread.
        thread: u32,
        /// Number of the expected chunk.
        expected: u32,
        /// Number of the received chunk.
        found: u32,
    },
    /// A chunk of definitions was announced, but chunks before it were never seen.
    Definitions {
        /// Number of the expected chunk.
        expected: u32,
        /// Number of the received chunk.
        found: u32,
    },
    /// Bytes among the definitions, at this offset in the log, are no record.
    Record(u64),
    /// The checksum of the finished chunk at this offset in the log is wrong.
    Checksum(u64),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent(error) => write!(f, "the plugin's first words cannot be read: {error}"),
            Self::Magic(word) => write!(f, "this is no plugin of tracewright: it begins with {word:#x}"),
            Self::Version(version) => {
                write!(
                    f,
                    "the plugin speaks version {version} of the protocol, not {PROTOCOL}: build it anew"
                )
            }
            Self::Slots(slots) => {
                write!(f, "the plugin's log has {slots} slots; 1 to {MOST_SLOTS} are possible")
            }
            Self::Path(len) => write!(f, "the path of the plugin's log has {len} bytes"),
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
