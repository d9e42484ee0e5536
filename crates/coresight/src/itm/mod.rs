//! ITM with DWT: what software and debug hardware of Cortex-M cores write into the trace (Armv7-M and Armv8-M).
//!
//! Software writes values of one, two or four bytes to stimulus ports. The DWT reports exceptions, samples of the program counter,
//! event counters that wrapped, and accesses that a comparator watches for. Timestamps stand behind what they belong to.
//!
//! * [`params`]: registers; [`packet`]: bytes to packets and back; [`hardware`]: what packets of the DWT mean; [`decode`]: packets to
//!   elements; [`encode`]: elements to packets.

pub mod decode;
pub mod encode;
pub mod hardware;
pub mod packet;
pub mod params;

pub use params::{Params, Registers};
