//! Reading a packet's payload fields.

use super::{Kind, Packet};

/// Why a packet could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It goes on after the bytes at hand.
    More,
    /// No such packet exists.
    Bad(Fault),
}

/// What is wrong with bytes that are no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A header no version defines.
    Reserved(u8),
    /// A header that this configuration does not have.
    ReservedForConfig(Kind),
    /// A header and bytes that cannot follow it.
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
    /// Bytes read so far, the header included.
    pub(super) read: usize,
}

impl<'a> Payload<'a> {
    /// The payload after the one-byte header at the front of `packet`.
    #[inline]
    pub(super) fn after_header(packet: &'a [u8], kind: Kind) -> Self {
        Self { bytes: packet, kind, read: 1 }
    }

    /// The bytes read so far cannot be.
    #[cold]
    pub(super) fn bad(&self) -> Stop {
        Stop::Bad(Fault::Malformed(self.kind))
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, Stop> {
        let byte = *self.bytes.get(self.read).ok_or(Stop::More)?;
        self.read += 1;
        Ok(byte)
    }

    /// `N` bytes at once.
    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let array = *self.bytes.get(self.read..).and_then(|rest| rest.first_chunk()).ok_or(Stop::More)?;
        self.read += N;
        Ok(array)
    }

    /// A little-endian value of `len` bytes, at most four.
    pub(super) fn value(&mut self, len: u8) -> Result<u32, Stop> {
        (0..len.min(4)).try_fold(0, |value, i| Ok(value | u32::from(self.byte()?) << (8 * i)))
    }

    /// A value in continuation bytes: seven bits each, bit 7 says that another follows, at most `max`
    /// bytes and 32 bits.
    #[inline]
    pub(super) fn continued(&mut self, max: u32) -> Result<u32, Stop> {
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

/// The most continuation bytes that a 32-bit value takes.
pub(super) const MAX_CONTINUED: u32 = 5;
/// The most continuation bytes of a cycle count: it has at most 20 bits.
pub(super) const MAX_COUNT: u32 = 3;
/// The most bytes after a PLCTL byte that extend it. None is defined; some room for the future.
pub(super) const MAX_PLCTL_EXTENSION: u32 = 4;
