//! What a trace encoder sees of a hart: the ingress port.
//!
//! An [`Entry`] is what it sees of a block. [`Connector`] makes them of the instructions that a hart commits, [`Executed`] of
//! executed blocks, [`csv`] of text.

mod connector;
pub mod csv;
mod executed;
mod itype;
#[cfg(test)]
mod tests;

use tracewright_isa::riscv::IType;

pub use connector::{Commit, Common, Connector, MAX_PORTS, TrapSignals};
pub use executed::Executed;
pub use itype::{ITypeWidth, Operation};

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

/// An entry without a trap, under the circumstances of the one before: what nearly all are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// As [`Entry::itype`].
    pub itype: IType,
    /// As [`Entry::iaddr`].
    pub iaddr: u64,
    /// As [`Entry::iretire`]; not 0.
    pub iretire: u32,
    /// As [`Entry::ilastsize`].
    pub ilastsize: u8,
    /// As [`Entry::sijump`].
    pub sijump: bool,
    /// As [`Entry::time`].
    pub time: u64,
    /// As [`Entry::cycle`].
    pub cycle: u64,
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

impl Step {
    /// Address of the last instruction.
    #[inline]
    pub const fn last(&self) -> u64 {
        self.end().wrapping_sub(2 << (self.ilastsize & 3))
    }

    /// Address after the last instruction.
    #[inline]
    pub const fn end(&self) -> u64 {
        self.iaddr.wrapping_add(2 * self.iretire as u64)
    }

    /// Whether one instruction retired.
    #[inline]
    pub const fn is_single(&self) -> bool {
        self.iretire == 1 << (self.ilastsize & 3)
    }
}

impl CType {
    /// That with this number.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Unreported),
            1 => Some(Self::Imprecise),
            2 => Some(Self::Precise),
            3 => Some(Self::Discontinuity),
            _ => None,
        }
    }
}

impl Entry {
    /// Nothing retired, nothing happened.
    pub const NOTHING: Self = Self {
        itype: IType::None,
        cause: 0,
        tval: 0,
        privilege: 0,
        iaddr: 0,
        context: 0,
        ctype: CType::Unreported,
        time: 0,
        iretire: 0,
        ilastsize: 0,
        sijump: false,
        cycle: 0,
        notify: false,
    };

    /// Address of the last instruction.
    #[inline]
    pub const fn last(&self) -> u64 {
        self.end().wrapping_sub(2 << (self.ilastsize & 3))
    }

    /// Address after the last instruction.
    #[inline]
    pub const fn end(&self) -> u64 {
        self.iaddr.wrapping_add(2 * self.iretire as u64)
    }

    /// Whether one instruction retired.
    #[inline]
    pub const fn is_single(&self) -> bool {
        self.iretire == 1 << (self.ilastsize & 3)
    }

    /// Whether it is a trap, perhaps after instructions.
    #[inline]
    pub const fn is_trap(&self) -> bool {
        matches!(self.itype, IType::Exception | IType::Interrupt)
    }

    /// Whether the last instruction is a branch, and was taken.
    #[inline]
    pub const fn taken(&self) -> Option<bool> {
        match self.itype {
            IType::TakenBranch => Some(true),
            IType::NotTakenBranch => Some(false),
            _ => None,
        }
    }
}
