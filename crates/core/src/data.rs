//! What instructions did to memory, and to control registers.

use core::fmt;

/// An access to memory, or to a control register (CSR).
///
/// What is not in the trace, or not known since the trace begins in the middle, is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DataAccess {
    /// What was done.
    pub kind: DataKind,
    /// To how many bytes: 1, 2, 4 or 8.
    pub size: u8,
    /// Where; the number of a CSR.
    pub address: Option<u64>,
    /// What was loaded; for a store, what was stored. Atomics and CSRs: what was found there, or what was left there if
    /// [`after`](Self::after). Not sign-extended.
    pub value: Option<u64>,
    /// What an atomic operation combined with what it found (rs2), or a CSR instruction with the register (rs1). Not
    /// sign-extended.
    pub operand: Option<u64>,
    /// Whether the value of an atomic or of a CSR is the one after the operation.
    pub after: bool,
}

/// What was done to memory, or to a control register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataKind {
    /// A load; a load-reserved too.
    Load,
    /// A store; a store-conditional that succeeded too.
    Store,
    /// Something was combined with what was found there, and that was loaded.
    Atomic(AtomicOp),
    /// A store-conditional failed: nothing was stored.
    StoreFailed,
    /// A compare-and-swap failed: nothing was stored.
    CompareFailed,
    /// A control register was read and written.
    Csr(CsrOp),
}

/// What an atomic operation makes of what it finds and its operand. Whether minimum and maximum are signed is not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AtomicOp {
    /// The operand.
    Swap,
    /// Their sum.
    Add,
    /// The bits that both have.
    And,
    /// The bits that one of them has.
    Or,
    /// The bits in which they differ.
    Xor,
    /// The greater one.
    Max,
    /// The lesser one.
    Min,
}

/// What a CSR instruction makes of what it finds and its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum CsrOp {
    /// The operand (CSRRW).
    Write,
    /// The bits of the operand are set (CSRRS).
    Set,
    /// The bits of the operand are cleared (CSRRC).
    Clear,
}

impl DataAccess {
    /// `value` with only the bits that an access of this size has.
    pub const fn truncated(&self, value: u64) -> u64 {
        if self.size >= 8 { value } else { value & ((1 << (8 * self.size)) - 1) }
    }

    /// What was stored, if that can be told: memory, or the register, may have kept other bits than those. Minimum and
    /// maximum cannot be told without the instruction.
    pub fn stored(&self) -> Option<u64> {
        use {AtomicOp as A, CsrOp as C};
        let value = match self.kind {
            DataKind::Load | DataKind::StoreFailed | DataKind::CompareFailed => return None,
            DataKind::Atomic(_) | DataKind::Csr(_) if self.after => self.value?,
            DataKind::Store => self.value?,
            DataKind::Atomic(A::Swap) | DataKind::Csr(C::Write) => self.operand?,
            DataKind::Atomic(A::Add) => self.value?.wrapping_add(self.operand?),
            DataKind::Atomic(A::And) => self.value? & self.operand?,
            DataKind::Atomic(A::Or) | DataKind::Csr(C::Set) => self.value? | self.operand?,
            DataKind::Atomic(A::Xor) => self.value? ^ self.operand?,
            DataKind::Csr(C::Clear) => self.value? & !self.operand?,
            DataKind::Atomic(A::Max | A::Min) => return None,
        };
        Some(self.truncated(value))
    }
}

impl DataKind {
    /// In a word or two.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Atomic(AtomicOp::Swap) => "atomic swap",
            Self::Atomic(AtomicOp::Add) => "atomic add",
            Self::Atomic(AtomicOp::And) => "atomic and",
            Self::Atomic(AtomicOp::Or) => "atomic or",
            Self::Atomic(AtomicOp::Xor) => "atomic xor",
            Self::Atomic(AtomicOp::Max) => "atomic max",
            Self::Atomic(AtomicOp::Min) => "atomic min",
            Self::StoreFailed => "store-conditional failed",
            Self::CompareFailed => "compare-and-swap failed",
            Self::Csr(CsrOp::Write) => "csr write",
            Self::Csr(CsrOp::Set) => "csr set",
            Self::Csr(CsrOp::Clear) => "csr clear",
        }
    }
}

/// `store 4 at 0x80001000: 0x64`. What is not known is left out.
impl fmt::Display for DataAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.name(), self.size)?;
        if let Some(address) = self.address {
            write!(f, " at {address:#x}")?;
        }
        if let Some(value) = self.value {
            write!(f, ": {value:#x}{}", if self.after { " after" } else { "" })?;
        }
        self.operand.map_or(Ok(()), |operand| write!(f, ", operand {operand:#x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(kind: DataKind, size: u8, value: u64, operand: u64, after: bool) -> Option<u64> {
        let (value, operand) = (Some(value), Some(operand));
        DataAccess { kind, size, address: None, value, operand, after }.stored()
    }

    #[test]
    fn what_was_stored() {
        use DataKind::{Atomic, Csr};
        assert_eq!(stored(DataKind::Load, 4, 1, 2, false), None);
        assert_eq!(stored(DataKind::Store, 4, 1, 2, false), Some(1));
        assert_eq!(stored(Atomic(AtomicOp::Swap), 4, 1, 2, false), Some(2));
        assert_eq!(stored(Atomic(AtomicOp::Add), 4, 0xffff_ffff, 2, false), Some(1));
        assert_eq!(stored(Atomic(AtomicOp::And), 8, 6, 3, false), Some(2));
        assert_eq!(stored(Atomic(AtomicOp::Or), 8, 6, 3, false), Some(7));
        assert_eq!(stored(Atomic(AtomicOp::Xor), 8, 6, 3, false), Some(5));
        assert_eq!(stored(Atomic(AtomicOp::Min), 8, 6, 3, false), None);
        assert_eq!(stored(Atomic(AtomicOp::Min), 8, 6, 3, true), Some(6));
        assert_eq!(stored(Csr(CsrOp::Write), 8, 6, 3, false), Some(3));
        assert_eq!(stored(Csr(CsrOp::Set), 8, 6, 3, false), Some(7));
        assert_eq!(stored(Csr(CsrOp::Clear), 4, 6, 3, false), Some(4));
        assert_eq!(stored(DataKind::StoreFailed, 4, 6, 3, false), None);
    }
}
