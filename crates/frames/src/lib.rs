//! CoreSight formatter frames, both ways.
//!
//! A CoreSight trace sink (ETB, ETR, TPIU) mixes the bytes of several trace sources into one stream of
//! 16-byte frames. A [`Deframer`] takes such a stream apart: bytes go in, in pieces of any size, and a
//! [`Sink`] is told each source's bytes, the file offset of every one of them, and what was lost. A
//! [`Framer`] does the reverse. Two helpers for those who want whole streams: [`Demux`] is a sink that
//! collects each source's bytes, and [`OffsetMap`] remembers where they were.
//!
//! ```
//! use tracewright_frames::{Deframer, Demux, Format};
//!
//! // Source 0x10 sends 01 to 08, then source 0x11 takes over. Its ID byte, byte 8, has its auxiliary bit set
//! // (bit 4 of the last byte), so that the byte after it is still one of source 0x10. Data at even positions
//! // has its bit 0 in the last byte, too: AB at byte 10 is written as AA, with bit 5 set.
//! let frame = [0x21, 1, 0x02, 3, 0x04, 5, 0x06, 7, 0x23, 8, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0b0011_0000];
//!
//! let mut demux = Demux::new();
//! let mut deframer = Deframer::new(Format::Aligned);
//! deframer.feed(&frame[..7], &mut demux);
//! deframer.feed(&frame[7..], &mut demux);
//! deframer.finish(&mut demux);
//!
//! let streams: Vec<_> = demux.streams().collect();
//! let [(first, a), (second, b)] = streams[..] else { panic!("two sources") };
//! assert_eq!((first.get(), &a.bytes[..]), (0x10, &[1, 2, 3, 4, 5, 6, 7, 8][..]));
//! assert_eq!((second.get(), &b.bytes[..]), (0x11, &[0xab, 0xbb, 0xcc, 0xdd, 0xee][..]));
//! assert_eq!(b.offsets.runs().next().map(|(_, run)| run.offset), Some(10));
//! ```
//!
//! Damage is normal in trace: what cannot be read is reported as [`Lost`], and the deframer goes on. Whatever
//! the input, it neither panics nor takes more than constant memory, and the result does not depend on how
//! the input is cut.
//!
//! This crate is `no_std`; only [`Framer`], [`Demux`] and [`OffsetMap`] allocate. What the sources' bytes
//! mean is for other crates. Bytes of a single source that were never framed need none of this.
//!
//! # Files
//!
//! * `deframer` (entry), `assembler` (frames and syncs from bytes), `block` (fast path: many frames at once),
//!   `delivery` (runs to the sink), `run` (byte to file offset), `dstream`, `demux`, `offset_map`; `framer` (the
//!   reverse).
#![no_std]

extern crate alloc;

mod assembler;
mod block;
mod deframer;
mod delivery;
mod demux;
mod dstream;
mod framer;
mod fsync;
mod lost;
mod offset_map;
mod partial;
mod run;
mod sink;

pub use deframer::{Deframer, Format};
pub use demux::{Break, Demux, Stream};
pub use dstream::DstreamBlocks;
pub use framer::{Framer, Options, ReservedId};
pub use lost::{Lost, LostReason};
pub use offset_map::OffsetMap;
pub use run::Run;
pub use sink::Sink;
