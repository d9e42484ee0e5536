//! RISC-V: hand-written lines for what the specifications say in words ([`class`], [`reserved`]), and two independent
//! disassemblers ([`objdump`], [`capstone`]). Only the differences in DIFFERENCES.md are allowed.

mod capstone;
mod class;
mod differences;
mod objdump;
mod reserved;
mod words;
mod zcm;
