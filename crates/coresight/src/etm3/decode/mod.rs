//! Packets to elements.
//!
//! Atoms are per instruction, so the decoder counts instructions through the blocks of the program, and emits a block when its last
//! instruction ran. The newest instruction is held back until the next packet: an exception may cancel it.

mod data;
mod decoder;
mod follow;
mod opencsd;
mod rows;

pub use decoder::{Decoder, Options, Snapshot};
