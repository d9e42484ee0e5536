//! The tests of this crate that use it as others do: one program, so that it is linked once.

mod riscv;
mod walker;
