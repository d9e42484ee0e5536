//! Accesses of instructions to memory and to control registers.

use core::fmt;

/// An access to memory, or to a control register (CSR).
///
/// Fields are `None` if the trace does not have them, or if they depend on trace before its first synchronisation
/// point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DataAccess {
    /// Kind of access.
    pub kind: DataKind,
    /// Size of the access in bytes: 1, 2, 4 or 8.
    pub size: u8,
    /// Address of the access, or the number of the CSR.
    pub address: Option<u64>,
    /// Value that was loaded or stored. For atomics and CSRs it is the old value, or the new value if
    /// [`after`](Self::after). Not sign-extended.
    pub value: Option<u64>,
    /// Operand of an atomic operation (rs2) or of a CSR instruction (rs1). Not sign-extended.
    pub operand: Option<u64>,
    /// Whether the value of an atomic or of a CSR is the new value.
    pub after: bool,
}

/// The kind of an access to memory or to a control register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataKind {
    /// A load or load-reserved.
    Load,
    /// A store, or a store-conditional that succeeded.
    Store,
    /// An atomic operation, which loads the old value and stores the old value combined with the operand.
    Atomic(AtomicOp),
    /// A store-conditional failed: nothing was stored.
    StoreFailed,
    /// A compare-and-swap failed: nothing was stored.
    CompareFailed,
    /// A read and write of a control register.
    Csr(CsrOp),
}

/// The value that an atomic operation stores. Signed and unsigned minimum and maximum are not distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AtomicOp {
    /// The operand.
    Swap,
    /// The sum of the old value and the operand.
    Add,
    /// The bits that are set in both.
    And,
    /// The bits that are set in either.
    Or,
    /// The bits in which they differ.
    Xor,
    /// The greater of the two.
    Max,
    /// The lesser of the two.
    Min,
}

/// The value that a CSR instruction writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum CsrOp {
    /// The operand (CSRRW).
    Write,
    /// The old value with the bits of the operand set (CSRRS).
    Set,
    /// The old value with the bits of the operand cleared (CSRRC).
    Clear,
}

impl DataAccess {
    /// Returns `value` truncated to the size of this access.
    pub const fn truncated(&self, value: u64) -> u64 {
        if self.size >= 8 { value } else { value & ((1 << (8 * self.size)) - 1) }
    }

    /// Returns the value that was stored. Memory or the register may have kept only some of its bits.
    ///
    /// Returns `None` if nothing was stored or the value is not known. Without the instruction, the result of a
    /// minimum or maximum is not known.
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
    /// Returns the name in a word or two.
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

/// Writes `store 4 at 0x80001000: 0x64`. Unknown fields are left out.
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
