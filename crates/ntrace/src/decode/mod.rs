//! Decoder from messages and the program to executed blocks.
//!
//! A [`Decoder`] takes the [messages](crate::stream::Message) of a stream in order and emits
//! [elements](tracewright_core::Element). Messages count the half-words that retired, and have the outcomes of branches and the targets
//! of indirect jumps. The decoder follows the program as far as the count says.
//!
//! A message may end anywhere in a block. A block is emitted once its end is known.

mod decoder;
mod facts;
mod packets;
mod report;
mod rows;
mod snapshot;
mod walk;

pub use decoder::{Decoder, Options};
pub use facts::Facts;
pub use snapshot::Snapshot;
