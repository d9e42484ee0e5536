//! RISC-V: RV32 and RV64, IMAFDC with Zicsr, Zifencei, Zba, Zbb and Zbs; the privileged instructions.
//!
//! ```
//! use tracewright_isa::riscv::{IType, Op, Xlen, decode};
//!
//! // c.jr ra
//! let ret = decode(Xlen::Rv64, 0x8082);
//! assert_eq!((ret.op, ret.len, ret.rs1, ret.itype(true)), (Op::Jalr, 2, 1, IType::Return));
//! assert_eq!(ret.text(0x1000).to_string(), "ret");
//! ```
//!
//! [`Zcm`] has the instructions of Zcmp and Zcmt, whose encodings other cores use for C.FSDSP.
//!
//! Decoding is strict. Reserved encodings, those of other extensions, and those of the other XLEN are
//! [`Op::Illegal`]. A HINT is the instruction it is encoded as, with destination x0.

pub mod cause;
mod class;
mod compressed;
mod csr;
mod decode;
mod op;
mod privilege;
mod text;
mod zcm;

pub use class::{AccessKind, IType, sequentially_inferable};
pub use decode::{decode, is_undefined, len};
pub use op::{Instruction, Op, Xlen};
pub use privilege::privilege_name;
pub use text::{Register, Text};
pub use zcm::{Frame, Zcm};
