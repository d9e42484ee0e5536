//! Decoding of packets to executed instructions.
//!
//! A [`Decoder`] accepts packets in order, moves a [`Walker`](tracewright_flow::Walker) through the program and emits
//! [`Element`](tracewright_core::Element)s: blocks of instructions, exceptions, contexts, timestamps, gaps.
//!
//! A trace unit emits elements for instructions before it is certain that they will be executed. Such speculative
//! elements wait in a queue (`queue.rs`) until packets commit or cancel them (`resolve.rs`). Committed elements move
//! the walker (`commit.rs`). Trace units without speculation (TRCIDR8.MAXSPEC = 0, nearly all) commit everything at
//! once, and their atoms go straight to the walker.

mod commit;
mod decoder;
mod feed;
mod options;
mod queue;
mod resolve;

pub use decoder::{Decoder, Snapshot};
pub use feed::Feed;
pub use options::{Options, Unsupported};
