use crate::tally::Tally;

/// Which elements are told: those of packets that begin in this part of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first offset.
    pub from: u64,
    /// The offset behind the last.
    pub to: u64,
}

impl Range {
    /// All of a file.
    pub const ALL: Self = Self { from: 0, to: u64::MAX };

    /// Whether it is all of a file.
    pub fn is_all(self) -> bool {
        self == Self::ALL
    }
}

/// How much of a source is decoded at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions.
    pub instructions: u64,
    /// Bytes of the tables that grow with what the trace tells.
    pub memory: usize,
}

impl Limits {
    /// All is decoded.
    pub const NONE: Self = Self { instructions: u64::MAX, memory: usize::MAX };
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Of instructions.
    Instructions,
    /// Of memory for tables.
    Memory,
    /// Of memory for output that waits for that of other sources.
    Waiting,
    /// Nobody takes what comes any more: the consumer is done, or output is too much to be kept for later.
    Output,
}

/// What is left of a source's limits.
#[derive(Clone, Copy, Debug)]
pub struct Quota {
    /// Instructions that may still be told.
    pub instructions: u64,
    pub memory: usize,
    /// The limit that was reached: nothing is told any more.
    pub reached: Option<Limit>,
    /// Stream position of the packet in which it was, if that is not the decoder's last.
    pub reached_at: Option<u64>,
}

impl Quota {
    pub fn new(limits: Limits) -> Self {
        Self { instructions: limits.instructions, memory: limits.memory, reached: None, reached_at: None }
    }

    /// So much was told of it.
    pub fn spend(&mut self, tally: &Tally) {
        self.instructions = self.instructions.saturating_sub(tally.instructions);
    }
}
