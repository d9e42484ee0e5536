//! Retirement-delta trace: in which cycle each instruction retired, and when none did.
//!
//! After UltraSoC's "Every Cycle Counts" (2019): what a hart retires in each cycle as groups of counts. [`Encoder`] takes the
//! cycles of retired instructions and gives packets; [`Decoder`] takes their bytes in pieces of any size and tells
//! [`Run`]s (exact) and [`Span`]s (totals, where the format forgets the places), syncs, and what was lost; [`Cycles`] gives
//! an instruction trace the cycle of each of its instructions.
//!
//! The reading of the slides is in `README.md`, the bytes are in `FORMAT.md`.
//!
//! ```
//! use tracewright_delta::{Config, Decoder, Encoder, Item, Packing, Run};
//!
//! let mut bytes = Vec::new();
//! let mut encoder = Encoder::new(Config::ac(), Packing::default())?;
//! // Five instructions from 0x80000000, with a stall of three cycles before the last one.
//! encoder.block(0x8000_0000, &[10, 11, 12, 13, 17], &mut bytes)?;
//! encoder.finish(&mut bytes);
//!
//! let mut items: Vec<Item> = Vec::new();
//! let mut decoder = Decoder::new();
//! decoder.feed(&bytes, &mut items);
//! decoder.finish(&mut items);
//! assert_eq!(items[1], Item::Run(Run { cycle: 10, cycles: 4, each: 1 }));
//! assert_eq!(items[2], Item::Run(Run { cycle: 17, cycles: 1, each: 1 }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bits;
mod config;
mod crc;
mod cycles;
mod decode;
mod encode;
mod group;
mod item;
mod packet;
mod pairs;
mod port;

pub use bits::{BitReader, BitWriter, elias_bits, gamma_bits};
pub use config::{Code, Config, ConfigError, DCode, Format, MAX_WIDTH};
pub use cycles::Cycles;
pub use decode::Decoder;
pub use encode::{Encoder, Out, Packing, Refused};
pub use group::{Group, NoGroup};
pub use item::{Item, Lost, Off, Run, Sink, Span, Why};
pub use packet::{AROUND, Kind, LONGEST, Packet, Read, Sync, overflow};
pub use port::AtPort;
pub use tracewright_core::Stamp;
