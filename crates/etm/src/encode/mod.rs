//! Encoding of an execution as an instruction stream: the reverse of decoding.
//!
//! An [`Encoder`] accepts [`Element`]s in the order of execution, as a decoder emits them, and emits bytes as a trace
//! unit with the given registers could:
//!
//! * A block that ends in a P0 instruction is an atom. Instructions after the last P0 instruction are traced by the
//!   return address of an exception, or not at all: as in hardware, what ran between the last P0 instruction and the
//!   end of a stretch of trace is lost.
//! * An Address packet gives the target of a taken indirect branch, unless the return stack (TRCCONFIGR.RS) does.
//!   With branch broadcast (TRCCONFIGR.BB) it gives the target of every taken branch.
//! * After Trace On, after an exception and after each synchronisation point, an Address comes before the next atom,
//!   with a Context if it is due.
//! * What the registers do not enable (cycle counts, timestamps, IDs) is left out, so that one execution can be
//!   encoded for many trace units.
//!
//! Of all equivalent packets, the encoder chooses the shortest, one decision at a time. Atoms are packed optimally
//! (see `atoms.rs`), addresses are in their shortest form, and Address and Context are in one packet if that is
//! shorter.
//!
//! [`AtPort`] is an encoder whose packets pass a port that may be too slow for them.
//!
//! With TRCIDR8.MAXSPEC above 0 the stream is speculative: [`Options`] say how often elements are committed, and
//! whether some are mispredicted first.
//!
//! Limits: conditional non-branch tracing and data tracing are not supported, and loads and stores are not P0
//! elements. If [`Registers`](crate::Registers) enable those, the stream lacks them.

mod atoms;
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
