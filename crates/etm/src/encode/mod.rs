//! The instruction stream from what was executed: the reverse of decoding.
//!
//! [`Encoder`] takes [`Element`]s in the order in which they happened, those that a decoder gives back, and writes the bytes
//! that a trace unit with the given registers could have written:
//!
//! * A block that ends in a P0 instruction is an atom. Instructions after the last P0 instruction are told by an exception's
//!   return address, or not at all: what ran between the last P0 instruction and the end of a stretch of trace is lost, as in
//!   hardware.
//! * An Address packet tells where a taken indirect branch went, unless the return stack (TRCCONFIGR.RS) does; with branch
//!   broadcast (TRCCONFIGR.BB) where any taken branch went.
//! * After Trace On, after an exception and after each synchronisation point an Address comes before the next atom, with a
//!   Context where that is due.
//! * What the registers do not switch on (cycle counts, timestamps, IDs) is left out, so that one execution can be
//!   encoded for many trace units.
//!
//! Of the packets that say the same, those that take the fewest bytes are chosen, one decision at a time: atoms are
//! packed optimally (see `atoms.rs`), addresses in their shortest form, Address and Context in one packet where that is shorter.
//!
//! [`AtPort`] is an encoder whose packets go through a port that may be too slow for them.
//!
//! With TRCIDR8.MAXSPEC above 0 the stream is speculative: [`Options`] say how often elements are committed and whether
//! some of them are first told wrong.
//!
//! Limits: no conditional non-branch and no data tracing, and loads and stores are no P0
//! elements; a [`Registers`](crate::Registers) that switches those on gets a stream without them.

mod atoms;
mod config;
mod encoder;
mod options;
mod port;
mod random;
mod return_stack;
mod speculation;

#[cfg(test)]
mod tests;

pub use encoder::{Bytes, Encoder};
pub use options::{Commits, Options};
pub use port::AtPort;
#[cfg(doc)]
use tracewright_core::Element;
