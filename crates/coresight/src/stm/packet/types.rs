use super::kind::{Kind, Size};
use super::timestamp::{Encoding, Timestamp};

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// Alignment synchronisation: ones (nibbles 0xf), and a zero.
    Async {
        /// Number of ones: 21, or more.
        ones: u8,
    },
    /// Version of the protocol: how timestamps are encoded. Master and channel are 0 from here on.
    Version(Encoding),
    /// Nothing but a timestamp, or nothing at all.
    Null {
        /// Timestamp, if there is one.
        timestamp: Option<Timestamp>,
    },
    /// Master from here on. The channel is 0.
    Master {
        /// Number of the master.
        number: u16,
        /// Whether all 16 bits were told (M16), not only the lower 8.
        wide: bool,
    },
    /// Channel from here on.
    Channel {
        /// Number of the channel.
        number: u16,
        /// Whether all 16 bits were told (C16), not only the lower 8.
        wide: bool,
    },
    /// A value that was written.
    Data {
        /// Size of the value.
        size: Size,
        /// The value.
        value: u64,
        /// Whether it is marked.
        marked: bool,
        /// Timestamp, if there is one.
        timestamp: Option<Timestamp>,
    },
    /// A mark without a value.
    Flag {
        /// Timestamp, if there is one.
        timestamp: Option<Timestamp>,
    },
    /// A trigger event.
    Trigger {
        /// Value of the event.
        value: u8,
        /// Timestamp, if there is one.
        timestamp: Option<Timestamp>,
    },
    /// A value whose meaning the source defines.
    User {
        /// Number of nibbles of the value: 1 to 16.
        nibbles: u8,
        /// The value.
        value: u64,
        /// Timestamp, if there is one.
        timestamp: Option<Timestamp>,
    },
    /// Frequency of the timestamps' clock.
    Frequency {
        /// The frequency; 0 if it is not known.
        hertz: u32,
        /// Timestamp, if there is one.
        timestamp: Option<Timestamp>,
    },
    /// A point that is in the streams of several sources.
    CrossSync {
        /// Number of the point.
        value: u8,
        /// Timestamp, if there is one.
        timestamp: Option<Timestamp>,
    },
    /// An error of the current master, whose channel is 0 from here on.
    MasterError(u8),
    /// An error of some master. The master is 0 from here on.
    GlobalError(u8),
    /// Nibbles that were skipped in search of an ASYNC.
    NotSync {
        /// Number of nibbles.
        nibbles: u64,
    },
    /// A header that has no meaning.
    Reserved {
        /// Nibbles of the header, the first one highest.
        header: u16,
    },
    /// Nibbles that are not a packet.
    Malformed {
        /// Kind of the header.
        kind: Kind,
    },
    /// An unfinished packet at the end of the stream.
    Incomplete {
        /// Kind of the header, if enough of it is there.
        kind: Option<Kind>,
    },
}

impl Packet {
    /// Returns the kind.
    #[inline]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Data { size, marked, timestamp, .. } => Kind::of_data(*size, *marked, timestamp.is_some()),
            Self::Null { timestamp } => Kind::Null.timed(timestamp.is_some()),
            Self::Flag { timestamp } => Kind::Flag.timed(timestamp.is_some()),
            Self::Trigger { timestamp, .. } => Kind::Trig.timed(timestamp.is_some()),
            Self::User { timestamp, .. } => Kind::User.timed(timestamp.is_some()),
            Self::Frequency { timestamp, .. } => Kind::Freq.timed(timestamp.is_some()),
            Self::CrossSync { timestamp, .. } => Kind::Xsync.timed(timestamp.is_some()),
            Self::Master { wide: false, .. } => Kind::M8,
            Self::Master { .. } => Kind::M16,
            Self::Channel { wide: false, .. } => Kind::C8,
            Self::Channel { .. } => Kind::C16,
            Self::Async { .. } => Kind::Async,
            Self::Version(_) => Kind::Version,
            Self::MasterError(_) => Kind::Merr,
            Self::GlobalError(_) => Kind::Gerr,
            Self::NotSync { .. } => Kind::NotSync,
            Self::Reserved { .. } => Kind::Reserved,
            Self::Malformed { .. } => Kind::Malformed,
            Self::Incomplete { .. } => Kind::Incomplete,
        }
    }

    /// Returns the timestamp, if there is one.
    #[inline]
    pub const fn timestamp(&self) -> Option<Timestamp> {
        match self {
            Self::Data { timestamp, .. }
            | Self::Null { timestamp }
            | Self::Flag { timestamp }
            | Self::Trigger { timestamp, .. }
            | Self::User { timestamp, .. }
            | Self::Frequency { timestamp, .. }
            | Self::CrossSync { timestamp, .. } => *timestamp,
            _ => None,
        }
    }
}
