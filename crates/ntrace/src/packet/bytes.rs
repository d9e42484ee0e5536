//! The byte layer: each byte has six bits of data (MDO) above two bits that end fields and messages (MSEO).

use core::ops::Deref;

use super::Malformed;

/// Most bytes of a message, but for those of vendors.
pub const MAX_MESSAGE: usize = 64;

/// Bits of data in a byte.
const MDO: u32 = 6;

/// The end that MSEO bits mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mseo {
    /// None.
    Inside,
    /// That of a variable field.
    Field,
    /// Reserved.
    Reserved,
    /// That of the message.
    Message,
}

impl Mseo {
    pub(crate) const fn of(byte: u8) -> Self {
        match byte & 3 {
            0 => Self::Inside,
            1 => Self::Field,
            2 => Self::Reserved,
            _ => Self::Message,
        }
    }
}

/// Reader of the fields of one whole message.
pub(super) trait Source {
    /// Reads a field of `bits` bits.
    fn fixed(&mut self, bits: u32, name: &'static str) -> Result<u64, Malformed>;
    /// Reads a variable field. Returns its value and how many bits were sent.
    fn variable(&mut self, name: &'static str) -> Result<(u64, u32), Malformed>;
    /// Returns the value of the last fixed field, on which later fields depend.
    fn last(&self) -> u64;
    /// Returns whether all fields were read.
    fn is_done(&self) -> bool;
}

/// Reader of a message of any length, byte by byte.
#[derive(Clone, Debug)]
pub(super) struct Fields<'b> {
    rest: &'b [u8],
    /// Number of bits that were read of the first byte.
    used: u32,
    last: u64,
}

impl<'b> Fields<'b> {
    /// Creates a reader of `bytes`, of which only the last ends a message.
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes, used: 0, last: 0 }
    }

    /// Returns the byte with the next bit. Fixed fields do not end at MSEO bits.
    fn byte(&mut self, name: &'static str) -> Result<u8, Malformed> {
        let byte = *self.rest.first().ok_or(Malformed::Short(name))?;
        if self.used < MDO {
            return Ok(byte);
        }
        if Mseo::of(byte) != Mseo::Inside {
            return Err(Malformed::Short(name));
        }
        (self.rest, self.used) = (&self.rest[1..], 0);
        self.byte(name)
    }
}

impl Source for Fields<'_> {
    fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    fn fixed(&mut self, bits: u32, name: &'static str) -> Result<u64, Malformed> {
        let (mut value, mut have) = (0, 0);
        while have < bits {
            let byte = self.byte(name)?;
            let take = (bits - have).min(MDO - self.used);
            let mdo = u64::from(byte >> 2) >> self.used & ((1 << take) - 1);
            value |= mdo << have;
            have += take;
            self.used += take;
        }
        self.last = value;
        Ok(value)
    }

    fn variable(&mut self, name: &'static str) -> Result<(u64, u32), Malformed> {
        let (mut value, mut have) = (0_u64, 0);
        loop {
            let byte = self.byte(name)?;
            let mdo = u64::from(byte >> 2) >> self.used;
            let shifted = mdo.checked_shl(have).unwrap_or(0);
            if shifted.checked_shr(have).unwrap_or(0) != mdo {
                return Err(Malformed::Wide(name));
            }
            value |= shifted;
            have += MDO - self.used;
            if Mseo::of(byte) == Mseo::Inside {
                self.used = MDO;
            } else {
                (self.rest, self.used) = (&self.rest[1..], 0);
                return Ok((value, have));
            }
        }
    }

    fn last(&self) -> u64 {
        self.last
    }
}

/// The bytes of one message.
#[derive(Clone, Debug)]
pub struct MessageBytes {
    bytes: [u8; MAX_MESSAGE],
    len: usize,
    /// Number of bits that are used of the byte after those.
    used: u32,
    /// Value of the last fixed field, on which later fields depend.
    pub(super) last: u64,
}

impl Default for MessageBytes {
    fn default() -> Self {
        Self { bytes: [0; MAX_MESSAGE], len: 0, used: 0, last: 0 }
    }
}

impl Deref for MessageBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl MessageBytes {
    /// Appends a field of `bits` bits.
    pub(super) fn fixed(&mut self, value: u64, bits: u32, name: &'static str) -> Result<(), Malformed> {
        if value >> bits != 0 {
            return Err(Malformed::Wide(name));
        }
        self.last = value;
        self.put(value, bits)
    }

    /// Appends a variable field in the fewest bits.
    pub(super) fn variable(&mut self, value: u64) -> Result<(), Malformed> {
        self.sized(value, 64 - value.leading_zeros())
    }

    /// Appends a variable field of `bits` bits at least.
    pub(super) fn sized(&mut self, value: u64, bits: u32) -> Result<(), Malformed> {
        let room = MDO - self.used;
        let more = bits.saturating_sub(room).next_multiple_of(MDO);
        self.put(value, room + more)?;
        if let Some(last) = self.bytes[..self.len].last_mut() {
            *last |= 1;
        }
        Ok(())
    }

    /// Ends the message, whose last field is a variable one.
    pub(super) fn end(&mut self) {
        if let Some(last) = self.bytes[..self.len].last_mut() {
            *last |= 3;
        }
    }

    fn put(&mut self, mut value: u64, mut bits: u32) -> Result<(), Malformed> {
        while bits > 0 {
            let take = bits.min(MDO - self.used);
            let byte = self.bytes.get_mut(self.len).ok_or(Malformed::Endless)?;
            *byte |= ((value & ((1 << take) - 1)) << self.used) as u8 * 4;
            value >>= take;
            bits -= take;
            self.used += take;
            if self.used == MDO {
                (self.len, self.used) = (self.len + 1, 0);
            }
        }
        Ok(())
    }
}
