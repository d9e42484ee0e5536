//! Arm ETMv4 and ETE instruction trace.
//!
//! This crate is the packet level: [`packet::Parser`] turns a source's byte stream into
//! [`packet::Packet`]s, in any chunking; [`packet::Emitter`] turns packets back into bytes. What a packet
//! means for the program (atoms, addresses, exceptions becoming executed code) is the next layer's work.
//!
//! A trace cannot be read without the trace unit's registers: how wide a context ID is, whether cycle counts
//! carry commits, which headers exist at all. [`Registers`] holds them under their spec names; [`Params`]
//! checks them once and folds them into what the parser's inner loop reads.
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
//! `no_std`, no allocation, no dependencies besides the shared vocabulary. Specifications: Arm IHI 0064
//! (ETMv4.0-4.6) and DDI 0608 (ETE 1.0-1.3); section names in the module docs are theirs.
//!
//! # Files
//!
//! * `registers`, `params`: registers, checked and folded.
//! * `packet`: `header` (one row per encoding, in spec order), `kind`, `types` and its parts (packets as values),
//!   `state` (compression registers, shared by reader and writer), `read` and `fields` (one packet from a slice), `hot`
//!   (the same for the most frequent packets), `parser` and `search` (streams), `emit`, `bytewise` (the decoder as a
//!   function of one byte), `text`, `opencsd`.
//! * `decode`: `decoder` (entry), `queue` (uncertain elements), `resolve` (commit, cancel, discard), `commit` (moves
//!   the walker, emits elements).
//! * `encode`: `encoder` (entry), `atoms`, `return_stack`, `speculation`, `config`, `options`, `port`.
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

pub use params::{Architecture, Params, ParamsError, Profile, Protocol};
pub use registers::{Registers, field};
