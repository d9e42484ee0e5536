//! Encoder from executed blocks to messages.
//!
//! An [`Encoder`] takes the blocks and traps of a hart in order. A message that has a target waits for the next block, whose address it
//! sends. Where the specification is open, the encoder does this:
//!
//! * Synchronisation happens where blocks start. It replaces the message that waits there, or comes on its own.
//! * A history or a counter is sent with the newest branch or block in it, if there is room.
//! * A trap whose handler never runs is not sent: the end of tracing comes instead.
//! * Where execution goes on elsewhere without a jump, tracing ends and begins again.
//! * A message repeats only where the mode is branch, since a history says more.

mod config;
mod encoder;
mod repeats;
mod returns;

pub use config::{Config, Resync, SyncMode, Timestamps};
pub use encoder::Encoder;
