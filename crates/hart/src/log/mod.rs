//! Logs of executions: those of other simulators, and our own format.
//!
//! Readers of other simulators' logs return one [`Retired`](crate::Retired) at a time. [`Blocks`](crate::Blocks) converts these
//! to the same stream that our machines emit. All readers accept any text, line by line, in bounded memory.
//!
//! | reader | reads |
//! |---|---|
//! | [`spike::Reader`] | Spike's `-l` and `--log-commits` |
//! | [`rvfi::Reader`] | CVA6's tracers, and others in the style of its RVFI tracer |
//! | [`csv::Reader`] | the retirement traces in CSV of the E-Trace reference models |
//!  [`qemu::Reader`] | QEMU's `-d exec`, with the instructions from the program |
//!
//! [`detect`] guesses the kind of a log.

mod commit;
pub mod csv;
mod detect;
mod error;
mod lines;
pub mod own;
pub mod qemu;
pub mod rvfi;
pub mod spike;

pub use detect::{Kind, detect};
pub use error::LogError;
