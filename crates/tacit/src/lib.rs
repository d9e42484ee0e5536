//! TACIT (L-Trace), the instruction trace of RISC-V cores such as Rocket and BOOM, read and written.
//!
//! Every branch, jump and trap is a packet with the cycles since the last packet, most often one byte. Two pipelines meet at the
//! [`packet::Packet`]. Encoding turns the blocks that a hart retires into packets and bytes: [`encode`] chooses packets, [`packet::emit`]
//! writes them. Decoding reverses it: [`stream`] parses bytes into packets, and `decode` follows the program from packet to packet and
//! emits the elements of [`tracewright_core`].
//!
//! A stream has no pattern at which reading could begin: it is read from its first byte, and nothing after damage can be trusted.
//!
//! ```
//! use tracewright_tacit::{Params, packet};
//!
//! let params = Params::default();
//! let bytes = [0x0a, 0x10, 0x81, 0x89];
//! let (packet, len) = packet::read(&bytes, &params)?;
//! assert_eq!(packet.to_string(), "UninferableJump xor=0x120 time=9");
//! assert_eq!(len, 4);
//!
//! let mut again = packet::PacketBytes::default();
//! packet::emit(&packet, &params, &mut again);
//! assert_eq!(again[..], bytes);
//! # Ok::<(), packet::Unread>(())
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`packet`] | packets as values: read, emit, text |
//! | [`stream`] | bytes in any chunking to packets |
//! | [`encode`] | encoder from executed blocks to packets |
//! | `decode` | decoder from packets and the program to elements |
//!
//! Without the feature `decode`, which is on by default, the crate is `no_std` and does not allocate.
//!
//! There is no specification: the format is that of the public decoder and hardware of early 2026. For E-Trace, use
//! `tracewright-etrace`; for N-Trace, `tracewright-ntrace`. To open whole captures, use `tracewright`.
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
mod predictor;
pub mod stream;

pub use attributes::{Attribute, ParamsError};
pub use params::{Form, Mode, Params};
