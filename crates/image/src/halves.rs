use tracewright_core::{Context, Isa, MemorySpace};

use crate::processes::{Moment, Processes};

/// Memory spaces of the code of a RISC-V hart under Linux: the kernel is in the upper half of all addresses, and the process that runs
/// in the lower half.
///
/// So the address alone decides, and no message about privilege has to come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halves {
    low: MemorySpace,
    high: MemorySpace,
    /// Top bit of an address.
    top: u64,
}

impl Halves {
    /// One space for all addresses, where processes have no memory of their own.
    pub const ANY: Self = Self { low: MemorySpace::ANY, high: MemorySpace::ANY, top: 0 };
    /// Level of privilege whose addresses are physical, so that no process has them.
    const MACHINE: u8 = 3;

    pub(crate) fn new(processes: &Processes, context: &Context, isa: Isa, moment: &Moment) -> Self {
        if processes.is_empty() {
            return Self::ANY;
        }
        let of =
            |level| MemorySpace::ANY.of_process(processes.number_in(&Context { level, ..*context }, moment));
        let high = of(1);
        let low = if context.level == Self::MACHINE { high } else { of(0) };
        Self { low, high, top: if isa == Isa::Rv32 { 1 << 31 } else { 1 << 63 } }
    }

    /// Returns the space of the code at an address.
    #[inline(always)]
    pub const fn at(&self, address: u64) -> MemorySpace {
        if address & self.top == 0 { self.low } else { self.high }
    }

    /// Returns whether an address is in the kernel's half; `None` if there are no halves.
    pub const fn is_kernel(&self, address: u64) -> Option<bool> {
        if self.top == 0 { None } else { Some(address & self.top != 0) }
    }

    /// Returns the space of code that runs at a level of privilege.
    pub const fn of_level(&self, level: u8) -> MemorySpace {
        if level == 0 { self.low } else { self.high }
    }
}
