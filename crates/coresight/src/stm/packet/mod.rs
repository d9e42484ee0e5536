//! Packets of an STM: bytes to packets and back.
//!
//! A [`Parser`] takes bytes in chunks of any size. [`Packet::write`] is the reverse. A byte's low nibble comes first; numbers come
//! with their most significant nibble first. The tables of [`Kind`] say which nibbles a packet begins with, and how many follow.

mod hot;
mod kind;
mod nibbles;
pub mod opencsd;
mod parser;
mod read;
mod search;
#[cfg(test)]
pub(super) mod tests;
mod text;
mod timestamp;
mod types;
mod write;

pub use kind::{Kind, Size};
pub use nibbles::{Nibbles, Span};
pub use parser::{Parser, StmSink};
pub use read::State;
pub use search::find;
pub use text::Details;
pub use timestamp::{Encoding, Timestamp};
pub use types::Packet;

/// Fewest ones (nibbles 0xf) of an ASYNC.
pub const ONES: u8 = 21;

/// Most ones of an ASYNC that follows another packet. Of a longer row, all but the last [`ONES`] are bytes without synchronisation.
pub const MOST_ONES: u8 = 32;

/// Most bytes of a packet: USER with a timestamp has 37 nibbles.
pub const MAX_PACKET: usize = 20;
