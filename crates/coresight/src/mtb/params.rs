//! Parameters of a source: two registers, and the table of vectors.

use super::packet::SIZE;

/// Parameters of an MTB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params {
    /// MTB_POSITION: where the next packet would go (bits 31 to 3), and whether the ring was full (bit 2).
    pub position: Option<u32>,
    /// MTB_MASTER, whose low five bits are the size of the ring: two to this power and four more.
    pub master: Option<u32>,
    /// Address of the table of vectors (VTOR). It tells the numbers of exceptions, which packets do not have.
    pub vectors: u32,
}

/// The written part of a ring, of which a dump has all bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Offset of the oldest byte.
    pub oldest: u64,
    /// Bytes of the ring that were written. They go on at offset 0 after the ring's end.
    pub written: u64,
    /// Bytes of the whole ring.
    pub size: u64,
}

impl Params {
    /// Returns where the packets are in a dump of `len` bytes from the ring's first address on; `None` if no register tells it.
    pub fn ring(&self, len: u64) -> Option<Ring> {
        let position = self.position?;
        let len = len - len % SIZE as u64;
        let size = self.master.map_or(len, |master| (1_u64 << ((master & 0x1f) + 4)).min(len));
        let next = u64::from(position & !7) % size.max(1);
        let has_wrapped = position & 4 != 0;
        let (oldest, written) = if has_wrapped { (next, size) } else { (0, next) };
        Some(Ring { oldest, written, size })
    }
}
