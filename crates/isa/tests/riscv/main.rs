//! RISC-V: lines by hand for what the specifications say in words, and two disassemblers that we did not write.

mod class;
mod reserved;
