//! RISC-V: lines by hand for what the specifications say in words ([`class`], [`reserved`]), and two disassemblers
//! that we did not write ([`objdump`], [`capstone`]). What differs is in DIFFERENCES.md, and nothing else may.

mod capstone;
mod class;
mod differences;
mod objdump;
mod reserved;
mod words;
