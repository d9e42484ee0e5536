//! Profile files: compact, with checksums, and the same bytes for the same profile. `book/src/reference/profile-format.md` describes
//! the format.
//!
//! ```
//! use tracewright_profile::{Profile, store};
//!
//! let bytes = store::write(&Profile::default());
//! assert!(store::is_profile(&bytes));
//! assert_eq!(store::read(&bytes), Ok(Profile::default()));
//! assert_eq!(store::read(&bytes[..20]).unwrap_err().offset, 20);
//! ```

mod damage;
mod read;
mod shape;
mod varint;
mod write;

pub use damage::{Damage, Reason};
pub use read::read;
pub use write::write;

/// First bytes of every file.
pub const MAGIC: [u8; 8] = *b"\x89TWPROF\n";
/// Version that is written, and newest version that is read.
pub const VERSION: u64 = 1;
/// Largest sum in a file: of instructions, of taken branches, and of each number of the funnel. CallSums of a few files and
/// products with small numbers still fit into 64 bits.
pub const LARGEST_SUM: u64 = 1 << 60;

/// Section tags.
mod tag {
    /// Binaries.
    pub const BINARIES: u8 = b'B';
    /// Funnel.
    pub const FUNNEL: u8 = b'F';
    /// Executable segments of binaries.
    pub const SEGMENTS: u8 = b's';
    /// Blocks and branches of a binary.
    pub const CODE: u8 = b'C';
    /// End.
    pub const END: u8 = b'E';
}

/// Returns whether a file that begins with `start` is a profile.
pub fn is_profile(start: &[u8]) -> bool {
    start.starts_with(&MAGIC)
}
