//! Parameters of a source: two registers, and the table of vectors.

use core::fmt;

use super::packet::SIZE;

/// Parameters of an MTB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params {
    /// MTB_POSITION: where the next packet would go (bits 31 to 3), and whether the ring was full (bit 2).
    pub position: u32,
    /// MTB_MASTER, whose low five bits are the size of the ring: two to this power and four more.
    pub master: u32,
    /// Address of the table of vectors (VTOR). It tells the numbers of exceptions, which packets do not have.
    pub vectors: u32,
}

/// A ring in a file, and its written part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Offset of its first byte in the file.
    pub start: u64,
    /// Bytes of the whole ring.
    pub size: u64,
    /// Offset of the oldest byte in the file.
    pub oldest: u64,
    /// Bytes of the ring that were written. They go on at `start` after the ring's end.
    pub written: u64,
}

impl Ring {
    /// Returns the offset after its last byte in the file.
    pub const fn end(&self) -> u64 {
        self.start + self.size
    }

    /// Returns the offset in the file of a stream position. Positions begin with `oldest`, and go on after the ring's end.
    pub const fn offset(&self, position: u64) -> u64 {
        if position < self.end() { position } else { position - self.size }
    }
}

/// Bytes that the registers tell of, and that a file does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooShort {
    /// Bytes that the file must have.
    pub needed: u64,
    /// Bytes of the file.
    pub len: u64,
    /// Registers that tell it.
    pub by: &'static str,
}

impl fmt::Display for TooShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { needed, len, by } = self;
        write!(f, "the trace goes up to byte {needed:#x} by {by}, but the file has {len:#x} bytes")
    }
}

impl core::error::Error for TooShort {}

impl Params {
    /// Returns the bytes of the ring.
    pub const fn size(&self) -> u64 {
        1 << ((self.master & 0x1f) + 4)
    }

    /// Returns whether the ring was full, so that newer packets replaced older ones.
    pub const fn has_wrapped(&self) -> bool {
        self.position & 4 != 0
    }

    /// Returns where the ring is in a file of `len` bytes. A file that is longer than the ring has the whole SRAM.
    ///
    /// # Errors
    /// Fails if the file does not have all that was written.
    pub const fn ring(&self, len: u64) -> Result<Ring, TooShort> {
        let size = self.size();
        let position = self.position as u64 & !(SIZE as u64 - 1);
        let next = position % size;
        let start = if len > size { position - next } else { 0 };
        let (oldest, written) = if self.has_wrapped() { (start + next, size) } else { (start, next) };
        let needed = start + written;
        if needed > len {
            Err(TooShort { needed, len, by: "MTB_POSITION and MTB_MASTER" })
        } else {
            Ok(Ring { start, size, oldest, written })
        }
    }
}
