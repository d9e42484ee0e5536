//! Loops: found in the graph of what ran, counted in elements in order.

mod forest;
mod graph;
mod trips;

pub use forest::{Loop, forest};
pub use graph::{Graph, Leader};
pub use trips::{TripCounts, Trips};
