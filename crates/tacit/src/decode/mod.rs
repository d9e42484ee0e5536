//! Decoder from packets and the program to executed blocks.
//!
//! A [`Decoder`] takes the [items](crate::stream::Item) of a stream in order and emits [elements](tracewright_core::Element). Between two
//! packets execution went straight on, or, in the mode predict, over direct jumps and branches that went as predicted.
//!
//! After a contradiction with the program, decoding resumes at the next packet with a whole address: synchronisation, or a trap.

mod decoder;
mod report;
mod snapshot;
mod walk;

pub use decoder::{Decoder, Options};
pub use snapshot::Snapshot;
