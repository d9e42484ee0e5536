//! Trace control: a sink that passes on only what qualifies.

mod controlled;
mod events;
mod told;

pub use controlled::Controlled;
pub use events::{Events, Moment};
