//! Packets as values. Names are the specification's.

use tracewright_core::{AtomicOp, CsrOp};

/// A te_data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// A load, or a store.
    Transfer(Transfer),
    /// An atomic operation.
    Atomic(Atomic),
    /// An access to a control register.
    Csr(Csr),
    /// First half of a split load.
    LoadRequest(LoadRequest),
    /// First half of a split atomic operation.
    AtomicRequest(AtomicRequest),
    /// Second half of either.
    Response(Response),
}

/// A load, or a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Whether it is a store.
    pub store: bool,
    /// Whether it is one of several accesses of an instruction (draft).
    pub multiple: bool,
    /// Whether the address is a multiple of the size. It is sent without the bits that are 0 then.
    pub aligned: bool,
    /// How many bytes, as an exponent of two.
    pub size: u8,
    /// How address and data are sent.
    pub diff: Diff,
    /// The data, if there is.
    pub data: Option<Value>,
    /// The address as it is sent, if it is.
    pub address: Option<u64>,
}

/// An atomic operation. Its address is always aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Atomic {
    /// Which.
    pub kind: AtomicKind,
    /// How many bytes, as an exponent of two.
    pub size: u8,
    /// How address and data are sent.
    pub diff: Diff,
    /// The operand, where values are sent.
    pub operand: Option<Value>,
    /// The data, where values are sent; a compare-and-swap that failed has none.
    pub data: Option<Value>,
    /// The address as it is sent, if it is: without the bits that are 0.
    pub address: Option<u64>,
}

/// Which atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicKind {
    /// One that was done.
    Done(AtomicOp),
    /// A store-conditional that failed. It has an address and nothing else.
    StoreFailed,
    /// A compare-and-swap that failed (draft).
    CompareFailed,
}

/// An access to a control register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Csr {
    /// What was done.
    pub op: CsrOp,
    /// How data is sent.
    pub diff: Diff,
    /// The data, where values are sent.
    pub data: Option<Value>,
    /// The operand, where values are sent; those that can only be read have none.
    pub operand: Option<Value>,
    /// The register's number, or how it differs from the last one, in 12 bits.
    pub address: u16,
}

/// First half of a split load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadRequest {
    /// Whether it is one of several accesses of an instruction (draft).
    pub multiple: bool,
    /// As in [`Transfer`].
    pub aligned: bool,
    /// How many bytes, as an exponent of two.
    pub size: u8,
    /// What its second half is known by.
    pub lrid: u8,
    /// How the address is sent: [`Diff::Full`] or [`Diff::Address`].
    pub diff: Diff,
    /// The address as it is sent.
    pub address: u64,
}

/// First half of a split atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicRequest {
    /// Which.
    pub op: AtomicOp,
    /// How many bytes, as an exponent of two.
    pub size: u8,
    /// What its second half is known by.
    pub lrid: u8,
    /// How address and operand are sent.
    pub diff: Diff,
    /// The operand.
    pub operand: Value,
    /// The address as it is sent, if it is: without the bits that are 0.
    pub address: Option<u64>,
}

/// Second half of a split load or atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// How many bytes, as an exponent of two.
    pub size: u8,
    /// Which request it belongs to.
    pub lrid: u8,
    /// What was loaded, and how it is sent ([`Diff::Full`], [`Diff::Xor`] or [`Diff::Difference`]); `None`: an error.
    pub data: Option<(Diff, Value)>,
}

/// How addresses and data are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Diff {
    /// Whole.
    Full = 0,
    /// The address as a difference, of the data the bits in which it differs from the last.
    Xor = 1,
    /// The address as a difference, the data whole. The only other than `Full` where there is no data.
    Address = 2,
    /// Both as differences.
    Difference = 3,
}

/// Data with the number of bytes that are sent of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// How many bytes. Data that is the last field of a packet has as many as the widest access.
    pub len: u8,
    /// The data; the highest bit of those bytes is its sign.
    pub bits: u64,
}

impl Diff {
    pub(super) const fn from_bits(bits: u64) -> Self {
        match bits {
            0 => Self::Full,
            1 => Self::Xor,
            2 => Self::Address,
            _ => Self::Difference,
        }
    }

    /// Whether addresses are sent as differences.
    pub const fn is_address_difference(self) -> bool {
        !matches!(self, Self::Full)
    }

    /// Whether data is sent as it differs from the last.
    pub const fn is_data_compressed(self) -> bool {
        matches!(self, Self::Xor | Self::Difference)
    }
}

impl Csr {
    /// Whether the register can only be read: its two highest bits say so.
    pub const fn is_read_only(&self) -> bool {
        self.address >> 10 & 3 == 3
    }
}
