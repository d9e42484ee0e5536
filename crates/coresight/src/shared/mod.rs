//! Pieces that protocols share.
//!
//! * [`address`]: the bytes of branch addresses; [`exception`]: the bytes after them, and the exceptions of A and R profile;
//! * [`timestamp`]: the bytes of timestamps; [`opencsd`]: values as OpenCSD prints them;
//! * [`hold`]: where decoders of messages have hold of their stream.

pub mod address;
pub mod exception;
pub mod hold;
pub mod opencsd;
pub mod timestamp;

use tracewright_core::stream::a_sync;

/// Zeros of an A-Sync.
pub const ZEROS: usize = 5;

/// An A-Sync without more zeros than it needs.
pub const ASYNC: &[u8] = a_sync(ZEROS);
