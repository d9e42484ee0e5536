//! The retirement log back into what ran: blocks, traps and accesses, thread by thread, for any [`hart::Sink`](tracewright_hart::Sink).
//!
//! [`Log`] reads a file. While a log is written, whoever gets its chunks gives them to [`Definitions`] and to a [`Thread`] each.
//!
//! # What is told
//!
//! * Blocks follow the law of [`Block`](tracewright_core::Block), whatever QEMU made of the code: translations that it cut for its own reasons
//!   are joined, and a translation with a barrier in it is several blocks.
//! * Where execution did not go where the last instruction led, the program handled a signal: a [`Trap`](tracewright_hart::Trap) that
//!   is an interrupt. After an indirect branch, and after a conditional one, nobody knows where execution would have gone on: no trap is
//!   told but [`lost`](tracewright_hart::Sink::lost). A conditional branch is [`Cut`](tracewright_core::Ended::Cut) there.
//! * A conditional branch whose target is the next instruction counts as not taken.
//! * A conditional system call (A32, T32) after which the next instruction runs counts as one that was not made.
//! * Causes of traps have the numbers of the processor's trace protocol: mcause for RISC-V, exception types of ETMv4 for Arm. Their values are
//!   not known and 0.
//! * At the very end of a log that was cut ([`Thread::off`] is `None`), the last translation is left out: it began, and nobody knows
//!   how far it came.
//!
//! If the log has addresses without values (`Header::has_values`), values of accesses are 0.

mod code;
mod damage;
mod definitions;
mod log;
mod node;
mod settle;
mod thread;
mod trapping;

pub use self::damage::{Damage, DamageKind, Error};
pub use self::definitions::{Definitions, Map, ThreadId, Translation};
pub use self::log::{Log, Totals};
pub use self::thread::Thread;
