use tracewright_isa::riscv::{IType, Instruction, Op};

/// Width of a type in bits (`itype_width`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ITypeWidth {
    /// Three bits: one type for all uninferable jumps, none for inferable ones. Returns cannot be implicit.
    Three,
    /// Four bits: separate types for calls, returns and other jumps.
    #[default]
    Four,
}

impl ITypeWidth {
    /// Returns the type that stands for `itype` with this width.
    #[inline]
    pub const fn narrow(self, itype: IType) -> IType {
        match (self, itype) {
            (Self::Four, itype) => itype,
            (Self::Three, IType::InferableCall | IType::InferableJump | IType::OtherInferableJump) => {
                IType::None
            }
            (Self::Three, itype) if itype as u8 >= IType::UninferableJump3 as u8 => IType::UninferableJump3,
            (Self::Three, itype) => itype,
        }
    }
}

/// Kind of an instruction, as a commit stage knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Any other instruction.
    #[default]
    Other,
    /// LUI or AUIPC.
    UpperImmediate {
        /// Destination of the value.
        rd: u8,
    },
    /// Conditional branch.
    Branch {
        /// Whether the branch was taken.
        taken: bool,
    },
    /// JAL.
    Jal {
        /// Destination of the link address.
        rd: u8,
    },
    /// JALR.
    Jalr {
        /// Destination of the link address.
        rd: u8,
        /// Register with the target address.
        rs1: u8,
    },
    /// MRET, SRET.
    TrapReturn,
}

impl Operation {
    /// Returns the operation of an instruction; `taken` matters for branches only.
    pub const fn of(instruction: &Instruction, taken: bool) -> Self {
        let (rd, rs1) = (instruction.rd, instruction.rs1);
        match instruction.op {
            Op::Beq | Op::Bne | Op::Blt | Op::Bge | Op::Bltu | Op::Bgeu => Self::Branch { taken },
            Op::Lui | Op::Auipc => Self::UpperImmediate { rd },
            Op::Jal => Self::Jal { rd },
            Op::Jalr => Self::Jalr { rd, rs1 },
            Op::Mret | Op::Sret => Self::TrapReturn,
            _ => Self::Other,
        }
    }

    /// Returns the type with four bits, as a type detector does.
    #[inline]
    pub const fn itype(self) -> IType {
        match self {
            Self::Other | Self::UpperImmediate { .. } => IType::None,
            Self::Branch { taken: true } => IType::TakenBranch,
            Self::Branch { taken: false } => IType::NotTakenBranch,
            Self::TrapReturn => IType::TrapReturn,
            Self::Jal { rd: 1 | 5 } | Self::Jalr { rd: 1 | 5, rs1: 0 } => IType::InferableCall,
            Self::Jal { rd: 0 } | Self::Jalr { rd: 0, rs1: 0 } => IType::InferableJump,
            Self::Jal { .. } | Self::Jalr { rs1: 0, .. } => IType::OtherInferableJump,
            Self::Jalr { rd: 1, rs1: 5 } | Self::Jalr { rd: 5, rs1: 1 } => IType::CoRoutineSwap,
            Self::Jalr { rd: 1 | 5, .. } => IType::UninferableCall,
            Self::Jalr { rs1: 1 | 5, .. } => IType::Return,
            Self::Jalr { rd: 0, .. } => IType::UninferableJump,
            Self::Jalr { .. } => IType::OtherUninferableJump,
        }
    }

    /// Returns whether the instruction before gives the target of this one.
    #[inline]
    pub const fn is_sequentially_inferable(self, before: Self) -> bool {
        match (before, self) {
            (Self::UpperImmediate { rd }, Self::Jalr { rs1, .. }) => rd == rs1 && rd != 0,
            _ => false,
        }
    }
}
