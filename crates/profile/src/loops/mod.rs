//! Loops: found in the graph of what ran, counted in elements in order.

mod counted;
mod forest;
mod graph;
mod trips;

pub use counted::counted;
pub use forest::{Loop, forest};
pub use graph::{Graph, Leader};
pub use trips::{TripCounts, Trips};
