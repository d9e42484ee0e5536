//! Decoder from packets and the program to executed blocks.
//!
//! A [`Decoder`] takes the [messages](crate::stream::Message) of a stream in order and emits
//! [elements](tracewright_core::Element). It follows the program from one reported address to the next.
//! Packets give the outcomes of branches and the targets of jumps that the program does not determine.
//!
//! A reported instruction has retired, but its block may go on. A block is emitted once its end is known.

mod decoder;
mod emit;
mod facts;
mod follow;
mod handlers;
mod options;
mod paired;
mod snapshot;
mod trap;

pub use decoder::Decoder;
pub use facts::Facts;
pub use handlers::{Handler, HandlerPlace};
pub use options::{Options, Quirks};
pub use paired::{DataState, Paired, PairedSnapshot};
pub use snapshot::Snapshot;
