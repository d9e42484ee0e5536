//! What a trace encoder sees of a hart: the ingress port.

use tracewright_isa::riscv::IType;

/// Instructions that retired one after another, and how they ended: a group of the interface. The last one's type is
/// [`itype`](Self::itype).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The type of the last instruction, or of the trap that came after it or in its place.
    pub itype: IType,
    /// Cause of the trap, if there is one.
    pub cause: u64,
    /// Its value.
    pub tval: u64,
    /// The privilege of all of them.
    pub privilege: u8,
    /// Address of the first; of a trap without any, where it was taken.
    pub iaddr: u64,
    /// The context.
    pub context: u64,
    /// How a change of context is to be reported.
    pub ctype: CType,
    /// The time.
    pub time: u64,
    /// How many half-words retired; 0: none.
    pub iretire: u32,
    /// The last instruction has two to the power of this half-words.
    pub ilastsize: u8,
    /// Whether the last one is a jump whose address the instruction before it tells.
    pub sijump: bool,
    /// The cycle.
    pub cycle: u64,
    /// Whether a notification is asked for.
    pub notify: bool,
}

/// How a change of context is to be reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum CType {
    /// Not at all.
    #[default]
    Unreported = 0,
    /// When convenient.
    Imprecise = 1,
    /// Like a change of privilege.
    Precise = 2,
    /// Like an exception: the last instruction before and the first one after.
    Discontinuity = 3,
}

impl Entry {
    /// Address of the last instruction.
    #[inline]
    pub const fn last(&self) -> u64 {
        self.iaddr.wrapping_add(2 * self.iretire as u64).wrapping_sub(2 << self.ilastsize)
    }
}
