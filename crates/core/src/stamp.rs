/// When an instruction retired, as far as a trace tells: in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stamp {
    /// In this cycle.
    Exact(u64),
    /// Not before the one nor after the other: the format forgot where.
    Between(u64, u64),
    /// Not before this cycle; how much later is told by what comes after it.
    From(u64),
    /// Not known: nothing tells it, or that was lost.
    Unknown,
}

impl Stamp {
    /// The first cycle in which it can have retired.
    #[must_use]
    pub const fn first(self) -> Option<u64> {
        match self {
            Self::Exact(cycle) | Self::Between(cycle, _) | Self::From(cycle) => Some(cycle),
            Self::Unknown => None,
        }
    }

    /// The last one, where it is known.
    #[must_use]
    pub const fn last(self) -> Option<u64> {
        match self {
            Self::Exact(cycle) | Self::Between(_, cycle) => Some(cycle),
            Self::From(_) | Self::Unknown => None,
        }
    }
}
