use tracewright_isa::riscv::{IType, Instruction, Op};

/// How many bits a type has (`itype_width`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ITypeWidth {
    /// All uninferable jumps have one type, inferable ones none. Returns cannot be implicit.
    Three,
    /// Calls, returns and other jumps are told apart.
    #[default]
    Four,
}

impl ITypeWidth {
    /// A type as it is with this width.
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

/// What a commit stage knows of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Operation {
    /// None of the others.
    #[default]
    Other,
    /// LUI or AUIPC.
    UpperImmediate {
        /// Where the value goes.
        rd: u8,
    },
    /// A conditional branch.
    Branch {
        /// Whether it was taken.
        taken: bool,
    },
    /// JAL.
    Jal {
        /// Where the link goes.
        rd: u8,
    },
    /// JALR.
    Jalr {
        /// Where the link goes.
        rd: u8,
        /// Where the address is from.
        rs1: u8,
    },
    /// MRET, SRET.
    TrapReturn,
}

impl Operation {
    /// That of an instruction; `taken` is asked of branches only.
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

    /// The type detector: the type with four bits.
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

    /// Whether its target is told together with the instruction before it.
    #[inline]
    pub const fn is_sequentially_inferable(self, before: Self) -> bool {
        match (before, self) {
            (Self::UpperImmediate { rd }, Self::Jalr { rs1, .. }) => rd == rs1 && rd != 0,
            _ => false,
        }
    }
}
