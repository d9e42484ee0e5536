//! Byte streams of packets.
//!
//! A [`Parser`] passes items to a [`PacketSink`](tracewright_core::stream::PacketSink): each with all its bytes, but for [`Item::NotSync`],
//! whose bytes it passes as skipped.

mod parser;

use crate::packet::{Malformed, Packet};

pub use parser::Parser;

/// One item of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A packet.
    Packet(Packet),
    /// Bytes that are not a packet.
    Malformed(Malformed),
    /// Bytes after those, up to the end of the stream, reported there: nothing tells where packets begin.
    NotSync {
        /// Number of bytes.
        len: u64,
    },
    /// Packet cut off by the end of the stream.
    Incomplete,
}
