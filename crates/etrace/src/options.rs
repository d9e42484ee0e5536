/// What is switched on at run time (`ioptions` of a support packet).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Returns whose address a stack of calls predicts are not reported.
    pub implicit_return: bool,
    /// Trap packets leave out the address of the trap handler.
    pub implicit_exception: bool,
    /// Addresses are sent whole, not as differences.
    pub full_address: bool,
    /// Targets that were sent before are sent as an index.
    pub jump_target_cache: bool,
    /// Branches that a predictor foretells are only counted.
    pub branch_prediction: bool,
    /// Jumps whose address the instruction before tells are not reported.
    pub sijump: bool,
}
