//! Ingress port: the input of a trace encoder.
//!
//! An [`Entry`] describes a block. [`Connector`] makes entries from the instructions that a hart commits,
//! [`Executed`] from executed blocks, [`csv`] from text.

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

/// Group of the interface: instructions that retired one after another, and how they ended.
/// [`itype`](Self::itype) is the type of the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Type of the last instruction, or of the trap that came after it or in its place.
    pub itype: IType,
    /// Cause of the trap, if there is one.
    pub cause: u64,
    /// Trap value.
    pub tval: u64,
    /// Privilege of all instructions.
    pub privilege: u8,
    /// Address of the first instruction; for a trap without instructions, where it was taken.
    pub iaddr: u64,
    /// Context.
    pub context: u64,
    /// Way to report a change of context.
    pub ctype: CType,
    /// Time.
    pub time: u64,
    /// Number of retired half-words; 0 if no instruction retired.
    pub iretire: u32,
    /// Size of the last instruction in half-words, as an exponent of two.
    pub ilastsize: u8,
    /// Whether the last instruction is a jump whose target the instruction before it gives.
    pub sijump: bool,
    /// Cycle.
    pub cycle: u64,
    /// Whether a notification is requested.
    pub notify: bool,
}

/// Entry without a trap and with the circumstances of the entry before, which nearly all have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Type; see [`Entry::itype`].
    pub itype: IType,
    /// Address; see [`Entry::iaddr`].
    pub iaddr: u64,
    /// Number of half-words, not 0; see [`Entry::iretire`].
    pub iretire: u32,
    /// Size of the last instruction; see [`Entry::ilastsize`].
    pub ilastsize: u8,
    /// Whether the target is inferable; see [`Entry::sijump`].
    pub sijump: bool,
    /// Time; see [`Entry::time`].
    pub time: u64,
    /// Cycle; see [`Entry::cycle`].
    pub cycle: u64,
}

/// Way to report a change of context.
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

/// Adds where the instructions of a step or an entry lie.
macro_rules! extent {
    ($type:ident) => {
        impl $type {
            /// Returns the address of the last instruction.
            #[inline]
            pub const fn last(&self) -> u64 {
                self.end().wrapping_sub(2 << (self.ilastsize & 3))
            }

            /// Returns the address after the last instruction.
            #[inline]
            pub const fn end(&self) -> u64 {
                self.iaddr.wrapping_add(2 * self.iretire as u64)
            }

            /// Returns whether exactly one instruction retired.
            #[inline]
            pub const fn is_single(&self) -> bool {
                self.iretire == 1 << (self.ilastsize & 3)
            }
        }
    };
}

extent!(Step);
extent!(Entry);

impl CType {
    /// Returns the context type with this encoding.
    pub fn from_number(number: u8) -> Option<Self> {
        let all = [Self::Unreported, Self::Imprecise, Self::Precise, Self::Discontinuity];
        all.get(usize::from(number)).copied()
    }
}

impl Entry {
    /// Empty entry: nothing retired, nothing happened.
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

    /// Returns whether the entry has a trap, perhaps after instructions.
    #[inline]
    pub const fn is_trap(&self) -> bool {
        matches!(self.itype, IType::Exception | IType::Interrupt)
    }

    /// Returns whether the last instruction was taken, if it is a branch.
    #[inline]
    pub const fn taken(&self) -> Option<bool> {
        match self.itype {
            IType::TakenBranch => Some(true),
            IType::NotTakenBranch => Some(false),
            _ => None,
        }
    }
}
