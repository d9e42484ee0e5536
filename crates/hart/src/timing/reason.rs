use std::fmt;

/// Defines [`Reason`] with its short names.
macro_rules! reasons {
    ($($(#[$doc:meta])* $reason:ident = $name:literal,)*) => {
        /// Reason why no instruction retired in a cycle: what the next one to retire was waiting for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Reason {
            $($(#[$doc])* $reason,)*
        }

        impl Reason {
            /// Number of reasons.
            pub const COUNT: usize = Self::ALL.len();

            /// All reasons, in the order of their numbers.
            pub const ALL: [Self; 12] = [$(Self::$reason,)*];

            /// Returns a short name for people.
            pub const fn name(self) -> &'static str {
                [$($name,)*][self as usize]
            }
        }
    };
}

reasons! {
    /// The instruction cache fetched a line.
    InstructionMiss = "instruction cache miss",
    /// The data cache fetched a line.
    DataMiss = "data cache miss",
    /// The result of a load or atomic that hit the cache.
    LoadUse = "load use",
    /// A product, a quotient, or the divider.
    MultiplyDivide = "multiply, divide",
    /// A floating-point result, or the unit that divides and takes roots.
    Float = "floating point",
    /// A branch went elsewhere than predicted.
    Mispredict = "mispredicted branch",
    /// A branch was predicted correctly, but its target was not in the target buffer and was found by decoding.
    Redirect = "branch target found late",
    /// The front end delivers too few bytes per cycle.
    Fetch = "fetch bandwidth",
    /// A unit, port or scoreboard entry was occupied.
    Structural = "unit busy",
    /// The store buffer was full, or had to be empty.
    StoreBuffer = "store buffer",
    /// A CSR access or fence has the pipeline to itself.
    Serialize = "CSR or fence",
    /// Trap entry or return.
    Trap = "trap entry or return",
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
