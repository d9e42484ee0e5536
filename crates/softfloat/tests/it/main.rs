//! The integration tests of this crate, in one binary so that it is linked once.

mod operands;
mod operations;
mod qemu;
mod spec;
mod twins;
