//! Helpers of the tests of all crates: a deterministic random source, generators of valid and damaged input, naive twins,
//! the shared captures, and programs to run under QEMU.
//!
//! Everything random depends on the seed of an [`Rng`] only. Not for use outside of tests: helpers panic where something
//! is missing or wrong.
//!
//! ```
//! use tracewright_testkit::{Reader, Rng, Run, program};
//!
//! let mut rng = Rng::new(1);
//! let program = program::generate(&mut rng, 500);
//! let run = Run::random(&mut rng, &program, 0x10, Reader::Any);
//! assert!(!run.trace().is_empty() && !run.executed.is_empty());
//! ```
//!
//! * [`program`], [`riscv`]: random programs and their execution; [`Run`]: a random execution with its ETMv4 or ETE trace;
//!   [`traced()`]: what a perfect decoder returns of it.
//! * [`etm`], [`etrace`], [`ntrace`], [`tacit`], [`broadcast`], [`perf`]: random and hand-made packets, streams and recordings.
//! * [`check_blocks`]: what a decoder may emit; [`damage()`], [`hostile`]: damage of streams and files.
//! * [`control`]: naive trace control; [`lister`]: the output of OpenCSD's lister.
//! * [`captures()`], [`debian`], [`qemu`]: recordings and programs that tests use if they are available.
//!
//! The crate has no features.

pub mod broadcast;
mod captures;
pub mod control;
pub mod debian;
mod decoded;
pub mod etm;
pub mod etrace;
pub mod hostile;
pub mod lister;
pub mod ntrace;
pub mod perf;
pub mod program;
#[cfg(unix)]
pub mod qemu;
pub mod riscv;
mod rng;
mod run;
mod scratch;
pub mod tacit;
mod traced;

pub use captures::{captures, captures_for, has_programs, skip, unpacked, unpacked_bytes};
pub use decoded::{check_blocks, damage};
pub use rng::Rng;
pub use run::{Reader, Run};
pub use scratch::Scratch;
pub use traced::{traced, without_repeated_contexts};
