//! Payload fields of a packet.

use super::{Kind, Packet};

/// The reason why a packet could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The packet continues after the given bytes.
    More,
    /// No such packet exists.
    Bad(Fault),
}

/// The result of reading a packet, or a part of one.
pub(super) type Result<T> = core::result::Result<T, Stop>;

/// The error in bytes that are not a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The header is not defined in any version.
    Reserved(u8),
    /// The header does not exist in this configuration.
    ReservedForConfig(Kind),
    /// The bytes cannot follow the header.
    Malformed(Kind),
}

impl From<Fault> for Packet {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Reserved(header) => Self::Reserved { header },
            Fault::ReservedForConfig(kind) => Self::ReservedForConfig { kind },
            Fault::Malformed(kind) => Self::Malformed { kind },
        }
    }
}

/// The bytes of a packet, read from the front.
#[derive(Debug)]
pub(super) struct Payload<'a> {
    bytes: &'a [u8],
    kind: Kind,
    /// Number of bytes read, header included.
    pub(super) read: usize,
}

impl<'a> Payload<'a> {
    /// Creates the payload after the one-byte header at the front of `packet`.
    #[inline]
    pub(super) fn after_header(packet: &'a [u8], kind: Kind) -> Self {
        Self { bytes: packet, kind, read: 1 }
    }

    /// Returns the error that the bytes read so far are malformed.
    #[cold]
    pub(super) fn bad(&self) -> Stop {
        Stop::Bad(Fault::Malformed(self.kind))
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.read).ok_or(Stop::More)?;
        self.read += 1;
        Ok(byte)
    }

    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let array = *self.bytes.get(self.read..).and_then(|rest| rest.first_chunk()).ok_or(Stop::More)?;
        self.read += N;
        Ok(array)
    }

    /// Reads a little-endian value of `len` bytes, at most four.
    pub(super) fn value(&mut self, len: u8) -> Result<u32> {
        (0..len.min(4)).try_fold(0, |value, i| Ok(value | u32::from(self.byte()?) << (8 * i)))
    }

    /// Reads a value in continuation bytes: seven bits each, and bit 7 says that another follows. At most `max` bytes
    /// and 32 bits.
    #[inline]
    pub(super) fn continued(&mut self, max: u32) -> Result<u32> {
        let mut value = 0;
        for i in 0..max {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte & 0x80 == 0 {
                return u32::try_from(value).map_err(|_| self.bad());
            }
        }
        Err(self.bad())
    }
}

/// Maximum number of continuation bytes of a 32-bit value.
pub(super) const MAX_CONTINUED: u32 = 5;
/// Maximum number of continuation bytes of a cycle count, which has at most 20 bits.
pub(super) const MAX_COUNT: u32 = 3;
/// Maximum number of bytes that extend a PLCTL byte. None is defined; this leaves room for future versions.
pub(super) const MAX_PLCTL_EXTENSION: u32 = 4;
