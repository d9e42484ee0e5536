//! Packets of a PTM: bytes to packets and back.
//!
//! A [`Parser`] takes bytes in chunks of any size. [`Packet::write`] is the reverse. Addresses and timestamps are compressed: packets
//! hold their values and how many bits were told, and [`State`] is what they are compressed against.

mod cycles;
mod hot;
mod kind;
pub mod opencsd;
mod parser;
mod read;
#[cfg(test)]
mod tests;
mod types;
mod write;

pub use crate::shared::{ASYNC, ZEROS};
pub use kind::Kind;
pub use parser::Parser;
pub use read::State;
pub use tracewright_core::stream::{PacketSink, Resync};
pub use types::{Address, Atoms, Branch, ISync, ISyncReason, Packet, Timestamp};

/// Most bytes of a packet: a timestamp with cycles has 15, an I-Sync with cycles and context ID 15; an A-Sync may have more zeros.
pub const MAX_PACKET: usize = 16;
