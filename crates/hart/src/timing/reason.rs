use std::fmt;

/// Reason why no instruction retired in a cycle: what the next one to retire was waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Reason {
    /// The instruction cache fetched a line.
    InstructionMiss,
    /// The data cache fetched a line.
    DataMiss,
    /// The result of a load or atomic that hit the cache.
    LoadUse,
    /// A product, a quotient, or the divider.
    MultiplyDivide,
    /// A floating-point result, or the unit that divides and takes roots.
    Float,
    /// A branch went elsewhere than predicted.
    Mispredict,
    /// A branch was predicted correctly, but its target was not in the target buffer and was found by decoding.
    Redirect,
    /// The front end delivers too few bytes per cycle.
    Fetch,
    /// A unit, port or scoreboard entry was occupied.
    Structural,
    /// The store buffer was full, or had to be empty.
    StoreBuffer,
    /// A CSR access or fence has the pipeline to itself.
    Serialize,
    /// Trap entry or return.
    Trap,
}

impl Reason {
    /// Number of reasons.
    pub const COUNT: usize = Self::ALL.len();

    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 12] = [
        Self::InstructionMiss,
        Self::DataMiss,
        Self::LoadUse,
        Self::MultiplyDivide,
        Self::Float,
        Self::Mispredict,
        Self::Redirect,
        Self::Fetch,
        Self::Structural,
        Self::StoreBuffer,
        Self::Serialize,
        Self::Trap,
    ];

    /// Returns a short name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InstructionMiss => "instruction cache miss",
            Self::DataMiss => "data cache miss",
            Self::LoadUse => "load use",
            Self::MultiplyDivide => "multiply, divide",
            Self::Float => "floating point",
            Self::Mispredict => "mispredicted branch",
            Self::Redirect => "branch target found late",
            Self::Fetch => "fetch bandwidth",
            Self::Structural => "unit busy",
            Self::StoreBuffer => "store buffer",
            Self::Serialize => "CSR or fence",
            Self::Trap => "trap entry or return",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A cycle and the reason why it is not earlier, in one word. The later of two is their maximum and keeps its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct When(u64);

impl When {
    /// The beginning of time.
    pub const START: Self = Self(0);

    /// Combines a cycle and a reason. Cycles have 60 bits, which no run exhausts.
    #[inline(always)]
    pub const fn new(cycle: u64, reason: Reason) -> Self {
        Self(cycle << 4 | reason as u64)
    }

    #[inline(always)]
    pub const fn cycle(self) -> u64 {
        self.0 >> 4
    }

    #[inline(always)]
    pub const fn reason(self) -> Reason {
        let index = (self.0 & 15) as usize;
        Reason::ALL[if index < Reason::COUNT { index } else { 0 }]
    }
}

#[test]
fn reasons_are_in_order() {
    for (i, reason) in Reason::ALL.into_iter().enumerate() {
        assert_eq!(reason as usize, i);
        assert_eq!((When::new(77, reason).cycle(), When::new(77, reason).reason()), (77, reason));
    }
}
