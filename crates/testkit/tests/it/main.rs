//! Integration tests, in one binary so that they are linked once.

mod debian_script;
mod program;
mod qemu;
mod riscv;
mod walk;
