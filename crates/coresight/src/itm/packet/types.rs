use tracewright_core::Delay;

use super::Kind;
use crate::itm::hardware::Hardware;

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Packet {
    /// Synchronisation: 47 zero bits and a one. (Five zero bytes and 0x80; there may be more zeros for OpenCSD.)
    Async,
    /// Zero bytes before a synchronisation packet or at the end of the stream.
    Padding {
        /// Number of bytes.
        zeros: u8,
    },
    /// Packets were lost, or the counter of local timestamps wrapped.
    Overflow,
    /// A value that software wrote.
    Stimulus {
        /// Stimulus port. Its upper three bits are the page, which an extension packet tells.
        port: u8,
        /// Size of the value in bytes: 1, 2 or 4.
        size: u8,
        /// The value.
        value: u32,
    },
    /// A packet of the DWT.
    Hardware(Hardware),
    /// Time since the last local timestamp.
    LocalTimestamp {
        /// Number of steps of the counter.
        value: u32,
        /// Delay of the timestamp or of the packets before it.
        delay: Delay,
        /// Number of bytes after the header: 0 to 4.
        bytes: u8,
    },
    /// Lower 26 bits of a global timestamp.
    GlobalLow {
        /// Bits that were sent, lowest first. Higher ones are as before.
        value: u32,
        /// The clock changed since the last global timestamp.
        clock_changed: bool,
        /// The upper bits changed, and follow in a packet of their own.
        wrapped: bool,
        /// Number of bytes after the header: 1 to 4, with 7, 14, 21 or all 26 bits.
        bytes: u8,
    },
    /// Upper bits of a global timestamp, from bit 26 on.
    GlobalHigh {
        /// The bits.
        value: u64,
        /// Number of bytes after the header: 1 to 6. There are four of timestamps with 48 bits.
        bytes: u8,
    },
    /// More about the source of the packets that follow.
    Extension {
        /// Whether it is about packets of the DWT.
        hardware: bool,
        /// Its value: three bits in the header, above these seven in each byte, eight in the last.
        value: u32,
        /// Number of bytes after the header: 0 to 4.
        bytes: u8,
    },
    /// Bytes that were skipped in search of a synchronisation packet.
    NotSync {
        /// Number of bytes.
        len: u64,
    },
    /// A header that has no meaning.
    Reserved {
        /// The header.
        header: u8,
    },
    /// Bytes that are not a packet.
    Malformed {
        /// Kind of the header.
        kind: Kind,
    },
    /// An unfinished packet at the end of the stream.
    Incomplete {
        /// Kind of the header.
        kind: Kind,
    },
}

impl Packet {
    /// Returns the kind.
    #[inline]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Async => Kind::Async,
            Self::Padding { .. } => Kind::Padding,
            Self::Overflow => Kind::Overflow,
            Self::Stimulus { .. } => Kind::Stimulus,
            Self::Hardware(hardware) => Kind::of_hardware(hardware.source),
            Self::LocalTimestamp { .. } => Kind::LocalTimestamp,
            Self::GlobalLow { .. } => Kind::GlobalLow,
            Self::GlobalHigh { .. } => Kind::GlobalHigh,
            Self::Extension { .. } => Kind::Extension,
            Self::NotSync { .. } => Kind::NotSync,
            Self::Reserved { .. } => Kind::Reserved,
            Self::Malformed { .. } => Kind::Malformed,
            Self::Incomplete { .. } => Kind::Incomplete,
        }
    }

    /// Returns the page of the stimulus ports that follow, if the packet tells it: 32 ports are a page.
    #[inline]
    pub const fn page(&self) -> Option<u8> {
        match self {
            Self::Extension { hardware: false, value, bytes: 0 } => Some(*value as u8),
            _ => None,
        }
    }
}
