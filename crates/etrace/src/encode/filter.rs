use tracewright_core::control::Comparator;

use crate::ingress::Entry;

/// Filter of traced entries: one comparator per input. All must match; without any, which is the default,
/// everything is traced.
///
/// An entry is traced as a whole. Comparators see what the interface carries: for a block, the address of its
/// first instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Comparator of the type's number.
    pub itype: Comparator,
    /// Comparator of the cause of a trap.
    pub cause: Comparator,
    /// Comparator of the trap value.
    pub tval: Comparator,
    /// Comparator of the privilege.
    pub privilege: Comparator,
    /// Comparator of the address.
    pub iaddr: Comparator,
    /// Comparator of the context.
    pub context: Comparator,
    /// Comparator of the time.
    pub time: Comparator,
    /// Comparator of the way in which a change of context is reported.
    pub ctype: Comparator,
    /// Comparator of the number of half-words.
    pub iretire: Comparator,
    /// Comparator of the size of the last instruction.
    pub ilastsize: Comparator,
}

impl Filter {
    /// Returns whether `entry` is traced.
    pub fn qualifies(&self, entry: &Entry) -> bool {
        self.itype.agrees(entry.itype as u64)
            && self.cause.agrees(entry.cause)
            && self.tval.agrees(entry.tval)
            && self.privilege.agrees(u64::from(entry.privilege))
            && self.iaddr.agrees(entry.iaddr)
            && self.context.agrees(entry.context)
            && self.time.agrees(entry.time)
            && self.ctype.agrees(entry.ctype as u64)
            && self.iretire.agrees(u64::from(entry.iretire))
            && self.ilastsize.agrees(u64::from(entry.ilastsize))
    }
}
