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
    /// Returns whether this is an instruction set of Arm. The others are of RISC-V.
    #[inline]
    pub const fn is_arm(self) -> bool {
        matches!(self, Self::A64 | Self::A32 | Self::T32)
    }

    /// Returns the length in bytes of the shortest instructions: 2 or 4. If it is 4, all instructions have this
    /// length.
    #[inline]
    pub const fn shortest(self) -> u8 {
        match self {
            Self::A64 | Self::A32 => 4,
            Self::T32 | Self::Rv32 | Self::Rv64 => 2,
        }
    }
}

/// Writes the name that the architecture uses, such as `A64`.
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

/// The effect that an instruction can have on the flow of execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Class {
    /// Places to which execution can go.
    pub flow: Flow,
    /// Purpose of the instruction in programs.
    pub role: Role,
    /// Whether the instruction may not be executed, or may not branch, depending on a condition.
    pub conditional: bool,
}

/// The places to which execution can go from an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// To an address that the instruction contains.
    Direct,
    /// To an address from a register or from memory.
    Indirect,
    /// To an address that the instruction forms with the one just before it in the block (RISC-V: LUI or AUIPC, then
    /// JALR). Decoders that do not combine the two treat it as indirect.
    Pair,
    /// To the next instruction, after an instruction synchronisation barrier.
    Isb,
    /// To the next instruction, after waiting for an event or an interrupt.
    Wait,
    /// To the next instruction, inside a transaction; or back here when the transaction fails.
    TransactionStart,
}

/// The purpose of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Role {
    /// A jump.
    Jump,
    /// A call, which keeps the address after it in a link register.
    Call,
    /// A return from a call.
    Return,
    /// A return and a call at once: a co-routine swap (RISC-V).
    Swap,
    /// A return from an exception, or from a transaction that ends there.
    ExceptionReturn,
    /// The end of a loop, which repeats the loop (Armv8.1-M).
    LoopEnd,
}

impl Class {
    /// The class of an instruction after which execution continues at the next.
    pub const NEXT: Self = Self { flow: Flow::Next, role: Role::Jump, conditional: false };

    /// Returns whether this is a branch: execution may go on elsewhere.
    #[inline]
    pub const fn is_branch(self) -> bool {
        matches!(self.flow, Flow::Direct | Flow::Indirect | Flow::Pair)
    }

    /// Returns whether a block ends with such an instruction. See [`Block`](crate::Block).
    #[inline]
    pub const fn ends_block(self) -> bool {
        !matches!(self.flow, Flow::Next)
    }
}
