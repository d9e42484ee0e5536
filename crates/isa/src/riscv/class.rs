//! Effects of an instruction on the flow, as [`Class`] and in the terms of E-Trace, and on memory.

use tracewright_core::{Block, Class, Ended, Flow, Role};

use super::Instruction;
use super::op::Op::*;

/// The instruction type of E-Trace (`itype`), with its four-bit encoding. Exceptions and interrupts are not types of
/// instructions, but of what happens at one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum IType {
    /// No other type applies.
    None = 0,
    /// An exception: a trap after the instruction, or instead of it.
    Exception = 1,
    /// An interrupt.
    Interrupt = 2,
    /// A return from an exception or interrupt.
    TrapReturn = 3,
    /// A branch that was not taken.
    NotTakenBranch = 4,
    /// A branch that was taken.
    TakenBranch = 5,
    /// Any uninferable jump, if the type has three bits.
    UninferableJump3 = 6,
    /// An uninferable call.
    UninferableCall = 8,
    /// An inferable call.
    InferableCall = 9,
    /// An uninferable jump without link.
    UninferableJump = 10,
    /// An inferable jump without link.
    InferableJump = 11,
    /// A return and a call at once.
    CoRoutineSwap = 12,
    /// A return.
    Return = 13,
    /// An uninferable jump with another link register.
    OtherUninferableJump = 14,
    /// An inferable jump with another link register.
    OtherInferableJump = 15,
}

impl IType {
    /// Returns the type of a block's last instruction. If it is not known whether a branch was taken, it counts as
    /// not taken. Jumps with another link register than that of calls count as jumps without link.
    #[inline]
    pub const fn of(block: &Block) -> Self {
        let class = block.class;
        match (class.flow, class.role) {
            // The most frequent case comes first.
            _ if class.conditional && matches!(block.ended, Ended::Taken) => Self::TakenBranch,
            _ if class.conditional => Self::NotTakenBranch,
            _ if !class.is_branch() => Self::None,
            (Flow::Direct, Role::Call) => Self::InferableCall,
            (Flow::Direct, _) => Self::InferableJump,
            (_, Role::Call) => Self::UninferableCall,
            (_, Role::Swap) => Self::CoRoutineSwap,
            (_, Role::Return) => Self::Return,
            (_, Role::ExceptionReturn) => Self::TrapReturn,
            (_, Role::Jump | Role::LoopEnd) => Self::UninferableJump,
        }
    }

    /// Returns the type with this encoding. 7 is reserved.
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::None,
            1 => Self::Exception,
            2 => Self::Interrupt,
            3 => Self::TrapReturn,
            4 => Self::NotTakenBranch,
            5 => Self::TakenBranch,
            6 => Self::UninferableJump3,
            8 => Self::UninferableCall,
            9 => Self::InferableCall,
            10 => Self::UninferableJump,
            11 => Self::InferableJump,
            12 => Self::CoRoutineSwap,
            13 => Self::Return,
            14 => Self::OtherUninferableJump,
            15 => Self::OtherInferableJump,
            _ => return None,
        })
    }
}

/// The kind of access that an instruction makes to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessKind {
    /// A read, or LR.
    Load,
    /// A write, or SC.
    Store,
    /// An atomic read and write.
    Amo,
}

impl Instruction {
    /// Returns what the instruction can do to the flow of execution.
    ///
    /// * JALR from x0 is direct, as it is inferable in E-Trace: the instruction contains the whole address.
    /// * ECALL, EBREAK and illegal instructions go to the next instruction, since a trace reports the trap itself.
    /// * FENCE.I and WFI do not end a block, since E-Trace does not report them.
    pub const fn class(&self) -> Class {
        let (flow, role) = match self.op {
            Beq | Bne | Blt | Bge | Bltu | Bgeu => {
                return Class { flow: Flow::Direct, role: Role::Jump, conditional: true };
            }
            Jal | Jalr => (
                if self.is_uninferable() { Flow::Indirect } else { Flow::Direct },
                match self.itype(true) {
                    IType::UninferableCall | IType::InferableCall => Role::Call,
                    IType::CoRoutineSwap => Role::Swap,
                    IType::Return => Role::Return,
                    _ => Role::Jump,
                },
            ),
            Mret | Sret => (Flow::Indirect, Role::ExceptionReturn),
            _ => return Class::NEXT,
        };
        Class { flow, role, conditional: false }
    }

