//! The log while it is written: the plugin hands over chunks, the recorder returns their slots.
//!
//! A [`Receiver`] waits for plugins, one for each process. A [`Connection`] returns what one of them records, in order:
//! definitions before the words that need them and, however it ends, everything that is left.

mod broken;
mod connection;
mod folder;
mod protocol;
mod receiver;
mod slots;
#[cfg(test)]
mod tests;

pub use self::broken::Broken;
pub use self::connection::{Connection, Piece, Step};
pub use self::protocol::{Hello, MOST_SLOTS, SLOTS};
pub use self::receiver::{Incoming, Receiver};
