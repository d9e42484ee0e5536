/// What a comparator looks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Comparator {
    /// It is off: anything will do.
    #[default]
    Off,
    /// This value.
    Match(u64),
    /// A value in this range, both ends among them.
    Range(u64, u64),
}

impl Comparator {
    /// Whether it agrees.
    #[inline]
    pub const fn agrees(self, value: u64) -> bool {
        match self {
            Self::Off => true,
            Self::Match(wanted) => value == wanted,
            Self::Range(least, most) => least <= value && value <= most,
        }
    }

    /// The least and the greatest value that it agrees with.
    #[inline]
    pub const fn bounds(self) -> (u64, u64) {
        match self {
            Self::Off => (0, u64::MAX),
            Self::Match(wanted) => (wanted, wanted),
            Self::Range(least, most) => (least, most),
        }
    }
}
