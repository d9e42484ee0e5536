//! Arm ETMv4 and ETE instruction trace: decoding and encoding.
//!
//! The bytes of one trace source go in, in chunks of any size. [`packet::Parser`] splits them into
//! [`packet::Packet`]s. `decode::Decoder` follows the program with these packets, and emits elements: blocks of
//! executed instructions, exceptions, timestamps, gaps. In the other direction, [`encode::Encoder`] accepts elements
//! and emits the bytes of a trace unit, and [`packet::Emitter`] turns single packets into bytes.
//!
//! A trace cannot be decoded without the registers of the trace unit: they define the width of a context ID, whether
//! cycle counts carry commits, and which headers exist at all. [`Registers`] holds them under their names in the
//! specification. [`Params`] checks them once and derives what the inner loop of the parser needs.
//!
//! ```
//! use tracewright_etm::{Params, Registers, packet::{Packet, Parser}};
//!
//! let params = Params::new(&Registers::default()).unwrap();
//! let bytes = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x01, 0x00, 0xf7];
//! let mut names = Vec::new();
//! let mut parser = Parser::new(params);
//! let mut sink = |_offset: u64, _bytes: &[u8], packet: &Packet| names.push(packet.kind().name());
//! parser.feed(&bytes[..5], &mut sink); // any split gives the same packets
//! parser.feed(&bytes[5..], &mut sink);
//! parser.finish(&mut sink);
//! assert_eq!(names, ["A-Sync", "Trace Info", "Atom F1"]);
//! ```
//!
//! * [`packet`]: packets, their parser, emitter and text.
//! * `decode`: from packets to executed blocks, with the feature `decode`.
//! * [`encode`]: from executed blocks to packets.
//!
//! The feature `decode` is on by default, and needs `std` (through `tracewright-flow` and `tracewright-image`). Without
//! it, the crate is `no_std`, does not allocate, and depends only on `tracewright-core`. Split formatted captures with
//! `tracewright-frames` first. To open whole captures, use `tracewright`.
//!
//! The specifications are Arm IHI 0064 (ETMv4.0 to 4.6) and DDI 0608 (ETE 1.0 to 1.3). Section names in the module
//! docs are theirs.
#![no_std]
#![warn(clippy::std_instead_of_core)]

#[cfg(test)]
extern crate std;

#[cfg(feature = "decode")]
extern crate alloc;

#[cfg(feature = "decode")]
pub mod decode;
pub mod encode;
pub mod packet;
mod params;
mod registers;

pub use params::{Architecture, CoreProfile, Params, ParamsError, Protocol};
pub use registers::{Registers, field};
