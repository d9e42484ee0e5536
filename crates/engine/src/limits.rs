use tracewright_input::Ring;

use crate::tally::Tally;

/// Part of a file: packets that begin inside it, and what they tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Offset of the first byte.
    pub from: u64,
    /// Offset after the last byte.
    pub to: u64,
}

impl Range {
    /// The whole file.
    pub const ALL: Self = Self { from: 0, to: u64::MAX };

    /// Returns whether this is the whole file.
    pub fn is_all(self) -> bool {
        self == Self::ALL
    }

    /// Returns how many bytes between two stream positions, which go around a ring if there is one, are inside.
    pub(crate) fn bytes(self, ring: Option<Ring>, from: u64, to: u64) -> u64 {
        let count = |from: u64, to: u64| to.min(self.to).saturating_sub(from.max(self.from));
        match ring {
            Some(ring) if to > ring.end() => count(from, ring.end()) + count(ring.start, ring.offset(to)),
            _ => count(from, to),
        }
    }

    /// Returns whether an offset is inside.
    pub fn has(self, offset: u64) -> bool {
        self.from <= offset && offset < self.to
    }
}

/// Limits of decoding a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions of each source.
    pub instructions: u64,
    /// Bytes of the tables that grow with the trace, of all sources together.
    pub memory: usize,
}

impl Limits {
    /// No limits.
    pub const NONE: Self = Self { instructions: u64::MAX, memory: usize::MAX };
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The limit of instructions.
    Instructions,
    /// The limit of memory for tables.
    Memory,
    /// The limit of memory for output that waits for that of other sources.
    Waiting,
    /// No more output is wanted: the consumer is done, or there is too much to be kept.
    Output,
}

/// Remaining quota of a source.
#[derive(Clone, Copy, Debug)]
pub struct Quota {
    /// Instructions that may still be reported.
    pub instructions: u64,
    pub memory: usize,
    /// Limit that was reached, after which nothing more is reported.
    pub reached: Option<Limit>,
    /// Stream position of the packet in which the limit was reached, if that is not the decoder's last.
    pub reached_at: Option<u64>,
}

impl Quota {
    pub fn new(limits: Limits) -> Self {
        Self { instructions: limits.instructions, memory: limits.memory, reached: None, reached_at: None }
    }

    /// Subtracts what was decoded.
    pub fn spend(&mut self, tally: &Tally) {
        self.instructions = self.instructions.saturating_sub(tally.instructions);
    }
}
