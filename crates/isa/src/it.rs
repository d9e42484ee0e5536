/// T32's IT block: how many of the next instructions are conditional. The default is none.
///
/// Whoever follows a program starts over with the default wherever execution does not just go on with the next
/// instruction: a taken branch and an exception end the block.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Hash)]
pub struct ItState(u8);

impl ItState {
    /// The state after an IT instruction with this `mask` field, which is not zero: its lowest set bit ends the block.
    pub(crate) const fn begin(mask: u32) -> Self {
        Self(4 - mask.trailing_zeros() as u8)
    }

    /// Whether the next instruction is conditional; goes on to the one after it.
    pub(crate) const fn step(&mut self) -> bool {
        let inside = self.0 != 0;
        self.0 = self.0.saturating_sub(1);
        inside
    }
}
