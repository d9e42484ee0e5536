//! MTB: the micro trace buffer of Cortex-M0+, also of some Cortex-M23 and M33.
//!
//! The trace unit writes two words into RAM at each change of flow: where it came from, and where it went. There is nothing else:
//! no synchronisation, no time, no trace ID. The RAM is a ring; [`Params::ring`] tells where its oldest packet is.

pub mod decode;
pub mod encode;
pub mod packet;
mod params;
#[cfg(test)]
mod tests;

pub use params::{Params, Ring, TooShort};
