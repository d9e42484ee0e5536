//! The vocabulary every tracewright crate shares.
//!
//! A [`Block`] is a run of instructions that were executed; an [`Element`] is anything a decoder tells, blocks among
//! them. Encoders take what decoders give. [`port`] is what their packets leave through.
//!
//! # Files
//!
//! * `control`: which instructions are traced: the language (`token`, `parse`, `field`, `expression`), a plan at work
//!   (`decide`, `handlers`), contradictions (`never`). It allocates nothing.
//! * `port`: `rate` (bits a cycle), `level` (how full, exactly), `buffer` (of some size), `backlog` (the smallest that
//!   loses nothing).
//! * `protobuf`, `crc32`, `text` (foreign text made safe to print): shared by other crates.
#![no_std]

mod block;
mod context;
pub mod control;
mod crc32;
mod data;
mod element;
mod isa;
pub mod port;
pub mod protobuf;
mod space;
mod stamp;
pub mod text;
mod trace_id;

pub use block::{Block, Ended};
pub use context::{Context, Security};
pub use crc32::Crc32;
pub use data::{AtomicOp, CsrOp, DataAccess, DataKind};
pub use element::{Contradiction, Element, Exception, GapReason, Mismatch, TraceOn, Transaction};
pub use isa::{Class, Flow, Isa, Role};
pub use space::MemorySpace;
pub use stamp::Stamp;
pub use trace_id::TraceId;
