/// The state of T32's IT block: how many of the next instructions are conditional. The default is none.
///
/// Reset the state to the default wherever execution does not continue at the next instruction: a taken branch and an
/// exception end the block.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Hash)]
pub struct ItState(u8);

impl ItState {
    /// Creates the state after an IT instruction with this `mask` field. The mask is not zero: its lowest set bit
    /// ends the block.
    pub(crate) const fn begin(mask: u32) -> Self {
        Self(4 - mask.trailing_zeros() as u8)
    }

    /// Returns whether the next instruction is conditional, and advances over it.
    pub(crate) const fn step(&mut self) -> bool {
        let inside = self.0 != 0;
        self.0 = self.0.saturating_sub(1);
        inside
    }
}
