//! What an instruction does to the flow, in our words and in those of E-Trace; and to memory.

use tracewright_core::{Block, Class, Ended, Flow, Role};

use super::Instruction;
use super::op::Op::*;

/// What E-Trace calls the type of an instruction (`itype`), with its four-bit numbers. Exceptions and interrupts are
/// not of an instruction, but of what happens there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum IType {
    /// None of the others.
    None = 0,
    /// An exception; traps after the instruction, or instead of it.
    Exception = 1,
    /// An interrupt.
    Interrupt = 2,
    /// Exception or interrupt return.
    TrapReturn = 3,
    /// Branch that was not taken.
    NotTakenBranch = 4,
    /// Branch that was taken.
    TakenBranch = 5,
    /// Any jump that cannot be inferred, when the type has three bits.
    UninferableJump3 = 6,
    /// Call that cannot be inferred.
    UninferableCall = 8,
    /// Call that can be inferred.
    InferableCall = 9,
    /// Jump without link that cannot be inferred.
    UninferableJump = 10,
    /// Jump without link that can be inferred.
    InferableJump = 11,
    /// Both a return and a call.
    CoRoutineSwap = 12,
    /// Return.
    Return = 13,
    /// Jump with another link that cannot be inferred.
    OtherUninferableJump = 14,
    /// Jump with another link that can be inferred.
    OtherInferableJump = 15,
}

impl IType {
    /// That of a block's last instruction. Where nobody knows whether a branch was taken, it was not. Jumps with other links
    /// than those of calls are not told apart from those without.
    #[inline]
    pub const fn of(block: &Block) -> Self {
        let class = block.class;
        match (class.flow, class.role) {
            _ if !class.is_branch() => Self::None,
            _ if class.conditional && matches!(block.ended, Ended::Taken) => Self::TakenBranch,
            _ if class.conditional => Self::NotTakenBranch,
            (Flow::Direct, Role::Call) => Self::InferableCall,
            (Flow::Direct, _) => Self::InferableJump,
            (_, Role::Call) => Self::UninferableCall,
            (_, Role::Swap) => Self::CoRoutineSwap,
            (_, Role::Return) => Self::Return,
            (_, Role::ExceptionReturn) => Self::TrapReturn,
            (_, Role::Jump | Role::LoopEnd) => Self::UninferableJump,
        }
    }

    /// That with this number; 7 is reserved.
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

/// What an instruction does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessKind {
    /// Reads it; LR too.
    Load,
    /// Writes it; SC too.
    Store,
    /// Reads and writes it at once.
    Amo,
}

/// x1 and x5: what the specification's hints for return-address stacks take for link registers.
const fn is_link(register: u8) -> bool {
    matches!(register, 1 | 5)
}

impl Instruction {
    /// What it can do to the flow.
    ///
    /// * JALR from x0 is direct, as it is inferable in E-Trace: the instruction tells the whole address.
    /// * ECALL and EBREAK just go on: a trace reports the trap. So does an instruction that is illegal. FENCE.I and
    ///   WFI end no block, since E-Trace does not tell of them.
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

    /// What it can do to the flow when `previous` ran just before it: a pair of LUI or AUIPC and JALR tells the address.
    pub const fn class_after(&self, previous: &Self) -> Class {
        let class = self.class();
        match sequentially_inferable(previous, 0, self) {
            Some(_) => Class { flow: Flow::Pair, ..class },
            None => class,
        }
    }

    /// Where it goes when it is at `address`; meaningful when the flow of its class is direct, else 0. In RV32, the
    /// lower 32 bits count.
    pub const fn target(&self, address: u64) -> u64 {
        match self.op {
            Beq | Bne | Blt | Bge | Bltu | Bgeu | Jal => address.wrapping_add(self.imm as u64),
            Jalr if self.rs1 == 0 => self.imm as u64 & !1,
            _ => 0,
        }
    }

    /// Its type in E-Trace; `taken` is whether it branched, which only conditional branches ask.
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
                (_, rs1) if is_link(rs1) => IType::Return,
                (0, _) => IType::UninferableJump,
                _ => IType::OtherUninferableJump,
            },
            Mret | Sret => IType::TrapReturn,
            _ => IType::None,
        }
    }

    /// Whether it goes somewhere that neither the instruction nor a condition tells (E-Trace: uninferable
    /// discontinuity). Traps are not asked about.
    pub const fn is_uninferable(&self) -> bool {
        matches!(self.op, Mret | Sret) || matches!(self.op, Jalr if self.rs1 != 0)
    }

    /// What it does to memory, and to how many bytes. Fences and instruction fetches are not accesses.
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

/// Where `this` jumps to when `previous` ran just before it and put the address together: LUI or AUIPC, then JALR
/// from the same register (E-Trace: sequentially inferable jump). In RV32, the lower 32 bits count.
///
/// Nothing is asked about where `this` is: whoever calls knows that both ran back to back.
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
    // What goes to x0 is lost.
    if !matches!(this.op, Jalr) || previous.rd == 0 || previous.rd != this.rs1 {
        return None;
    }
    Some(base.wrapping_add(previous.imm as u64).wrapping_add(this.imm as u64) & !1)
}
