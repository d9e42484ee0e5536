//! Integration tests, linked as one program.

mod binutils;
mod block_map;
mod captures;
mod elf;
mod limits;
mod processes;
mod regions;
mod relocations;
mod support;
mod symbols;
