//! Loops: found in the graph of executed code, counted in elements.

mod forest;
mod graph;
mod trips;

pub use forest::{Loop, forest};
pub use graph::{Graph, Leader};
pub use trips::{TripCounts, Trips, counted};
