//! Packets as values: read, emit, text.
//!
//! A packet is a byte, or a first byte and fields. Numbers have seven bits in each byte, the lowest first, and the top bit set in the last
//! one. [`read`] and [`emit`] are each other's reverse, but for packets that are longer than they need to be: no encoder sends them.

mod emit;
mod malformed;
mod read;
mod text;
mod types;

pub use emit::{PacketBytes, emit};
pub use malformed::{Malformed, Unread};
pub use read::read;
pub(crate) use read::read_short;
pub use text::Value;
pub use types::{KINDS, Packet, SyncKind, TrapKind};

/// Most bytes of a packet.
pub const MAX_PACKET: usize = 44;

/// Low bits of a first byte that other bytes follow.
const FULL: u8 = 0b10;
/// Largest value in a first byte.
const MOST_SHORT: u64 = 63;
/// Most bytes of a number.
const MOST_NUMBER: usize = 10;
/// Highest bits of the byte with privileges.
const PRIVILEGES: u8 = 0b10;

/// Numbers of packets in bits 1:0 of one byte, or in bits 4:2 of a first byte.
mod number {
    pub const TAKEN: u8 = 0;
    pub const NOT_TAKEN: u8 = 1;
    pub const UNINFERABLE: u8 = 2;
    pub const INFERABLE: u8 = 3;
    pub const TRAP: u8 = 4;
    pub const SYNC: u8 = 5;
}
