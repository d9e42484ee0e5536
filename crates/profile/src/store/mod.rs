//! A profile as a file: compact, with checksums, the same bytes for the same profile. `book/src/reference/profile-format.md` describes it.
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

/// The first bytes of every file.
pub const MAGIC: [u8; 8] = *b"\x89TWPROF\n";
/// The version that is written, and the newest that is read.
pub const VERSION: u64 = 1;
/// No sum of a file is larger, so that sums of a few files and products with small numbers still fit: instructions, taken branches, and
/// each number of the funnel.
pub const LARGEST_SUM: u64 = 1 << 60;

/// Sections by their first byte.
mod tag {
    /// The binaries.
    pub const BINARIES: u8 = b'B';
    /// The funnel.
    pub const FUNNEL: u8 = b'F';
    /// The executable segments of binaries.
    pub const SEGMENTS: u8 = b's';
    /// Blocks and branches of a binary.
    pub const CODE: u8 = b'C';
    /// The end.
    pub const END: u8 = b'E';
}

/// Whether a file that begins like this is a profile.
#[must_use]
pub fn is_profile(start: &[u8]) -> bool {
    start.starts_with(&MAGIC)
}
