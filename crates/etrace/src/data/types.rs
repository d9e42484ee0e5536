//! Packets as values, with the names of the specification.

use tracewright_core::{AtomicOp, CsrOp};

/// A te_data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// Load or store, or the first half of a split load.
    Transfer(Transfer),
    /// Atomic operation, or the first half of a split one.
    Atomic(Atomic),
    /// Access to a control register.
    Csr(Csr),
    /// Second half of a split load or atomic operation.
    Response(Response),
}

/// Load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Whether the access is a store.
    pub store: bool,
    /// Whether the access is one of several of an instruction (draft).
    pub multiple: bool,
    /// Whether the address is a multiple of the size; it is then sent without the bits that are 0.
    pub aligned: bool,
    /// Size in bytes, as an exponent of two.
    pub size: u8,
    /// Number that the second half repeats, if the load is split.
    pub lrid: Option<u8>,
    /// Form of address and data.
    pub diff: Diff,
    /// Data, if it is sent.
    pub data: Option<Value>,
    /// Address in its sent form, if it is sent.
    pub address: Option<u64>,
}

/// Atomic operation, whose address is always aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Atomic {
    /// Operation and outcome.
    pub kind: AtomicKind,
    /// Size in bytes, as an exponent of two.
    pub size: u8,
    /// Number that the second half repeats, if the operation is split.
    pub lrid: Option<u8>,
    /// Form of address and data.
    pub diff: Diff,
    /// Operand, where values are sent.
    pub operand: Option<Value>,
    /// Data, where values are sent; a failed compare-and-swap and the first half of a split one have none.
    pub data: Option<Value>,
    /// Address in its sent form, without the bits that are 0, if it is sent.
    pub address: Option<u64>,
}

/// Atomic operation with its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicKind {
    /// Completed operation.
    Done(AtomicOp),
    /// Failed store-conditional, which has only an address.
    StoreFailed,
    /// Failed compare-and-swap (draft).
    CompareFailed,
}

/// Access to a control register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Csr {
    /// Operation.
    pub op: CsrOp,
    /// Form of the data.
    pub diff: Diff,
    /// Data, where values are sent.
    pub data: Option<Value>,
    /// Operand, where values are sent; read-only registers have none.
    pub operand: Option<Value>,
    /// Number of the register, or its difference to the last one, in 12 bits.
    pub address: u16,
}

/// Second half of a split load or atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// Size in bytes, as an exponent of two.
    pub size: u8,
    /// Number of the request.
    pub lrid: u8,
    /// Loaded value and its form ([`Diff::Full`], [`Diff::Xor`] or [`Diff::Difference`]); `None` for an
    /// error.
    pub data: Option<(Diff, Value)>,
}

/// Form of addresses and data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Diff {
    /// Both whole.
    Full = 0,
    /// Address as a difference, data as the bits that differ from the last value.
    Xor = 1,
    /// Address as a difference, data whole. Without data, only this form and `Full` exist.
    Address = 2,
    /// Both as differences.
    Difference = 3,
}

/// Data with its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// Number of bytes sent. As the last field of a packet it is the width of the widest access.
    pub len: u8,
    /// Data; the highest bit of the sent bytes is its sign.
    pub bits: u64,
}

impl Diff {
    pub(super) const fn from_bits(bits: u64) -> Self {
        [Self::Full, Self::Xor, Self::Address, Self::Difference][bits as usize & 3]
    }

    /// Returns whether addresses are sent as differences.
    pub const fn is_address_difference(self) -> bool {
        !matches!(self, Self::Full)
    }

    /// Returns whether data is sent relative to the last value.
    pub const fn is_data_compressed(self) -> bool {
        matches!(self, Self::Xor | Self::Difference)
    }
}

impl Csr {
    /// Returns whether the register is read-only, as its two highest bits say.
    pub const fn is_read_only(&self) -> bool {
        self.address >> 10 & 3 == 3
    }
}
