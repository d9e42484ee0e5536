//! Retirement times of instructions, from elements.

use tracewright_core::{Block, Element, Stamp};
use tracewright_delta::Cycles;

/// Source of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Retirement-delta trace of the same run, which gives the cycle of each instruction.
    Delta,
    /// Cycle counts between elements: the cycles that several blocks took together, or local timestamps. They start from 0, and go on
    /// over gaps from their sum before: how many cycles a gap took is not known.
    Counts,
    /// Timestamps in the trace: like `Counts`, but coarser.
    Times,
    /// Timestamps of a counter that all sources share. It never restarts, and 0 means unknown.
    Timestamps,
}

impl Kind {
    /// Returns the source of time in words: `cycle counts`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Delta => "retirement-delta trace",
            Self::Counts => "cycle counts",
            Self::Times => "times in the trace",
            Self::Timestamps => "timestamps",
        }
    }
}

/// Assigns times to the instructions of a trace.
#[derive(Debug)]
pub struct Clock<'a> {
    source: Source<'a>,
    /// Stamps of the last block.
    stamps: Vec<Stamp>,
}

#[derive(Debug)]
enum Source<'a> {
    Delta(Box<Beside<'a>>),
    /// Sum of all counts.
    Counts(u64),
    Times(Option<u64>),
    Timestamps {
        /// Largest timestamp so far.
        last: u64,
        /// Set if `last` holds for what follows.
        is_known: bool,
    },
}

/// A delta trace that runs beside the elements.
#[derive(Debug)]
struct Beside<'a> {
    cycles: Cycles<'a>,
    /// Set if the next block does not follow the last one, so that its place in the delta trace must be searched.
    is_open: bool,
    /// Timestamps since the last block. One of them may be the cycle of the next block.
    times: Vec<u64>,
    /// Instructions that were not found in the delta trace.
    unknown: u64,
    endless: Endless,
}

/// Whether the trace is in an endless loop, of which it tells one turn and the delta trace all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Endless {
    No,
    /// The next block is its turn.
    Begins,
    /// That was the last block.
    Turned,
}

/// Maximum number of timestamps that one packet can cause between two blocks.
const MOST_TIMES: usize = 4;

/// Time information of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told<'s> {
    /// The element is a block whose instructions retired at these times.
    Block(&'s [Stamp]),
    /// All instructions so far had retired by this cycle, the last of them possibly in it.
    Reached(u64),
    /// The number of cycles between what came before and what comes next is not known.
    Lost,
    /// Nothing.
    Nothing,
}

impl<'a> Clock<'a> {
    /// Creates a clock that reads a delta trace.
    pub fn delta(bytes: &'a [u8]) -> Self {
        let beside = Beside {
            cycles: Cycles::new(bytes),
            is_open: true,
            times: Vec::new(),
            unknown: 0,
            endless: Endless::No,
        };
        Self { source: Source::Delta(Box::new(beside)), stamps: Vec::new() }
    }

    /// Creates a clock that sums up cycle counts.
    pub fn counts() -> Self {
        Self { source: Source::Counts(0), stamps: Vec::new() }
    }

    /// Creates a clock that reads timestamps.
    pub fn times() -> Self {
        Self { source: Source::Times(None), stamps: Vec::new() }
    }

    /// Creates a clock that reads timestamps of a shared counter. A timestamp that is smaller than one before it is not
    /// used: nothing is known until the counter has caught up.
    pub fn timestamps() -> Self {
        Self { source: Source::Timestamps { last: 0, is_known: false }, stamps: Vec::new() }
    }

    /// Returns the source of time.
    pub fn kind(&self) -> Kind {
        match self.source {
            Source::Delta(_) => Kind::Delta,
            Source::Counts(_) => Kind::Counts,
            Source::Times(_) => Kind::Times,
            Source::Timestamps { .. } => Kind::Timestamps,
        }
    }

