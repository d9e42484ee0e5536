//! Output of a decoder.

use std::fmt;
use std::ops::RangeInclusive;

use crate::packet::Sync;

/// Consecutive cycles that each retired the same number of instructions. Exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// First cycle.
    pub cycle: u64,
    /// Number of cycles, not 0.
    pub cycles: u64,
    /// Instructions retired in each cycle, not 0.
    pub each: u8,
}

impl Run {
    /// Returns the number of instructions that retired in all cycles.
    #[must_use]
    pub const fn retired(&self) -> u64 {
        self.cycles.saturating_mul(self.each as u64)
    }
}

/// Consecutive cycles of which only the total is known, not how many instructions retired in which cycle.
///
/// At least one instruction retired in the first and in the last cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First cycle.
    pub cycle: u64,
    /// Number of cycles, at least 2.
    pub cycles: u64,
    /// Number of instructions that retired in all cycles.
    pub retired: u64,
    /// Maximum number of instructions per cycle.
    pub width: u8,
    /// Longest stall among the cycles.
    pub amortise: u32,
}

impl Span {
    /// Returns the least and the greatest possible number of stall cycles.
    #[must_use]
    pub fn stalls(&self) -> RangeInclusive<u64> {
        let busy = self.retired.div_ceil(u64::from(self.width.max(1))).max(self.least());
        let least = self.cycles.saturating_sub(self.retired);
        least..=self.cycles.saturating_sub(busy).max(least)
    }

    /// Returns the cycles in which instruction number `instruction`, from 0, can have retired.
    #[must_use]
    pub fn cycle_of(&self, instruction: u64) -> RangeInclusive<u64> {
        let width = u64::from(self.width.max(1));
        let step = u64::from(self.amortise) + 1;
        let after = self.retired.saturating_sub(1).saturating_sub(instruction);
        let last = self.cycles.saturating_sub(1);
        let from = (instruction / width).max(last.saturating_sub(after.saturating_mul(step)));
        let to = instruction.saturating_mul(step).min(last.saturating_sub(after / width));
        self.cycle.saturating_add(from)..=self.cycle.saturating_add(to.max(from))
    }

    /// Returns the least number of cycles that can have retired instructions.
    fn least(&self) -> u64 {
        (self.cycles - 1).div_ceil(u64::from(self.amortise) + 1) + 1
    }

    /// Returns whether an encoder can emit this.
    pub(crate) fn is_possible(&self) -> bool {
        let most = self.cycles.checked_mul(u64::from(self.width));
        self.cycles > 0 && self.retired >= self.least() && most.is_some_and(|most| self.retired <= most)
    }

    /// Returns the exact run that the totals imply, if they do.
    pub(crate) fn as_run(&self) -> Option<Run> {
        let one_each = self.retired == self.cycles && (self.amortise == 0 || self.width == 1);
        let each = match () {
            () if self.cycles == 1 => self.retired as u8,
            () if self.retired == self.cycles * u64::from(self.width) => self.width,
            () if one_each => 1,
            () => return None,
        };
        Some(Run { cycle: self.cycle, cycles: self.cycles, each })
    }
}

/// A deliberate stop of tracing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Off {
    /// Cycle up to which the trace is complete.
    pub cycle: u64,
    /// Number of instructions since the encoder began.
    pub retired: u64,
}

/// The reason of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// The bytes begin in the middle of a stream.
    Begun,
    /// Bytes are not a packet, or a checksum is wrong.
    Damaged,
    /// Packets are missing, as the sequence numbers show.
    Missing,
    /// The port was too slow for some packets, and reported it.
    Overflow,
    /// Packets have right checksums, but their contents are impossible.
    Malformed,
    /// The items since the last sync do not lead to this sync, so none of them is reliable.
    Mismatch,
    /// The bytes end before the trace does.
    Truncated,
}

/// A loss of trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Reason of the loss.
    pub why: Why,
    /// Offset of the first byte that could not be used.
    pub offset: u64,
    /// Offset after the last byte that could not be used.
    pub end: u64,
    /// Cycle from which on nothing is known. `None` at the beginning, and if the cycle numbers go back.
    pub from: Option<u64>,
    /// Cycle from which on the trace is known again. `None` at the end.
    pub to: Option<u64>,
    /// Number of instructions that were lost, if the counts show it.
    pub retired: Option<u64>,
}

/// A consumer of what a decoder emits, in order.
pub trait DeltaSink {
    /// Accepts a sync at this offset of the stream. Decoding can begin there.
    fn sync(&mut self, offset: u64, sync: &Sync);
    /// Accepts cycles that are known exactly.
    fn run(&mut self, run: Run);
    /// Accepts cycles of which the total is known.
    fn span(&mut self, span: Span);
    /// Accepts a stop of tracing.
    fn off(&mut self, offset: u64, off: Off);
    /// Accepts a loss. A sync or the end follows.
    fn lost(&mut self, lost: Lost);
}

/// An item that a decoder emits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A sync, at which decoding can begin.
    Sync {
        /// Offset in the stream.
        offset: u64,
        /// Contents of the sync.
        sync: Sync,
    },
    /// Cycles that are known exactly.
    Run(Run),
    /// Cycles of which the total is known.
    Span(Span),
    /// A stop of tracing.
    Off {
        /// Offset in the stream.
        offset: u64,
        /// Contents of the packet.
        off: Off,
    },
    /// A loss.
    Lost(Lost),
}

impl DeltaSink for Vec<Item> {
    fn sync(&mut self, offset: u64, sync: &Sync) {
        self.push(Item::Sync { offset, sync: *sync });
    }

    fn run(&mut self, run: Run) {
        self.push(Item::Run(run));
    }

    fn span(&mut self, span: Span) {
        self.push(Item::Span(span));
    }

    fn off(&mut self, offset: u64, off: Off) {
        self.push(Item::Off { offset, off });
    }

    fn lost(&mut self, lost: Lost) {
        self.push(Item::Lost(lost));
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Begun => "the bytes begin inside a stream",
            Self::Damaged => "bytes that are not a packet",
            Self::Missing => "packets are missing",
            Self::Overflow => "the port was too slow",
            Self::Malformed => "packets with impossible contents",
            Self::Mismatch => "the cycles do not lead to the next sync",
            Self::Truncated => "the bytes end before the trace does",
        })
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sync { offset, sync } => write!(
                f,
                "sync at {offset:#x}: cycle {}, address {:#x}, {} retired, {}",
                sync.cycle, sync.address, sync.retired, sync.config
            ),
            Self::Run(run) => write!(f, "cycle {}: {} x {}", run.cycle, run.cycles, run.each),
            Self::Span(span) => {
                let stalls = span.stalls();
                write!(f, "cycle {}: {} in {} cycles, ", span.cycle, span.retired, span.cycles)?;
                write!(f, "{} to {} of them stalls", stalls.start(), stalls.end())
            }
            Self::Off { offset, off } => {
                write!(f, "off at {offset:#x}: cycle {}, {} retired", off.cycle, off.retired)
            }
            Self::Lost(lost) => {
                let cycle = |cycle: Option<u64>| cycle.map_or("?".to_owned(), |cycle| cycle.to_string());
                write!(f, "lost at {:#x}..{:#x}: cycles ", lost.offset, lost.end)?;
                write!(f, "{}..{}: {}", cycle(lost.from), cycle(lost.to), lost.why)
            }
        }
    }
}
