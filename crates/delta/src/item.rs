//! What a decoder tells.

use std::fmt;
use std::ops::RangeInclusive;

use crate::packet::Sync;

/// Cycles one after another that each retired the same number of instructions: exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first.
    pub cycle: u64,
    /// How many: not 0.
    pub cycles: u64,
    /// Instructions that each retired: not 0.
    pub each: u8,
}

impl Run {
    /// Instructions that retired in all of them.
    #[must_use]
    pub const fn retired(&self) -> u64 {
        self.cycles.saturating_mul(self.each as u64)
    }
}

/// Cycles one after another of which only the total is known: which of them retired how many is not told.
///
/// The first and the last one retired something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub cycle: u64,
    /// How many: at least 2.
    pub cycles: u64,
    /// Instructions that retired in all of them.
    pub retired: u64,
    /// The most that retire in one.
    pub width: u8,
    /// The longest stall among them.
    pub amortise: u32,
}

impl Span {
    /// Between which numbers the stall cycles among them are.
    #[must_use]
    pub fn stalls(&self) -> RangeInclusive<u64> {
        let busy = self.retired.div_ceil(u64::from(self.width.max(1))).max(self.least());
        let least = self.cycles.saturating_sub(self.retired);
        least..=self.cycles.saturating_sub(busy).max(least)
    }

    /// Between which cycles the instruction with this number among them, from 0, retired.
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

    /// The fewest cycles of them that can have retired something.
    fn least(&self) -> u64 {
        (self.cycles - 1).div_ceil(u64::from(self.amortise) + 1) + 1
    }

    /// What {A, B, C} says of A cycles; `None` if no encoder says so.
    pub(crate) fn told(&self) -> Option<Told> {
        let most = self.cycles.checked_mul(u64::from(self.width))?;
        if self.cycles == 0 || self.retired < self.least() || self.retired > most {
            return None;
        }
        let one_each = self.retired == self.cycles && (self.amortise == 0 || self.width == 1);
        let each = match () {
            () if self.cycles == 1 => self.retired as u8,
            () if self.retired == most => self.width,
            () if one_each => 1,
            () => return Some(Told::Span(*self)),
        };
        Some(Told::Run(Run { cycle: self.cycle, cycles: self.cycles, each }))
    }
}

/// What is known of some cycles.
pub(crate) enum Told {
    Run(Run),
    Span(Span),
}

/// Tracing stopped, on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Off {
    /// The cycle up to which everything was told.
    pub cycle: u64,
    /// Instructions told since the encoder began.
    pub retired: u64,
}

/// Why something was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// The bytes begin in the middle of a stream.
    Begun,
    /// Bytes that are no packet, or a wrong checksum.
    Damaged,
    /// Packets are missing: their numbers are.
    Missing,
    /// The port was too slow for some packets, and says so.
    Overflow,
    /// Packets with right checksums that make no sense.
    Malformed,
    /// What was told since the last sync does not lead to this one: none of it can be relied on.
    Mismatch,
    /// The bytes end without the end of the trace.
    Truncated,
}

/// What is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Why.
    pub why: Why,
    /// The first byte that could not be used.
    pub offset: u64,
    /// The one after the last.
    pub end: u64,
    /// The cycle from which on nothing is known. `None` at the beginning, and if the cycles then go back.
    pub from: Option<u64>,
    /// The cycle that is known again. `None` at the end.
    pub to: Option<u64>,
    /// How many instructions retired that were not told, where the counts say so.
    pub retired: Option<u64>,
}

/// Takes what a decoder tells, in order.
pub trait Sink {
    /// Reading can begin here: at this byte of the stream.
    fn sync(&mut self, offset: u64, sync: &Sync);
    /// Cycles of which all is known.
    fn run(&mut self, run: Run);
    /// Cycles of which the total is known.
    fn span(&mut self, span: Span);
    /// Tracing stopped.
    fn off(&mut self, offset: u64, off: Off);
    /// Something was lost. What follows is a sync, or nothing.
    fn lost(&mut self, lost: Lost);
}

/// What a decoder tells, as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// Reading can begin here.
    Sync {
        /// Where it is in the stream.
        offset: u64,
        /// What it says.
        sync: Sync,
    },
    /// Cycles of which all is known.
    Run(Run),
    /// Cycles of which the total is known.
    Span(Span),
    /// Tracing stopped.
    Off {
        /// Where that is in the stream.
        offset: u64,
        /// What it says.
        off: Off,
    },
    /// Something was lost.
    Lost(Lost),
}

impl Sink for Vec<Item> {
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
            Self::Begun => "the bytes begin within a stream",
            Self::Damaged => "bytes that are no packet",
            Self::Missing => "packets are missing",
            Self::Overflow => "the port was too slow",
            Self::Malformed => "packets that make no sense",
            Self::Mismatch => "what was told does not lead to the next sync",
            Self::Truncated => "the bytes end before the trace",
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
