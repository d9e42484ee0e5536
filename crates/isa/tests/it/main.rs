//! The integration tests of this crate, in one binary so that it is linked once.

mod oracles;
mod riscv;
mod spec;
