//! Pieces that protocols share.
//!
//! * [`address`]: the bytes of branch addresses; [`exception`]: the bytes after them, and the exceptions of A and R profile;
//! * [`timestamp`]: the bytes of timestamps; [`search`]: the search for an A-Sync; [`opencsd`]: values as OpenCSD prints them;
//! * [`hold`]: where decoders of messages have hold of their stream.

pub mod address;
pub mod exception;
pub mod hold;
pub mod opencsd;
pub mod search;
pub mod timestamp;
