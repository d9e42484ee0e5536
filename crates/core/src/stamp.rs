/// The cycle in which an instruction retired, as precisely as the trace has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stamp {
    /// The instruction retired in this cycle.
    Exact(u64),
    /// The instruction retired between these two cycles, both included. The format does not keep which.
    Between(u64, u64),
    /// The instruction retired in this cycle or later. A later stamp says how much later.
    From(u64),
    /// The cycle is not in the trace, or was lost.
    Unknown,
}

impl Stamp {
    /// Returns the first cycle in which the instruction can have retired.
    #[must_use]
    pub const fn first(self) -> Option<u64> {
        match self {
            Self::Exact(cycle) | Self::Between(cycle, _) | Self::From(cycle) => Some(cycle),
            Self::Unknown => None,
        }
    }

    /// Returns the last cycle in which the instruction can have retired, if known.
    #[must_use]
    pub const fn last(self) -> Option<u64> {
        match self {
            Self::Exact(cycle) | Self::Between(_, cycle) => Some(cycle),
            Self::From(_) | Self::Unknown => None,
        }
    }
}
