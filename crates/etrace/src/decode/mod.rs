//! Packets and the program to what ran.
//!
//! A [`Decoder`] takes the [messages](crate::stream::Message) of a stream, in order, and tells
//! [elements](tracewright_core::Element). It follows the program from one reported address to the next: packets say what became
//! of branches and where jumps went that the program does not tell.
//!
//! A reported instruction has retired, but the block it lies in may go on: a block is told when its end is known.

mod decoder;
mod facts;
mod follow;
mod handlers;
mod options;
mod paired;
mod snapshot;
mod tell;
mod trap;

pub use decoder::Decoder;
pub use facts::Facts;
pub use handlers::{Handler, HandlerPlace};
pub use options::{Options, Quirks};
pub use paired::{DataState, Paired, PairedSnapshot};
pub use snapshot::Snapshot;
