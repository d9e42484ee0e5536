//! RISC-V: RV32 and RV64, IMAFDC with Zicsr, Zifencei, Zba, Zbb and Zbs; the privileged instructions.

mod op;

pub use op::{Instruction, Op, Xlen};
