//! What the tests of all crates share: a deterministic random source, generators of valid traces, where the shared
//! captures are, and programs to run under QEMU.

pub mod broadcast;
mod captures;
pub mod control;
pub mod debian;
pub mod etm;
pub mod etrace;
pub mod hostile;
pub mod lister;
pub mod perf;
pub mod program;
pub mod qemu;
pub mod riscv;
mod rng;
mod run;
mod scratch;
mod traced;

pub use captures::{captures, captures_for, has_programs, skip, unpacked};
pub use rng::Rng;
pub use run::{Reader, Run};
pub use scratch::Scratch;
pub use traced::{traced, without_repeated_contexts};
