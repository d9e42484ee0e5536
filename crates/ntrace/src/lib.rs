//! RISC-V N-Trace (Nexus-based Trace, IEEE-ISTO 5001), read and written.
//!
//! Two pipelines meet at the [`packet::Packet`]. Encoding turns the blocks that a hart retires into messages and bytes: [`encode`]
//! chooses messages, [`packet::emit`] writes them. Decoding reverses it: [`stream`] parses bytes into messages, and `decode` follows the program from message to message and emits the elements
//! of [`tracewright_core`].
//!
//! Every step needs the encoder's [`Params`]. Names are those of the specification.
//!
//! ```
//! use tracewright_ntrace::{Params, packet};
//!
//! let params = Params::default();
//! let bytes = [0x70, 0xd0, 0x1d, 0x1d, 0xf8, 0xff];
//! let parsed = packet::parse(&bytes, &params)?;
//! let packet = parsed.packet.unwrap();
//! assert_eq!(packet.to_string(), "IndirectBranchHist btype=0 icnt=0x7d uaddr=0x7 hist=0xffe (TTTTTTTTTTN)");
//!
//! let mut again = packet::MessageBytes::default();
//! packet::emit(&packet, parsed.source, parsed.timestamp, &params, &mut again)?;
//! assert_eq!(again[..], bytes);
//! # Ok::<(), packet::Malformed>(())
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`packet`] | messages as values: parse, emit, text |
//! | [`stream`] | bytes in any chunking to messages |
//! | [`encode`] | encoder from executed blocks to messages |
//! | `decode` | decoder from messages and the program to elements |
//!
//! Without the feature `decode`, which is on by default, the crate is `no_std` and does not allocate.
//!
//! The specification is RISC-V N-Trace 1.0. For E-Trace, use `tracewright-etrace`. To open whole captures, use `tracewright`.
#![no_std]
#![warn(clippy::std_instead_of_core)]

#[cfg(test)]
extern crate std;

#[cfg(feature = "decode")]
extern crate alloc;

mod attributes;
#[cfg(feature = "decode")]
pub mod decode;
pub mod encode;
pub mod packet;
mod params;
pub mod stream;

pub use attributes::{Attribute, ParamsError};
pub use params::{Dialect, ImplicitReturn, Mode, Params};
