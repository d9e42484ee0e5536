//! Retirement-delta trace: the cycle in which each instruction retired.
//!
//! The format follows UltraSoC's "Every Cycle Counts" (2019): it stores what a hart retires in each cycle as groups
//! of counts. An [`Encoder`] accepts the cycles of retired instructions and emits packets. A [`Decoder`] accepts
//! their bytes in chunks of any size, and emits [`Run`]s (exact), [`Span`]s (totals, if the format does not keep the
//! places), syncs and losses. [`Cycles`] assigns a cycle to each instruction of an instruction trace of the same run.
//!
//! `README.md` explains the choices that the slides leave open, and `FORMAT.md` the bytes.
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
//!
//! This crate needs `std` and has no features. It has no control flow: combine it with an instruction trace, such as
//! E-Trace (`tracewright-etrace`). Cycle counts that are part of ETM packets are decoded by `tracewright-etm`.

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
pub use item::{DeltaSink, Item, Lost, Off, Run, Span, Why};
pub use packet::{AROUND, Kind, LONGEST, Packet, Read, Sync, overflow};
pub use port::AtPort;
pub use tracewright_core::Stamp;
