//! PTM: program flow trace 1.0 and 1.1, of Cortex-A9, A12, A15 and A17.
//!
//! Only waypoints are traced: branches and barriers (ISB). An atom tells whether a waypoint was taken; a branch address replaces the
//! atom of an indirect branch, and tells where it went. With cycle counts each packet tells one waypoint.
//!
//! * [`params`]: registers; [`packet`]: bytes to packets and back; [`decode`]: packets to elements;
//!   [`encode`]: elements to packets.

pub mod decode;
pub mod encode;
#[cfg(test)]
mod lister_tests;
pub mod packet;
pub mod params;

pub use params::{Params, ParamsError, Registers};
