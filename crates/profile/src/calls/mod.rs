//! Who called whom: calls and returns found in elements in order.
//!
//! [`Tracker`] takes elements and tells a [`Watch`] which functions are entered and left; [`Tree`] is one that sums up what ran under
//! which callers.

mod stack;
mod tracker;
mod tree;

pub use stack::{How, Watch};
pub use tracker::{Losses, Thread, Tracker};
pub use tree::{Calls, Edge, Node, Sums, Tree};
