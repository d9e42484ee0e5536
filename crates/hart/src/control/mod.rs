//! Trace control at work: a sink that hands on only what qualifies.

mod controlled;
mod events;
mod told;

pub use controlled::Controlled;
pub use events::{Events, Moment};
