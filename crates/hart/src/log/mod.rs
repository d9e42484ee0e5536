//! Logs of executions: those of other simulators, and our own format.
//!
//! A [`Reader`] of another simulator's log returns one [`Retired`](crate::Retired) at a time.
//! [`Blocks`](crate::Blocks) converts these to the same stream that our machines emit. [`detect`] guesses the kind of a
//! log. Our own format is in [`own`].

mod commit;
mod csv;
mod detect;
mod error;
mod lines;
pub mod own;
mod qemu;
mod reader;
mod rvfi;
mod sequence;
mod spike;

pub use commit::UNTOLD;
pub use csv::wrong_header;
pub use detect::{Kind, detect};
pub use error::{LineProblem, LogError};
pub use reader::Reader;
pub use sequence::Follows;
