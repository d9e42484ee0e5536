/// Exception flags with the bits of `fcsr`. Flags are sticky: no operation clears one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// Inexact: the result had to be rounded.
    pub const NX: Self = Self(1);
    /// Underflow: the result was rounded, and is too small for a normal number.
    pub const UF: Self = Self(2);
    /// Overflow: the result is too large for the format.
    pub const OF: Self = Self(4);
    /// Divide by zero: an infinite result of finite operands.
    pub const DZ: Self = Self(8);
    /// Invalid operation: there is no sensible result.
    pub const NV: Self = Self(16);

    /// Adds `flags` to those that were raised before.
    #[inline]
    pub fn raise(&mut self, flags: Self) {
        self.0 |= flags.0;
    }

    /// Returns whether all of `flags` are raised.
    #[inline]
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }
}
