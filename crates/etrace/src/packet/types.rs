//! Packets as values, with the names of the specification.

use crate::Options;
use crate::data;

/// A te_inst packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// Format 3, subformat 0: the current position of execution.
    Start(Start),
    /// Format 3, subformat 1: an exception or interrupt.
    Trap(Trap),
    /// Format 3, subformat 2: a new context.
    Context(Context),
    /// Format 3, subformat 3: the state of the encoder.
    Support(Support),
    /// Format 2: an address.
    Address(Address),
    /// Format 1: branches, and an address unless the map is full.
    Branches(BranchMap, Option<Address>),
    /// Format 0, subformat 0: correctly predicted branches, and perhaps an address.
    BranchCount(BranchCount),
    /// Format 0, subformat 1: an address by its index in the jump target cache, and branches.
    JumpTarget {
        /// Index in the jump target cache.
        index: u32,
        /// Branches before the jump; there may be none.
        branches: BranchMap,
        /// `irdepth` or `irets`, where `irreport` is asserted.
        returns: Option<u32>,
    },
}

/// Current position of execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Whether the instruction at the address is a taken branch (the sent bit is 0 then).
    pub taken: bool,
    /// Privilege, time and context of the instruction.
    pub context: Context,
    /// Address of the instruction.
    pub address: u64,
}

/// An exception or interrupt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trap {
    /// Whether the instruction at the address is a taken branch, as in [`Start`].
    pub taken: bool,
    /// Context after the trap, or before it if [`thaddr`](Self::thaddr) is not set.
    pub context: Context,
    /// Cause of the trap.
    pub ecause: u64,
    /// Whether the trap is an interrupt.
    pub interrupt: bool,
    /// Whether the address is that of the trap handler instead of where the exception was taken.
    pub thaddr: bool,
    /// Address; left out with implicit exceptions if [`thaddr`](Self::thaddr) is set.
    pub address: Option<u64>,
    /// Trap value; interrupts have none.
    pub tval: Option<u64>,
}

/// Privilege, time and context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Context {
    /// Privilege level.
    pub privilege: u8,
    /// Time; 0 if it is not sent. In traces of our encoder it is the cycle in which the instruction at the
    /// packet's address retired.
    pub time: u64,
    /// Context; 0 if it is not sent.
    pub context: u64,
}

/// State of the encoder from this packet on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Support {
    /// Whether instructions are traced.
    pub ienable: bool,
    /// Algorithm; 0 is branch trace, the only one defined.
    pub encoder_mode: u8,
    /// Whether and how tracing ended.
    pub qual_status: QualStatus,
    /// Options of instruction trace.
    pub ioptions: Options,
    /// Whether data is traced.
    pub denable: bool,
    /// Whether data trace was lost.
    pub dloss: bool,
    /// Options of data trace.
    pub doptions: data::Options,
    /// Whether regular synchronisation is off; only the standard layout has this field.
    pub resync_disabled: bool,
}

/// Whether and how tracing ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum QualStatus {
    /// Tracing did not end.
    #[default]
    NoChange = 0,
    /// Tracing ended; the packet before was sent only for that reason.
    EndedRep = 1,
    /// Packets were lost.
    TraceLost = 2,
    /// Tracing ended; the packet before would have been sent anyway, for an uninferable discontinuity.
    EndedNtr = 3,
}

/// Up to 31 branches.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct BranchMap {
    /// One bit per branch as it is sent, the oldest lowest: 0 taken, 1 not taken. Bits from `count` on are 0.
    bits: u32,
    count: u8,
}

/// Reported address with the reason for the report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// Address, or sign-extended difference to the last sent address, in bytes.
    pub value: u64,
    /// Whether the address is reported because a notification was requested.
    pub notify: bool,
    /// Whether the address is the target of an uninferable discontinuity and a format 3 packet follows.
    pub updiscon: bool,
    /// `irdepth` or `irets`, where `irreport` is asserted.
    pub returns: Option<u32>,
}

/// Count of correctly predicted branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BranchCount {
    /// Number of branches, at least 31. (The packet holds 31 less.)
    pub count: u64,
    /// Whether one more branch was mispredicted: the branch at the address if there is one, else the next
    /// branch.
    pub failed: bool,
    /// Address of the last instruction, if reported.
    pub address: Option<Address>,
}

impl BranchMap {
    /// Creates a map of the low `count` bits of `bits`.
    ///
    /// # Panics
    /// Panics if `count` is more than 31.
    pub const fn new(bits: u32, count: u8) -> Self {
        assert!(count <= 31, "a branch map has 31 bits");
        Self { bits: bits & ((1 << count) - 1), count }
    }

    /// Returns the bits, the oldest branch lowest: 0 taken, 1 not taken.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.bits
    }

    /// Returns the number of branches.
    #[inline]
    pub const fn count(self) -> u32 {
        self.count as u32
    }

    /// Returns whether the map has no branches.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.count == 0
    }

    /// Returns whether the map has no room for another branch.
    #[inline]
    pub const fn is_full(self) -> bool {
        self.count == 31
    }

    /// Adds a branch.
    ///
    /// # Panics
    /// Panics if the map is full.
    #[inline]
    pub const fn push(&mut self, taken: bool) {
        assert!(self.try_push(taken), "a branch map has 31 bits");
    }

    /// Adds a branch unless the map is full. Returns whether it was added.
    #[inline(always)]
    pub(crate) const fn try_push(&mut self, taken: bool) -> bool {
        if self.count >= 31 {
            return false;
        }
        self.bits |= (!taken as u32) << self.count;
        self.count += 1;
        true
    }
}

/// Writes one letter per branch, such as `TNT`: taken, not taken, taken.
impl core::fmt::Debug for BranchMap {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        (0..self.count).try_for_each(|i| f.write_str(if self.bits >> i & 1 == 0 { "T" } else { "N" }))
    }
}
