//! The trace port: its options, and what is said of it.

mod args;
mod report;

pub use args::PortArgs;
pub use report::{json, lines};
