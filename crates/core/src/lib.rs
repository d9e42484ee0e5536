//! The types that all tracewright crates share.
//!
//! A decoder emits [`Element`]s, the same for every protocol. The most frequent element is a [`Block`]: a run of
//! instructions that were executed one after another. Encoders accept the same elements, so the output of any decoder
//! can feed any encoder. The [`Class`] of an instruction says what it can do to the flow of execution.
//!
//! * [`control`]: decides which instructions are traced.
//! * [`port`]: models the buffer and the port through which packets leave.
//! * [`protobuf`]: reads Protocol Buffers messages field by field.
//! * [`stream`]: parses streams of packets that can be found again at A-Syncs.
//! * [`text`]: escapes text from untrusted files before it is printed.
//!
//! ```
//! use tracewright_core::{Block, Class, Ended, Isa};
//!
//! let (start, end) = (0x1000, 0x100c);
//! let block = Block { start, end, count: 3, isa: Isa::A64, last_len: 4, class: Class::NEXT, ended: Ended::Cut };
//! assert_eq!(block.last(), 0x1008);
//! ```
//!
//! This crate is `no_std`, does not allocate, and has neither features nor dependencies. It decodes nothing: use
//! `tracewright-etm` or `tracewright-etrace` for packets, `tracewright-isa` to classify instructions, and
//! `tracewright` to open captures.
#![no_std]

mod block;
mod context;
pub mod control;
mod crc32;
mod data;
mod element;
mod isa;
mod message;
pub mod port;
pub mod protobuf;
mod space;
mod stamp;
pub mod stream;
pub mod text;
mod trace_id;

pub use block::{Block, Ended};
pub use context::{Context, Security};
pub use crc32::Crc32;
pub use data::{AtomicOp, CsrOp, DataAccess, DataKind};
pub use element::{Contradiction, Element, Exception, GapReason, Mismatch, TraceOn, Transaction};
pub use isa::{Class, Flow, Isa, Role};
pub use message::{Delay, ExceptionChange, Message, Report, Reported, Sample, Watched, Write};
pub use space::MemorySpace;
pub use stamp::Stamp;
pub use trace_id::TraceId;
