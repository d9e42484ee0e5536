/// The rounding modes of RISC-V, in the order of `rm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// RNE: to the nearest, ties to the one whose last bit is 0.
    NearestEven,
    /// RTZ: towards zero.
    TowardZero,
    /// RDN: towards negative infinity.
    Down,
    /// RUP: towards positive infinity.
    Up,
    /// RMM: to the nearest, ties away from zero.
    NearestMaxMagnitude,
}

impl Rounding {
    /// All modes, in the order of `rm`.
    pub const ALL: [Self; 5] =
        [Self::NearestEven, Self::TowardZero, Self::Down, Self::Up, Self::NearestMaxMagnitude];

    /// Returns the mode of an instruction's `rm`, or of `frm`. Returns `None` for reserved modes, and for 7, which
    /// selects `frm` in an instruction.
    #[inline]
    pub const fn from_rm(rm: u8) -> Option<Self> {
        match rm {
            0 => Some(Self::NearestEven),
            1 => Some(Self::TowardZero),
            2 => Some(Self::Down),
            3 => Some(Self::Up),
            4 => Some(Self::NearestMaxMagnitude),
            _ => None,
        }
    }
}
