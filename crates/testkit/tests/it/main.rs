//! The tests of this crate that use it as others do: one program, so that it is linked once.

mod debian_script;
mod program;
mod qemu;
mod riscv;
mod walk;
