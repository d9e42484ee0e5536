use core::num::NonZero;

/// What a trace unit decides for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// A synchronisation point after so many bytes, at the next P0 element; `None`: only at the start.
    pub sync_every: Option<NonZero<u32>>,
    /// How many return addresses the return stack holds: 16 at most, which is what readers keep. Used where
    /// TRCCONFIGR.RS switches it on.
    pub return_stack: u8,
    /// The smallest cycle count that is told (register TRCCCCTLR).
    pub cycle_threshold: u32,
    /// When P0 elements are committed, where TRCIDR8.MAXSPEC is above 0.
    pub commits: Commits,
    /// Commit everything before each synchronisation point. Otherwise Trace Info says how much is not committed.
    pub commit_before_sync: bool,
    /// Where TRCIDR8.MAXSPEC is above 0: tells some elements wrong and corrects them before they are committed, at random with
    /// this seed.
    pub mispredict: Option<u64>,
}

/// When P0 elements are committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commits {
    /// All, when one more would be too many, and with each cycle count.
    AtMaxSpec,
    /// Never by a Commit packet, but by each one too many the oldest; all at the end of the trace.
    Implicit,
    /// At random, with this seed: sometimes some, sometimes by being too many.
    Random(u64),
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sync_every: NonZero::new(4096),
            return_stack: 16,
            cycle_threshold: 4,
            commits: Commits::AtMaxSpec,
            commit_before_sync: false,
            mispredict: None,
        }
    }
}
