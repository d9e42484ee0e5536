use crate::{Class, Isa};

/// A run of instructions that were executed one after another.
///
/// A block ends at every instruction that can change the flow of execution, taken or not, and at the instructions
/// that trace units mark for other reasons ([`Class::ends_block`]). The same execution therefore gives the same
/// blocks in every decoder. An event from outside, such as an exception, ends a block early.
///
/// The element that follows a block says where execution went: the start of the next block, the return address of an
/// exception, or nothing where trace is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// Address of the first instruction.
    pub start: u64,
    /// Address after the last instruction.
    pub end: u64,
    /// Number of instructions.
    pub count: u32,
    /// Instruction set of the block.
    pub isa: Isa,
    /// Length of the last instruction in bytes.
    pub last_len: u8,
    /// Effect that the last instruction can have on the flow of execution.
    pub class: Class,
    /// Reason why the block ended.
    pub ended: Ended,
}

/// The reason why a block ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ended {
    /// The last instruction is a branch, and it was taken.
    Taken,
    /// The last instruction is a branch, and it was not taken.
    NotTaken,
    /// The last instruction ends blocks but does not branch: a barrier, a wait.
    Through,
    /// An event from outside ended the block after its last instruction: an exception, a debugger, the end of the
    /// trace or the end of the known code.
    Cut,
}

impl Block {
    /// Returns the address of the last instruction.
    #[inline]
    pub const fn last(&self) -> u64 {
        self.end.wrapping_sub(self.last_len as u64)
    }
}
