//! Packets as values. Names are the specification's.

use crate::Options;
use crate::data;

/// A te_inst packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// Format 3, subformat 0: where execution is.
    Start(Start),
    /// Format 3, subformat 1: an exception or interrupt.
    Trap(Trap),
    /// Format 3, subformat 2: the context is now this one.
    Context(Context),
    /// Format 3, subformat 3: what the encoder does.
    Support(Support),
    /// Format 2: an address.
    Address(Address),
    /// Format 1: branches, and an address unless the map is full.
    Branches(BranchMap, Option<Address>),
    /// Format 0, subformat 0: branches that were foretold, and perhaps an address.
    BranchCount(BranchCount),
    /// Format 0, subformat 1: an address by its index in the jump target cache, and branches.
    JumpTarget {
        /// The index.
        index: u32,
        /// The branches before it; there may be none.
        branches: BranchMap,
        /// `irdepth` or `irets`, where `irreport` is asserted.
        returns: Option<u32>,
    },
}

/// Where execution is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Whether the instruction there is a branch that is taken: the bit itself is 0 then.
    pub taken: bool,
    /// The privilege it runs with, and so on.
    pub context: Context,
    /// Its address.
    pub address: u64,
}

/// An exception or interrupt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trap {
    /// As in [`Start`].
    pub taken: bool,
    /// After the trap, or before it if not [`thaddr`](Self::thaddr).
    pub context: Context,
    /// The cause.
    pub ecause: u64,
    /// Whether it is an interrupt.
    pub interrupt: bool,
    /// Whether the address is that of the trap handler; otherwise it is where the exception was taken.
    pub thaddr: bool,
    /// The address; left out with implicit exceptions where [`thaddr`](Self::thaddr).
    pub address: Option<u64>,
    /// The trap value; interrupts have none.
    pub tval: Option<u64>,
}

/// Privilege, time and context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Context {
    /// The privilege.
    pub privilege: u8,
    /// The time, in our own traces the cycle in which the instruction retired whose address the packet has; 0 if it is not sent.
    pub time: u64,
    /// The context; 0 if it is not sent.
    pub context: u64,
}

/// What the encoder does from now on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Support {
    /// Whether instructions are traced.
    pub ienable: bool,
    /// The algorithm; 0 is branch trace, the only one there is.
    pub encoder_mode: u8,
    /// Whether, and how, tracing ended.
    pub qual_status: QualStatus,
    /// How instructions are traced.
    pub ioptions: Options,
    /// Whether data is traced.
    pub denable: bool,
    /// Whether data trace was lost.
    pub dloss: bool,
    /// How data is traced.
    pub doptions: data::Options,
    /// Whether there is no regular synchronisation. Told by the standard layout only.
    pub resync_disabled: bool,
}

/// Whether tracing ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum QualStatus {
    /// It did not.
    #[default]
    NoChange = 0,
    /// It did; the packet before was sent only for that.
    EndedRep = 1,
    /// Packets were lost.
    TraceLost = 2,
    /// It did; the packet before would have been sent anyway, for an uninferable discontinuity.
    EndedNtr = 3,
}

/// Up to 31 branches.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct BranchMap {
    /// A bit for each, the oldest lowest: 0 taken, 1 not taken, as it is sent. Bits from `count` on are 0.
    bits: u32,
    count: u8,
}

/// A reported address, and why it is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// The address, or the difference to the last one that was sent, with its sign (all 64 bits wide); in bytes.
    pub value: u64,
    /// It is reported since a notification was asked for.
    pub notify: bool,
    /// It is the target of an uninferable discontinuity, and a format 3 packet comes next.
    pub updiscon: bool,
    /// `irdepth` or `irets`, where `irreport` is asserted.
    pub returns: Option<u32>,
}

/// Branches that were foretold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BranchCount {
    /// How many: 31 at least. (31 less is sent.)
    pub count: u64,
    /// Whether the prediction of one more branch failed: that at the address if there is one, else the next.
    pub failed: bool,
    /// The address.
    pub address: Option<Address>,
}

impl BranchMap {
    /// A map with this many bits of `bits`.
    ///
    /// # Panics
    /// If there are more than 31.
    pub const fn new(bits: u32, count: u8) -> Self {
        assert!(count <= 31, "a branch map has 31 bits");
        Self { bits: bits & ((1 << count) - 1), count }
    }

    /// The bits: 0 taken, 1 not taken; the oldest lowest.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.bits
    }

    /// How many branches.
    #[inline]
    pub const fn count(self) -> u32 {
        self.count as u32
    }

    /// Whether there is none.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.count == 0
    }

    /// Whether there is no room for another.
    #[inline]
    pub const fn is_full(self) -> bool {
        self.count == 31
    }

    /// Adds a branch.
    ///
    /// # Panics
    /// If it is full.
    #[inline]
    pub const fn push(&mut self, taken: bool) {
        assert!(self.try_push(taken), "a branch map has 31 bits");
    }

    /// Adds a branch, if it is not full. Says whether it did.
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

/// `TNT`: taken, not taken, taken.
impl core::fmt::Debug for BranchMap {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        (0..self.count).try_for_each(|i| f.write_str(if self.bits >> i & 1 == 0 { "T" } else { "N" }))
    }
}
