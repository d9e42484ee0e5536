/// The values that a comparator matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Comparator {
    /// Any value.
    #[default]
    Off,
    /// This value.
    Match(u64),
    /// A value in this range, both ends included.
    Range(u64, u64),
}

impl Comparator {
    /// Returns whether `value` matches.
    #[inline]
    pub const fn agrees(self, value: u64) -> bool {
        match self {
            Self::Off => true,
            Self::Match(wanted) => value == wanted,
            Self::Range(least, most) => least <= value && value <= most,
        }
    }

    /// Returns the least and the greatest value that match.
    #[inline]
    pub const fn bounds(self) -> (u64, u64) {
        match self {
            Self::Off => (0, u64::MAX),
            Self::Match(wanted) => (wanted, wanted),
            Self::Range(least, most) => (least, most),
        }
    }
}
