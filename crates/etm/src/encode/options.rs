use core::num::NonZero;

/// The choices that the architecture leaves to a trace unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes after which a synchronisation point comes, at the next P0 element. `None`: only at the start.
    pub sync_every: Option<NonZero<u32>>,
    /// Size of the return stack: at most 16, which is what decoders keep. Used if TRCCONFIGR.RS enables it.
    pub return_stack: u8,
    /// Smallest cycle count that is emitted (register TRCCCCTLR).
    pub cycle_threshold: u32,
    /// Policy for committing P0 elements, if TRCIDR8.MAXSPEC is above 0.
    pub commits: Commits,
    /// Whether everything is committed before each synchronisation point. Otherwise Trace Info gives the number of
    /// uncommitted elements.
    pub commit_before_sync: bool,
    /// Seed of random mispredictions, if TRCIDR8.MAXSPEC is above 0: some elements are emitted wrong, and corrected
    /// before they are committed.
    pub mispredict: Option<u64>,
    /// Seed of random Source Address packets (ETE), which replace the atoms of some taken branches. If
    /// TRCIDR8.MAXSPEC is 0, such a packet also stands for the branches before it that were not taken. Exception
    /// returns, and what follows an address from the return stack, always have atoms, since OpenCSD 1.3.3 expects
    /// them.
    pub source_addresses: Option<u64>,
}

/// The policy for committing P0 elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commits {
    /// All, when one more would be too many, and with each cycle count.
    AtMaxSpec,
    /// Never by a Commit packet. The oldest is committed when there is one too many, and all at the end of the trace.
    Implicit,
    /// At random, with this seed: sometimes by a packet, sometimes because there is one too many.
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
            source_addresses: None,
        }
    }
}
