//! Decodes the retirement log: blocks, traps and accesses, thread by thread, for any [`hart::HartSink`](tracewright_hart::HartSink).
//!
//! [`Log`] reads a file. While a log is written, its receiver passes chunks to [`Definitions`] and to one [`Thread`] each.
//!
//! # What is reported
//!
//! * Blocks follow the rules of [`Block`](tracewright_core::Block), whatever QEMU translated: translations that it cut for its own
//!   reasons are joined, and a translation with a barrier in it is several blocks.
//! * If execution did not continue where the last instruction led, the program handled a signal: a
//!   [`Trap`](tracewright_hart::Trap) that is an interrupt. After an indirect or conditional branch it is not known where execution
//!   would have continued: [`lost`](tracewright_hart::HartSink::lost) is reported instead of a trap, and a conditional branch is
//!   [`Cut`](tracewright_core::Ended::Cut).
//! * A conditional branch whose target is the next instruction counts as not taken.
//! * A conditional system call (A32, T32) that is followed by the next instruction counts as not made.
//! * Causes of traps have the numbers of the processor's trace protocol: mcause for RISC-V, exception types of ETMv4 for Arm.
//!   Their values are not known, and 0.
//! * At the very end of a truncated log ([`Thread::off`] is `None`), the last translation is left out: it began, but it is not
//!   known how far it came.
//!
//! If the log has addresses without values ([`LogData`](crate::format::LogData)), values of accesses are 0.

mod code;
mod damage;
mod definitions;
mod log;
mod node;
mod settle;
mod thread;
mod trapping;

pub use self::damage::{Damage, DamageKind, Error};
pub use self::definitions::{Definitions, Map, Translation};
pub use self::log::{Chunk, Log, Totals};
pub use self::thread::Thread;
