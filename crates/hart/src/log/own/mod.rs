//! Our own log of what a machine executed.

/// What it begins with.
pub const MAGIC: &[u8; 8] = b"twright\n";
