use crate::{Class, Isa};

/// A run of instructions that were executed one after another: the unit of work everywhere.
///
/// A block ends at every instruction that can change the flow, taken or not, and at those that trace units mark for other
/// reasons ([`Class::ends_block`]). So the same execution always gives the same blocks, whoever reports them. Something
/// from outside, an exception for example, ends a block early.
///
/// Where execution went is told by what comes next: the start of the next block, an exception's return address, or
/// nothing where trace is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// Address of the first instruction.
    pub start: u64,
    /// Address after the last instruction.
    pub end: u64,
    /// How many instructions.
    pub count: u32,
    /// Their instruction set.
    pub isa: Isa,
    /// Length of the last instruction in bytes.
    pub last_len: u8,
    /// What the last instruction can do.
    pub class: Class,
    /// Why the block ended.
    pub ended: Ended,
}

/// Why a block ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ended {
    /// The last instruction is a branch, and it was taken.
    Taken,
    /// The last instruction is a branch, and it was not taken.
    NotTaken,
    /// The last instruction ends blocks but does not branch: a barrier, a wait.
    Through,
    /// Something from outside ended it after its last instruction: an exception, a debugger, the end of the trace or
    /// of the code that is known.
    Cut,
}

impl Block {
    /// Address of the last instruction.
    #[inline]
    pub const fn last(&self) -> u64 {
        self.end.wrapping_sub(self.last_len as u64)
    }
}
