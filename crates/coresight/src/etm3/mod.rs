//! ETMv3.0 to ETMv3.5 (Arm IHI 0014).
//!
//! An ETMv3 traces each instruction: an atom says whether the instruction passed its condition. Addresses are told only where they
//! cannot be inferred. Data accesses can be traced beside the instructions.
//!
//! [`packet::Parser`] splits the bytes of a source into [`packet::Packet`]s. [`decode::Decoder`] follows the program with them, and emits
//! elements. [`encode::Encoder`] does the reverse.

#[cfg(test)]
mod data_tests;
pub mod decode;
pub mod encode;
#[cfg(test)]
mod lister_tests;
pub mod packet;
mod params;
#[cfg(test)]
mod tests;

pub use params::{Params, ParamsError, Registers};
