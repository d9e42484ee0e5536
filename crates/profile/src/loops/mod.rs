//! Loops: found in the graph of executed code, counted in elements.

mod counted;
mod forest;
mod graph;
mod trips;

pub use counted::counted;
pub use forest::{Loop, forest};
pub use graph::{Graph, Leader};
pub use trips::{TripCounts, Trips};
