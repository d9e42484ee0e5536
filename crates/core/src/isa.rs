use core::fmt;

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Isa {
    /// Arm, AArch64.
    A64,
    /// Arm, AArch32, 4-byte instructions.
    A32,
    /// Arm, AArch32 and all of M profile, 2- and 4-byte instructions ("Thumb").
    T32,
    /// RISC-V with 32-bit integer registers, 2- and 4-byte instructions.
    Rv32,
    /// RISC-V with 64-bit integer registers, 2- and 4-byte instructions.
    Rv64,
}

impl Isa {
    /// Whether it is one of Arm's; otherwise it is RISC-V's.
    #[inline]
    pub const fn is_arm(self) -> bool {
        matches!(self, Self::A64 | Self::A32 | Self::T32)
    }

    /// Length in bytes of its shortest instructions: 2 or 4. Where it is 4, all instructions are as long.
    #[inline]
    pub const fn shortest(self) -> u8 {
        match self {
            Self::A64 | Self::A32 => 4,
            Self::T32 | Self::Rv32 | Self::Rv64 => 2,
        }
    }
}

/// The name its architecture gives it: `A64`.
impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::A64 => "A64",
            Self::A32 => "A32",
            Self::T32 => "T32",
            Self::Rv32 => "RV32",
            Self::Rv64 => "RV64",
        })
    }
}

/// What an instruction can do to the flow of execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Class {
    /// Where it can go.
    pub flow: Flow,
    /// What programs use it for.
    pub role: Role,
    /// Whether it may also not be executed, or not branch, depending on a condition.
    pub conditional: bool,
}

/// Where execution can go from an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// To an address the instruction itself tells.
    Direct,
    /// To an address from a register or from memory.
    Indirect,
    /// To an address that it tells together with the instruction just before it in the block (RISC-V: LUI or AUIPC, then
    /// JALR). Who does not put the two together takes it for indirect.
    Pair,
    /// To the next instruction, after an instruction synchronisation barrier.
    Isb,
    /// To the next instruction, after waiting for an event or an interrupt.
    Wait,
    /// To the next instruction, in a transaction; or back here when that fails.
    TransactionStart,
}

/// What programs use a branch for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Role {
    /// To go somewhere.
    Jump,
    /// To call: the address after it is kept in a link register.
    Call,
    /// To return from a call.
    Return,
    /// To return and to call at once: a co-routine swap (RISC-V).
    Swap,
    /// To return from an exception, or from a transaction that ends there.
    ExceptionReturn,
    /// To repeat a loop (Armv8.1-M).
    LoopEnd,
}

impl Class {
    /// An instruction that just goes to the next.
    pub const NEXT: Self = Self { flow: Flow::Next, role: Role::Jump, conditional: false };

    /// Whether it is a branch: execution may go on elsewhere.
    #[inline]
    pub const fn is_branch(self) -> bool {
        matches!(self.flow, Flow::Direct | Flow::Indirect | Flow::Pair)
    }

    /// Whether a block ends with it; see [`Block`](crate::Block).
    #[inline]
    pub const fn ends_block(self) -> bool {
        !matches!(self.flow, Flow::Next)
    }
}
