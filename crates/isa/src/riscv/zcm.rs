//! Zcmp and Zcmt: pushes, pops and jumps through a table, in 16 bits.
//!
//! Their encodings are those of C.FSDSP, so a core has either these or compressed stores of doubles. The code does not tell which; the
//! attributes of a program do.

use core::fmt;

use tracewright_core::{Class, Flow, Role};

use super::class::IType;
use super::{Register, Xlen};

/// An instruction of Zcmp or Zcmt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Zcm {
    /// CM.PUSH: stores registers below the stack pointer, and moves it down.
    Push(Frame),
    /// CM.POP: loads registers, and moves the stack pointer up.
    Pop(Frame),
    /// CM.POPRET: the same, and returns.
    PopRet(Frame),
    /// CM.POPRETZ: the same, and returns 0.
    PopRetZ(Frame),
    /// CM.MVA01S: moves two saved registers into a0 and a1.
    MoveToArguments(u8, u8),
    /// CM.MVSA01: moves a0 and a1 into two saved registers.
    MoveFromArguments(u8, u8),
    /// CM.JT: jumps to the address in an entry of the table.
    Jump(u8),
    /// CM.JALT: calls the address in an entry of the table.
    Call(u8),
}

/// Registers that are pushed or popped, and the room for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Number of saved registers besides ra: s0 and up.
    pub saved: u8,
    /// Number of bytes by which the stack pointer moves.
    pub bytes: u16,
}

/// First entry of the table that is a call.
const FIRST_CALL: u8 = 32;

impl Zcm {
    /// Decodes an instruction of Zcmp or Zcmt. Returns `None` for all others.
    #[inline]
    pub const fn decode(xlen: Xlen, bits: u16) -> Option<Self> {
        if bits & 0xe003 != 0xa002 {
            return None;
        }
        Some(match bits >> 8 & 0x1f {
            0x18 | 0x1a | 0x1c | 0x1e => {
                let Some(frame) = Frame::decode(xlen, bits) else { return None };
                match bits >> 9 & 3 {
                    0 => Self::Push(frame),
                    1 => Self::Pop(frame),
                    2 => Self::PopRetZ(frame),
                    _ => Self::PopRet(frame),
                }
            }
            _ => match (bits >> 10 & 7, bits >> 5 & 3) {
                (0, _) => {
                    let index = (bits >> 2) as u8;
                    if index < FIRST_CALL { Self::Jump(index) } else { Self::Call(index) }
                }
                // The two registers differ.
                (3, 1) if bits >> 7 & 7 != bits >> 2 & 7 => {
                    Self::MoveFromArguments(saved_register(bits >> 7), saved_register(bits >> 2))
                }
                (3, 3) => Self::MoveToArguments(saved_register(bits >> 7), saved_register(bits >> 2)),
                _ => return None,
            },
        })
    }

    /// Returns what the instruction can do to the flow of execution. The target of a jump or call is in the table.
    pub const fn class(self) -> Class {
        let (flow, role) = match self {
            Self::Jump(_) => (Flow::Direct, Role::Jump),
            Self::Call(_) => (Flow::Direct, Role::Call),
            Self::PopRet(_) | Self::PopRetZ(_) => (Flow::Indirect, Role::Return),
            _ => return Class::NEXT,
        };
        Class { flow, role, conditional: false }
    }

    /// Returns the E-Trace type. Jumps through the table are inferable: the table does not change.
    pub const fn itype(self) -> IType {
        match self {
            Self::Jump(_) => IType::InferableJump,
            Self::Call(_) => IType::InferableCall,
            Self::PopRet(_) | Self::PopRetZ(_) => IType::Return,
            _ => IType::None,
        }
    }

    /// Returns the address of the entry that a jump or call uses. `jvt` is the register with the address of the table.
    pub const fn entry(self, xlen: Xlen, jvt: u64) -> Option<u64> {
        let (Self::Jump(index) | Self::Call(index)) = self else { return None };
        let size = if matches!(xlen, Xlen::Rv32) { 4 } else { 8 };
        // The low bits are the mode.
        Some((jvt & !0x3f).wrapping_add(index as u64 * size))
    }
}

/// Returns the number of s0 to s7 from three bits.
const fn saved_register(bits: u16) -> u8 {
    let number = bits as u8 & 7;
    if number < 2 { 8 + number } else { 16 + number }
}

impl Frame {
    const fn decode(xlen: Xlen, bits: u16) -> Option<Self> {
        let list = (bits >> 4 & 15) as u8;
        if list < 4 {
            return None;
        }
        // The last list has s10, too, which none has alone.
        let saved = if list == 15 { 12 } else { list - 4 };
        let size = if matches!(xlen, Xlen::Rv32) { 4 } else { 8 };
        let registers = (saved as u16 + 1) * size;
        Some(Self { saved, bytes: registers.next_multiple_of(16) + (bits >> 2 & 3) * 16 })
    }
}

/// Writes the instruction in the syntax of LLVM: `cm.push {ra, s0-s1}, -16`.
impl fmt::Display for Zcm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Push(frame) => write!(f, "cm.push {frame}, -{}", frame.bytes),
            Self::Pop(frame) => write!(f, "cm.pop {frame}, {}", frame.bytes),
            Self::PopRet(frame) => write!(f, "cm.popret {frame}, {}", frame.bytes),
            Self::PopRetZ(frame) => write!(f, "cm.popretz {frame}, {}", frame.bytes),
            Self::MoveToArguments(first, second) => {
                write!(f, "cm.mva01s {}, {}", Register::X(first), Register::X(second))
            }
            Self::MoveFromArguments(first, second) => {
                write!(f, "cm.mvsa01 {}, {}", Register::X(first), Register::X(second))
            }
            Self::Jump(index) => write!(f, "cm.jt {index}"),
            Self::Call(index) => write!(f, "cm.jalt {index}"),
        }
    }
}

/// Writes the registers: `{ra, s0-s3}`.
impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.saved {
            0 => f.write_str("{ra}"),
            1 => f.write_str("{ra, s0}"),
            saved => write!(f, "{{ra, s0-s{}}}", saved - 1),
        }
    }
}
