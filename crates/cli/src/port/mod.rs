//! The trace port, for all encoders: what is asked for, what is found out, how it is told.
//!
//! How large the buffer must be is found from the trace that loses nothing. Where a smaller buffer is asked for, what comes through it is
//! another trace (packets are lost, or later), so a second encoder makes the whole one beside it ([`Sizing`]).

mod args;
mod gaps;
mod report;
mod sizing;

pub use args::{Asked, PortArgs};
pub use gaps::Gaps;
pub use report::Report;
pub use sizing::Sizing;
