//! Decoding of Arm and RISC-V instructions, as far as a trace decoder needs it.
//!
//! Bytes of code and their address go in. An [`Instruction`] comes out: its length, its [`Class`] (what it can do to
//! the flow of execution), and the target of a direct branch. For Arm that is all: operands and text are not decoded.
//! [`riscv`] decodes both.
//!
//! The instruction sets are A64, A32 and T32 of Armv7 to Armv9 (A, R and M profile), and RV32 and RV64 of RISC-V.
//! Instructions are little-endian in all of them (BE-8 included).
//!
//! ```
//! use tracewright_core::{Flow, Isa, Role};
//! use tracewright_isa::{ItState, decode};
//!
//! // bl . - 8
//! let bl = decode(Isa::A64, 0x1000, &[0xfe, 0xff, 0xff, 0x97], &mut ItState::default()).unwrap();
//! assert_eq!((bl.len, bl.class.flow, bl.class.role, bl.target), (4, Flow::Direct, Role::Call, 0xff8));
//!
//! // it eq; bx lr: instructions in an IT block are conditional
//! let mut it = ItState::default();
//! decode(Isa::T32, 0x1000, &[0x08, 0xbf], &mut it).unwrap();
//! let bx = decode(Isa::T32, 0x1002, &[0x70, 0x47], &mut it).unwrap();
//! assert_eq!((bx.class.flow, bx.class.role, bx.class.conditional), (Flow::Indirect, Role::Return, true));
//! ```
//!
//! * [`a64`], [`a32`], [`t32`]: decode one Arm instruction set each.
//! * [`riscv`]: decodes RISC-V instructions with their operands and text.
//!
//! This crate is `no_std`, does not allocate, and has no features. To follow a program from block to block, use
//! `tracewright-flow`.
//!
//! # Classification of Arm instructions
//!
//! For RISC-V see [`riscv::Instruction::class`].
//!
//! * All bits decode. An instruction that is in no table goes to the next one. That includes instructions that raise
//!   exceptions (SVC, BRK, UDF, ...), since a trace reports the exception itself.
//! * Bits that "should be" zero or one are ignored. Encodings that branch only if they use a register that the
//!   architecture forbids there (`MOVW PC`, `LDRT PC`, ...) are not branches.
//! * [`Role::Call`] is any branch that writes the link register.
//! * [`Role::Return`] is RET and its variants in A64. AArch32 has no return instruction, so the instructions that
//!   programs return with count: `BX LR`, `MOV PC, LR`, a pop into PC, and `BXAUT` with LR (Armv8.1-M).
//! * [`Role::ExceptionReturn`] is ERET and its variants, and TEXIT. In AArch32 it is every instruction that restores
//!   the state saved by an exception: also RFE, `LDM ... ^` with PC, and data processing that sets the flags with PC
//!   as its destination (`SUBS PC, LR, #4`). M profile returns from exceptions by a branch to a magic address, which
//!   the instruction does not show.
//! * [`Class::conditional`] depends only on the encoding and on IT blocks, whatever the flow: `ADDEQ` is conditional,
//!   and so is `B.AL`. `LE` without LR repeats for ever, so it is not.
//! * The architecture version does not matter: no two versions give the same bits to different branches. Where
//!   Armv8.1-M gave a meaning to bits that are UNPREDICTABLE elsewhere, that meaning is used (`CLRM`, `BXAUT`).
//! * Branch Future (BF and its variants, Armv8.1-M) goes to the next instruction: it is a hint that cores may ignore.
//!
//! [`Role::Call`]: tracewright_core::Role::Call
//! [`Role::Return`]: tracewright_core::Role::Return
//! [`Role::ExceptionReturn`]: tracewright_core::Role::ExceptionReturn
//!
//! # Files
//!
//! * `a64`, `a32`, `t32`: a table each, in spec order; `table`: rows and their index; `it`: IT blocks; `memory`: which
//!   instructions may access it.
//! * `riscv`: `op`, `decode`, `compressed`, `class` (flow, E-Trace's types, memory), `text`, `csr`, `cause`.
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

/// A decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// Length in bytes: 2 or 4.
    pub len: u8,
    /// Effect that the instruction can have on the flow of execution.
    pub class: Class,
    /// Address of a direct branch's target: valid if `class.flow` is
    /// [`Flow::Direct`](tracewright_core::Flow::Direct), otherwise 0.
    pub target: u64,
    /// Instruction set at the target, otherwise that of the instruction.
    pub target_isa: Isa,
}

/// Decodes the instruction at `address` whose bytes begin at `bytes[0]`. Returns `None` if there are too few bytes.
///
/// `it` is the state of T32's IT block before the instruction. It is advanced over the instruction. Other instruction
/// sets ignore it.
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

/// Returns whether the instruction whose bytes begin at `bytes[0]` is undefined, so that no core retires it: permanently, or in a part of the
/// encoding that no version of the architecture has given a meaning. All other words count as instructions, also those that are in no
/// table here. Returns `false` if there are too few bytes.
///
/// ```
/// use tracewright_core::Isa;
/// use tracewright_isa::is_undefined;
///
/// assert!(is_undefined(Isa::A64, &[0; 4]) && is_undefined(Isa::Rv64, &[0; 2]));
/// assert!(!is_undefined(Isa::A32, &[0; 4]) && !is_undefined(Isa::T32, &[0; 2]));
/// ```
#[inline]
pub fn is_undefined(isa: Isa, bytes: &[u8]) -> bool {
    let word = || bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    let first = || bytes.first_chunk().map(|bytes| u16::from_le_bytes(*bytes));
    match isa {
        Isa::A64 => word().is_some_and(a64::is_undefined),
        Isa::A32 => word().is_some_and(a32::is_undefined),
        Isa::T32 => first().is_some_and(|first| match t32::len(first) {
            2 => t32::is_undefined(u32::from(first) << 16),
            _ => word().is_some_and(|word| t32::is_undefined(word.rotate_left(16))),
        }),
        Isa::Rv32 => first().is_some_and(|first| riscv::is_undefined(riscv::Xlen::Rv32, first)),
        Isa::Rv64 => first().is_some_and(|first| riscv::is_undefined(riscv::Xlen::Rv64, first)),
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
