//! STM: what software and hardware write into the trace through a System Trace Macrocell, as STPv2 (MIPI System Trace Protocol 2.1).
//!
//! Bus masters write values to channels. A value is a packet of its own; it may carry a mark and a timestamp. Packets consist of
//! nibbles, and may begin in the middle of a byte.
//!
//! * [`params`]: registers; [`packet`]: bytes to packets and back; [`decode`]: packets to elements;
//!   [`encode`]: elements to packets.

pub mod decode;
pub mod encode;
#[cfg(test)]
mod lister_tests;
pub mod packet;
pub mod params;

pub use params::{Params, Registers};
