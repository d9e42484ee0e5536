//! The log while it is written: the plugin hands chunks over, the recorder hands their slots back.
//!
//! A [`Receiver`] waits for plugins, one for each process; a [`Connection`] gives what one of them records, in order: definitions
//! before the words that need them, and at the end, however it came, all that is left.

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
pub use self::protocol::{HELLO_MAGIC, Hello, MOST_PATH, MOST_SLOTS, NoHello, PROTOCOL, SLOTS, read_slot};
pub use self::receiver::{Incoming, Receiver};