    /// Returns the class if `previous` ran just before. A pair of LUI or AUIPC and JALR contains the target.
    pub const fn class_after(&self, previous: &Self) -> Class {
        let class = self.class();
        match sequentially_inferable(previous, 0, self) {
            Some(_) => Class { flow: Flow::Pair, ..class },
            None => class,
        }
    }

    /// Returns the target if the instruction is at `address`. Valid if the flow of its class is direct, otherwise 0.
    /// In RV32, only the lower 32 bits are valid.
    pub const fn target(&self, address: u64) -> u64 {
        match self.op {
            Beq | Bne | Blt | Bge | Bltu | Bgeu | Jal => address.wrapping_add(self.imm as u64),
            Jalr if self.rs1 == 0 => self.imm as u64 & !1,
            _ => 0,
        }
    }

    /// Returns the E-Trace type. `taken` matters only for conditional branches. The link registers are x1 and x5, as in the
    /// specification's hints for return-address stacks.
    pub const fn itype(&self, taken: bool) -> IType {
        match self.op {
            Beq | Bne | Blt | Bge | Bltu | Bgeu if taken => IType::TakenBranch,
            Beq | Bne | Blt | Bge | Bltu | Bgeu => IType::NotTakenBranch,
            Jal => match self.rd {
                1 | 5 => IType::InferableCall,
                0 => IType::InferableJump,
                _ => IType::OtherInferableJump,
            },
            Jalr => match (self.rd, self.rs1) {
                (1 | 5, 0) => IType::InferableCall,
                (0, 0) => IType::InferableJump,
                (_, 0) => IType::OtherInferableJump,
                (1, 5) | (5, 1) => IType::CoRoutineSwap,
                (1 | 5, _) => IType::UninferableCall,
                (_, 1 | 5) => IType::Return,
                (0, _) => IType::UninferableJump,
                _ => IType::OtherUninferableJump,
            },
            Mret | Sret => IType::TrapReturn,
            _ => IType::None,
        }
    }

    /// Returns whether the target is neither in the instruction nor given by a condition (E-Trace: uninferable
    /// discontinuity). Traps do not count.
    pub const fn is_uninferable(&self) -> bool {
        matches!(self.op, Mret | Sret) || matches!(self.op, Jalr if self.rs1 != 0)
    }

    /// Returns how the instruction accesses memory, and how many bytes. Fences and instruction fetches are not
    /// accesses.
    pub const fn access(&self) -> Option<(AccessKind, u8)> {
        use AccessKind::{Amo, Load, Store};
        Some(match self.op {
            Lb | Lbu => (Load, 1),
            Lh | Lhu => (Load, 2),
            Lw | Lwu | Flw | LrW => (Load, 4),
            Ld | Fld | LrD => (Load, 8),
            Sb => (Store, 1),
            Sh => (Store, 2),
            Sw | Fsw | ScW => (Store, 4),
            Sd | Fsd | ScD => (Store, 8),
            AmoswapW | AmoaddW | AmoxorW | AmoandW | AmoorW | AmominW | AmomaxW | AmominuW | AmomaxuW => {
                (Amo, 4)
            }
            AmoswapD | AmoaddD | AmoxorD | AmoandD | AmoorD | AmominD | AmomaxD | AmominuD | AmomaxuD => {
                (Amo, 8)
            }
            _ => return None,
        })
    }
}

/// Returns the target of `this` if `previous` ran just before and formed the address: LUI or AUIPC, then JALR from
/// the same register (E-Trace: sequentially inferable jump). In RV32, only the lower 32 bits are valid.
///
/// The address of `this` is not checked: the caller knows that both ran back to back.
pub const fn sequentially_inferable(
    previous: &Instruction,
    previous_address: u64,
    this: &Instruction,
) -> Option<u64> {
    let base = match previous.op {
        Lui => 0,
        Auipc => previous_address,
        _ => return None,
    };
    // A write to x0 is lost.
    if !matches!(this.op, Jalr) || previous.rd == 0 || previous.rd != this.rs1 {
        return None;
    }
    Some(base.wrapping_add(previous.imm as u64).wrapping_add(this.imm as u64) & !1)
}
