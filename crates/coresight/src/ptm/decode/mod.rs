//! Packets to elements.
//!
//! Atoms are told for waypoints only: branches and ISB. A branch address takes the place of the atom of an indirect branch. With a return
//! stack, a taken indirect branch without an address goes where the newest call returns to.
//!
//! Elements come in the order of execution. A cycle count comes after what its packet tells, and is the time up to there.

mod decoder;
#[cfg(test)]
pub(super) mod tests;

pub use decoder::{Decoder, Options, Snapshot, Unsupported};
