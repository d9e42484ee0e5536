//! Bytes of data payloads.

use crate::bits::Writer;

/// Length of the longest data packet: an atomic with all fields at their widest has 208 bits.
const MAX: usize = 32;

/// Bytes of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    bytes: [u8; MAX],
    bits: u16,
}

impl Payload {
    /// Compresses the written bits to a payload.
    pub(super) fn new(mut writer: Writer) -> Self {
        let bits = writer.significant();
        let mut bytes = [0; MAX];
        writer.copy_to(&mut bytes[..bits.div_ceil(8) as usize]);
        Self { bytes, bits: bits as u16 }
    }

    /// Returns the bytes; the padding of the last one repeats the highest bit.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.bits.div_ceil(8))]
    }

    /// Returns how many bits must be sent; the bits above repeat the highest of them.
    pub const fn bits(&self) -> usize {
        self.bits as usize
    }
}

/// Sign-extends the lowest `bits` bits of `value`, 1 to 64.
pub(super) const fn extended(value: u64, bits: u32) -> u64 {
    let shift = 64 - bits;
    ((value << shift) as i64 >> shift) as u64
}
