//! Packets of an ITM: bytes to packets and back.
//!
//! A [`Parser`] takes bytes in chunks of any size. [`Packet::write`] is the reverse: packets keep the number of bytes in which their values
//! were sent, so that each packet has the bytes that it was read from.

mod kind;
pub mod opencsd;
mod parser;
mod read;
#[cfg(test)]
mod tests;
mod text;
mod types;
mod write;

pub use crate::shared::ASYNC;
pub use kind::Kind;
pub use parser::Parser;
pub use read::State;
pub use text::Details;
pub use types::Packet;

/// Most bytes of a packet. (OpenCSD's synchronisation packets may have more zeros.)
pub const MAX_PACKET: usize = 16;
