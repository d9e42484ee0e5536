//! RISC-V: RV32 and RV64, IMAFDC with Zicsr, Zifencei, Zba, Zbb and Zbs; the privileged instructions.

mod access;
mod op;

pub use access::AccessKind;
pub use op::{Instruction, Op, Xlen};
