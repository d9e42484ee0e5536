//! Text under construction.

pub use tracewright_engine::Line;
