//! What an instruction does to the flow of execution: its length, its [`Class`], and where it branches to when the
//! instruction itself says so. For Arm nothing else: no operands, no text. [`riscv`] has both.
//!
//! Instruction sets are A64, A32 and T32 of Armv7 to Armv9, A, R and M profile; RV32 and RV64 of RISC-V. Bytes are
//! little-endian, as instructions are in all of them (BE-8 included).
//!
//! ```
//! use tracewright_core::{Flow, Isa, Role};
//! use tracewright_isa::{ItState, decode};
//!
//! // bl . - 8
//! let bl = decode(Isa::A64, 0x1000, &[0xfe, 0xff, 0xff, 0x97], &mut ItState::default()).unwrap();
//! assert_eq!((bl.len, bl.class.flow, bl.class.role, bl.target), (4, Flow::Direct, Role::Call, 0xff8));
//!
//! // it eq; bx lr: what an IT block covers is conditional
//! let mut it = ItState::default();
//! decode(Isa::T32, 0x1000, &[0x08, 0xbf], &mut it).unwrap();
//! let bx = decode(Isa::T32, 0x1002, &[0x70, 0x47], &mut it).unwrap();
//! assert_eq!((bx.class.flow, bx.class.role, bx.class.conditional), (Flow::Indirect, Role::Return, true));
//! ```
//!
//! # What counts as what
//!
//! Of Arm; for RISC-V see [`riscv::Instruction::class`].
//!
//! * Any bits decode; what is not listed in a table just goes to the next instruction. That holds for exceptions too
//!   (SVC, BRK, UDF, ...): a trace reports them as such.
//! * Bits that "should be" zero or one are not looked at. Encodings that would branch only by way of a register the
//!   architecture forbids there (`MOVW PC`, `LDRT PC`, ...) are no branches.
//! * [`Role::Call`] is any branch that writes the link register.
//! * [`Role::Return`] is RET and its kin in A64. AArch32 has no such instruction, so it is what programs return with:
//!   `BX LR`, `MOV PC, LR`, a pop into PC; Armv8.1-M: `BXAUT` with LR.
//! * [`Role::ExceptionReturn`] is ERET and its kin, TEXIT; in AArch32 also RFE, `LDM ... ^` with PC, and data processing
//!   that sets the flags with PC as its destination (`SUBS PC, LR, #4`): all that restore the state saved by an
//!   exception. (M profile returns from exceptions by a branch to a magic address, which no instruction shows.)
//! * [`Class::conditional`] is a matter of the encoding and of IT blocks alone, whatever the flow: `ADDEQ` is, and
//!   `B.AL` is too. `LE` without LR repeats for ever, so it is not.
//! * The architecture version is never asked for: no two versions give the same bits to different branches. Where
//!   Armv8.1-M gave a meaning to bits that are UNPREDICTABLE elsewhere, the meaning counts (`CLRM`, `BXAUT`).
//! * Branch Future (BF and its kin, Armv8.1-M) goes to the next instruction: it is a hint that cores may ignore.
//!
//! [`Role::Call`]: tracewright_core::Role::Call
//! [`Role::Return`]: tracewright_core::Role::Return
//! [`Role::ExceptionReturn`]: tracewright_core::Role::ExceptionReturn
//!
//! # Files
//!
//! * `a64`, `a32`, `t32`: a table each, in spec order; `table`: rows and their index; `it`: IT blocks; `memory`: which
//!   instructions may access it.
//! * `riscv`: `op`, `decode`, `compressed`, `class` (flow, E-Trace's types, memory), `text`, `name`, `csr`.
#![no_std]

pub mod a32;
pub mod a64;
mod it;
mod memory;
pub mod riscv;
pub mod t32;
mod table;

use tracewright_core::{Class, Isa};

pub use it::ItState;
pub use memory::may_access;

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// Length in bytes: 2 or 4.
    pub len: u8,
    /// What it can do to the flow.
    pub class: Class,
    /// Where it branches to; meaningful when `class.flow` is [`Flow::Direct`](tracewright_core::Flow::Direct), else 0.
    pub target: u64,
    /// The instruction set there; meaningful likewise, else its own.
    pub target_isa: Isa,
}

/// The instruction at `address` whose bytes begin at `bytes[0]`; `None` when there are not enough.
///
/// `it` is the state of T32's IT block before the instruction, and is advanced over it. Other instruction sets do not
/// touch it.
#[inline]
pub fn decode(isa: Isa, address: u64, bytes: &[u8], it: &mut ItState) -> Option<Instruction> {
    match isa {
        Isa::A64 => Some(a64::decode(address, u32::from_le_bytes(*bytes.first_chunk()?))),
        Isa::A32 => Some(a32::decode(address, u32::from_le_bytes(*bytes.first_chunk()?))),
        Isa::T32 => {
            let first = u16::from_le_bytes(*bytes.first_chunk()?);
            let second = match t32::len(first) {
                2 => 0,
                _ => u16::from_le_bytes(*bytes.get(2..)?.first_chunk()?),
            };
            Some(t32::decode(address, u32::from(first) << 16 | u32::from(second), it))
        }
        Isa::Rv32 | Isa::Rv64 => riscv_decode(isa, address, bytes),
    }
}

fn riscv_decode(isa: Isa, address: u64, bytes: &[u8]) -> Option<Instruction> {
    let first = u16::from_le_bytes(*bytes.first_chunk()?);
    let bits = match riscv::len(first) {
        2 => first.into(),
        _ => u32::from_le_bytes(*bytes.first_chunk()?),
    };
    let (xlen, mask) = match isa {
        Isa::Rv32 => (riscv::Xlen::Rv32, u64::from(u32::MAX)),
        _ => (riscv::Xlen::Rv64, u64::MAX),
    };
    let found = riscv::decode(xlen, bits);
    let target = found.target(address) & mask;
    Some(Instruction { len: found.len, class: found.class(), target, target_isa: isa })
}