    /// Takes the next element.
    pub fn take(&mut self, element: &Element) -> Told<'_> {
        if let Element::Block(block) = element {
            self.stamps.clear();
            self.block(block);
            return Told::Block(&self.stamps);
        }
        let breaks = is_break(element);
        match (&mut self.source, element) {
            (Source::Delta(beside), Element::Timestamp { value, .. }) => {
                if beside.times.len() < MOST_TIMES {
                    beside.times.push(*value);
                }
                Told::Nothing
            }
            // What the trace tells of an endless loop is its first turn; the delta trace may tell of more.
            (Source::Delta(beside), Element::UnknownPath { start, next, .. }) if *start == Some(*next) => {
                beside.endless = Endless::Begins;
                Told::Nothing
            }
            (Source::Delta(beside), _) if breaks => {
                beside.endless = Endless::No;
                beside.is_open = true;
                beside.times.clear();
                Told::Lost
            }
            (Source::Counts(now), Element::Cycles(Some(cycles))) => {
                *now = now.saturating_add((*cycles).into());
                Told::Reached(*now)
            }
            // Each is the time since the one before, too.
            (Source::Counts(now), Element::LocalTime { cycles, .. }) => {
                *now = now.saturating_add(*cycles);
                Told::Reached(*now)
            }
            (Source::Counts(_), Element::Cycles(None)) => Told::Lost,
            (Source::Counts(_), _) if breaks => Told::Lost,
            (Source::Times(now), Element::Timestamp { value, .. }) => {
                let goes_back = now.is_some_and(|now| *value < now);
                *now = Some(*value);
                if goes_back { Told::Lost } else { Told::Reached(*value) }
            }
            (Source::Times(now), _) if breaks => {
                *now = None;
                Told::Lost
            }
            (Source::Timestamps { last, is_known }, Element::Timestamp { value: value @ 1.., .. }) => {
                *is_known = *value >= *last;
                *last = (*last).max(*value);
                if *is_known { Told::Reached(*value) } else { Told::Lost }
            }
            (Source::Timestamps { is_known, .. }, _) if breaks => {
                *is_known = false;
                Told::Lost
            }
            _ => Told::Nothing,
        }
    }

    fn block(&mut self, block: &Block) {
        let stamp = match &mut self.source {
            Source::Delta(beside) => return beside.block(block, &mut self.stamps),
            Source::Counts(now) => Stamp::From(*now),
            Source::Times(now) => now.map_or(Stamp::Unknown, Stamp::From),
            Source::Timestamps { last, is_known: true } => Stamp::From(*last),
            Source::Timestamps { is_known: false, .. } => Stamp::Unknown,
        };
        self.stamps.resize(block.count as usize, stamp);
    }

    /// Ends the trace, and returns how the delta trace ended.
    pub fn end(&mut self) -> End {
        match &mut self.source {
            Source::Delta(beside) => {
                let cycle = beside.cycles.end();
                let left = if beside.endless == Endless::No { beside.cycles.passed() } else { 0 };
                End { cycle, unknown: beside.unknown, left }
            }
            Source::Counts(_) | Source::Times(_) | Source::Timestamps { .. } => End::default(),
        }
    }
}

/// End of a delta trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// Cycle after the last one of the delta trace, if it is complete.
    pub cycle: Option<u64>,
    /// Instructions that are not in the delta trace.
    pub unknown: u64,
    /// Instructions of the delta trace that are not in the other trace.
    pub left: u64,
}

/// Returns whether the next block may not follow the last one.
pub(crate) fn is_break(element: &Element) -> bool {
    match element {
        Element::TraceOn(_)
        | Element::Gap { .. }
        | Element::Lost(_)
        | Element::Mismatch(_)
        | Element::NoCode { .. }
        | Element::UnknownPath { .. } => true,
        Element::Block(_)
        | Element::Target { .. }
        | Element::Context(..)
        | Element::Exception(_)
        | Element::ExceptionReturn
        | Element::Timestamp { .. }
        | Element::TimestampMarker
        | Element::Cycles(_)
        | Element::LocalTime { .. }
        | Element::Event(_)
        | Element::Trigger
        | Element::Message(_)
        | Element::Instrumentation { .. }
        | Element::Transaction(_)
        | Element::Data { .. }
        | Element::DataLost
        | Element::End => false,
    }
}

impl Beside<'_> {
    fn block(&mut self, block: &Block, stamps: &mut Vec<Stamp>) {
        match self.endless {
            Endless::No => {}
            Endless::Begins => self.endless = Endless::Turned,
            Endless::Turned => (self.endless, self.is_open) = (Endless::No, true),
        }
        if self.times.is_empty() {
            if self.is_open {
                self.cycles.resume(block.start);
            }
        } else if self.is_open || self.cycles.is_waiting() {
            // Both a packet and its message may have a time; only the packet's is that of an instruction.
            self.times.iter().any(|&time| self.cycles.seek(time, block.start));
        }
        self.times.clear();
        self.is_open = false;
        self.cycles.block(block.start, block.count, stamps);
        if let Some(Stamp::Unknown) = stamps.last() {
            self.unknown += stamps.iter().filter(|&&stamp| stamp == Stamp::Unknown).count() as u64;
        }
    }
}
