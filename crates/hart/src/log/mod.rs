//! Logs of executions: those of other simulators, and our own.
//!
//! Readers of other simulators' logs give one [`Retired`](crate::Retired) at a time, which [`Blocks`](crate::Blocks)
//! makes the same stream of that a machine of ours gives. All of them read any text line by line in bounded memory.
//!
//! | reader | reads |
//! |---|---|
//! | [`spike::Reader`] | Spike's `-l` and `--log-commits` |
//! | [`rvfi::Reader`] | CVA6's tracers, and others in the style of its RVFI tracer |
//! | [`csv::Reader`] | the retirement traces in CSV of the E-Trace reference models |
//! | [`qemu::Reader`] | QEMU's `-d exec`; the program tells the instructions |
//!
//! [`detect`] guesses which one it is.

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
