//! The tests of this crate that use it as others do: one program, so that it is linked once.

mod binutils;
mod captures;
mod elf;
mod limits;
mod processes;
mod regions;
mod relocations;
mod support;
mod symbols;
