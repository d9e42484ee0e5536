//! Integration tests, linked as one program.

mod binutils;
mod captures;
mod elf;
mod limits;
mod processes;
mod regions;
mod relocations;
mod support;
mod symbols;
