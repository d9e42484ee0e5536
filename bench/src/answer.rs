//! What an engine must find in an input.

use std::collections::BTreeMap;

/// Bytes by source or packets by kind, and a digest of the values; the same from every engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// By trace ID (deframing) or by OpenCSD's packet name.
    pub counts: BTreeMap<String, u64>,
    /// Of all values; see `engines/opencsd.c` for what goes in. `None` when an engine was not asked for it.
    pub digest: Option<u64>,
}

impl Answer {
    /// Compares; bytes that are not synchronised are reported in pieces of different sizes and do not count.
    pub fn check(&self, expected: &Self, who: &str) -> Result<(), String> {
        let counts = |answer: &Self| {
            let mut counts = answer.counts.clone();
            counts.remove("I_NOT_SYNC");
            counts
        };
        if counts(self) != counts(expected) {
            return Err(format!("{who}: counts {:?}, expected {:?}", counts(self), counts(expected)));
        }
        if self.digest != expected.digest {
            return Err(format!("{who}: digest {:x?}, expected {:x?}", self.digest, expected.digest));
        }
        Ok(())
    }
}

/// FNV-1a, 64 bits.
#[derive(Clone, Copy)]
pub struct Fnv(pub u64);

impl Fnv {
    pub const START: Self = Self(0xcbf2_9ce4_8422_2325);

    pub fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    /// What the source adds to the digest of all: nothing if it hashed nothing.
    pub fn of_source(self) -> u64 {
        if self.0 == Self::START.0 { 0 } else { self.0 }
    }
}
