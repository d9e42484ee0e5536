//! From packets to what ran.
//!
//! A [`Decoder`] takes packets in order, drives a [`Walker`](tracewright_flow::Walker) through the program and tells
//! [`Element`](tracewright_core::Element)s: blocks of instructions, exceptions, contexts, timestamps, gaps.
//!
//! A trace unit tells of instructions before it is certain that they will be executed. What is not certain yet waits in
//! a queue (`queue.rs`) until packets commit or cancel it (`resolve.rs`); what is committed moves the walker
//! (`commit.rs`). Trace units without speculation (TRCIDR8.MAXSPEC = 0, nearly all) commit everything at once: their
//! atoms go straight to the walker.

mod commit;
mod decoder;
mod feed;
mod options;
mod queue;
mod resolve;

pub use decoder::{Decoder, Snapshot};
pub use feed::Feed;
pub use options::{Options, Unsupported};
