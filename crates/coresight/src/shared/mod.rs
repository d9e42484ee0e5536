//! Pieces that ETMv3 and PTM share.
//!
//! * [`address`]: the bytes of branch addresses; [`exception`]: the bytes after them, and the exceptions of A and R profile;
//! * [`timestamp`]: the bytes of timestamps; [`search`]: the search for an A-Sync; [`opencsd`]: values as OpenCSD prints them.

pub mod address;
pub mod exception;
pub mod opencsd;
pub mod search;
pub mod timestamp;
