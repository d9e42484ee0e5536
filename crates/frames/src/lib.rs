//! CoreSight formatter frames, and the samples of a serial line: decoding and encoding.
//!
//! A CoreSight trace sink (ETB, ETR, TPIU) merges the bytes of several trace sources into one stream of 16-byte
//! frames. A [`Deframer`] splits such a stream: it accepts bytes in chunks of any size, and reports to a [`FrameSink`] the
//! bytes of each source with their file offsets, and what was lost. A [`Framer`] does the reverse.
//!
//! * [`Demux`] is a sink that collects the bytes of each source.
//! * [`OffsetMap`] maps positions in a source's stream back to file offsets.
//! * [`DstreamBlocks`] removes the block footers of DSTREAM captures.
//! * [`LineDecoder`] finds the bytes of Serial Wire Output in the samples of a logic analyser. [`LineEncoder`] does the
//!   reverse.
//! * [`PibDecoder`] finds the bytes of N-Trace messages in the samples of a port of 1, 2 or 4 pins. [`PibEncoder`] does the reverse.
//!
//! ```
//! use tracewright_frames::{Deframer, Demux, Format};
//!
//! // Source 0x10 sends 01 to 08, then source 0x11. The ID byte of 0x11, byte 8, has its auxiliary bit set
//! // (bit 4 of the last byte), so that the byte after it still belongs to source 0x10. Bit 0 of data at even
//! // positions is in the last byte, too: AB at byte 10 is stored as AA, with bit 5 set.
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
//! Damage is normal in trace. What cannot be decoded is reported as [`Lost`], and the deframer resumes. It never
//! panics, its memory is constant, and the result does not depend on how the input is split.
//!
//! This crate is `no_std` and has no features. [`Framer`], [`Demux`], [`OffsetMap`] and
//! those of a line and of pins allocate. To decode the
//! bytes of a source, use `tracewright-etm`. Captures of a single, unformatted source do not need this crate.
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
mod line;
mod lost;
mod offset_map;
mod partial;
mod pib;
mod run;
mod sink;

pub use deframer::{Deframer, Format};
pub use demux::{Break, Demux, Stream};
pub use dstream::DstreamBlocks;
pub use framer::{Framer, Options, ReservedId};
pub use line::{BitLength, Line, LineDecoder, LineEncoder, LineEvent};
pub use lost::{Lost, LostReason};
pub use offset_map::OffsetMap;
pub use pib::{PibDecoder, PibEncoder, Pins};
pub use run::Run;
pub use sink::FrameSink;
