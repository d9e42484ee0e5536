//! Byte streams of messages, from one source or several.
//!
//! A [`Parser`] passes messages to a [`PacketSink`](tracewright_core::stream::PacketSink): each with all its bytes, but for
//! [`Content::Idle`], [`Content::NotSync`] and a vendor's message that is longer than all others, whose bytes it passes as skipped.

mod parser;
mod sync_points;

use crate::packet::{Malformed, Packet};

pub use parser::Parser;
pub use sync_points::{SyncPoint, SyncPoints};

/// One message of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// ID of the source; 0 where there is only one.
    pub source: u16,
    /// Timestamp, if the message has one.
    pub timestamp: Option<u64>,
    /// Content of the message.
    pub content: Content,
}

/// Content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A message with a known meaning.
    Packet(Packet),
    /// A reserved message, or one that a vendor defines.
    Other {
        /// Number of the message.
        tcode: u8,
        /// Number of bytes.
        len: u64,
    },
    /// Filler between messages, reported where it ends.
    Idle {
        /// Number of bytes.
        len: u64,
    },
    /// Bytes that are not a message.
    Malformed(Malformed),
    /// Bytes skipped in search of the end of a message, reported where the search ends.
    NotSync {
        /// Number of bytes.
        len: u64,
    },
    /// Message cut off by the end of the stream.
    Incomplete,
}
