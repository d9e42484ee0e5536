use tracewright_core::control::Comparator;

use crate::ingress::Entry;

/// Which entries are traced: a comparator for each input. All of them have to agree; without any, everything is
/// traced.
///
/// An entry is traced as a whole. Comparators look at what the interface has: of a block, the address of its first
/// instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// On the type, with its number.
    pub itype: Comparator,
    /// On the cause of a trap.
    pub cause: Comparator,
    /// On the trap value.
    pub tval: Comparator,
    /// On the privilege.
    pub privilege: Comparator,
    /// On the address.
    pub iaddr: Comparator,
    /// On the context.
    pub context: Comparator,
    /// On the time.
    pub time: Comparator,
    /// On how a change of context is reported.
    pub ctype: Comparator,
    /// On the number of half-words.
    pub iretire: Comparator,
    /// On the size of the last instruction.
    pub ilastsize: Comparator,
}

impl Filter {
    /// Everything is traced.
    pub const ALL: Self = Self {
        itype: Comparator::Off,
        cause: Comparator::Off,
        tval: Comparator::Off,
        privilege: Comparator::Off,
        iaddr: Comparator::Off,
        context: Comparator::Off,
        time: Comparator::Off,
        ctype: Comparator::Off,
        iretire: Comparator::Off,
        ilastsize: Comparator::Off,
    };

    /// Whether `entry` is traced.
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
