//! When instructions retired: elements in, times out.

use tracewright_core::{Block, Element, Stamp};
use tracewright_delta::Cycles;

/// What tells the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A retirement-delta trace of the same run: the cycle of each instruction.
    Delta,
    /// Cycle counts between the elements: the cycles that some blocks took together. They count from 0 where tracing begins, and
    /// anew after each gap.
    Counts,
    /// Times in the trace, here and there: the same, coarser.
    Times,
}

/// Gives the instructions of a trace their times.
#[derive(Debug)]
pub struct Clock<'a> {
    source: Source<'a>,
    /// The stamps of the last block.
    stamps: Vec<Stamp>,
}

#[derive(Debug)]
enum Source<'a> {
    Delta(Box<Beside<'a>>),
    /// The sum of all counts.
    Counts(u64),
    Times(Option<u64>),
}

/// A delta trace beside the elements.
#[derive(Debug)]
struct Beside<'a> {
    cycles: Cycles<'a>,
    /// What comes next does not follow: its place in the delta trace must be found.
    is_open: bool,
    /// Times that were told since the last block: one of them may be the cycle of what comes next.
    times: Vec<u64>,
    /// Instructions that were not found in it.
    unknown: u64,
}

/// More times than these between two blocks are not of one packet.
const MOST_TIMES: usize = 4;

/// What an element says of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told<'s> {
    /// It is a block: when its instructions retired.
    Block(&'s [Stamp]),
    /// All instructions so far had retired in this cycle, the last of them perhaps in it.
    Reached(u64),
    /// It is not known how many cycles lie between what came and what comes.
    Lost,
    /// Nothing.
    Nothing,
}

impl<'a> Clock<'a> {
    /// A clock that reads a delta trace.
    #[must_use]
    pub fn delta(bytes: &'a [u8]) -> Self {
        let beside = Beside { cycles: Cycles::new(bytes), is_open: true, times: Vec::new(), unknown: 0 };
        Self { source: Source::Delta(Box::new(beside)), stamps: Vec::new() }
    }

    /// A clock that sums up cycle counts.
    #[must_use]
    pub fn counts() -> Self {
        Self { source: Source::Counts(0), stamps: Vec::new() }
    }

    /// A clock that reads times.
    #[must_use]
    pub fn times() -> Self {
        Self { source: Source::Times(None), stamps: Vec::new() }
    }

    /// What tells the time.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.source {
            Source::Delta(_) => Kind::Delta,
            Source::Counts(_) => Kind::Counts,
            Source::Times(_) => Kind::Times,
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
            (Source::Delta(beside), _) if breaks => {
                beside.is_open = true;
                beside.times.clear();
                Told::Lost
            }
            (Source::Counts(now), Element::Cycles(Some(cycles))) => {
                *now = now.saturating_add((*cycles).into());
                Told::Reached(*now)
            }
            (Source::Counts(now), Element::Cycles(None)) => {
                *now = 0;
                Told::Lost
            }
            (Source::Counts(now), _) if breaks => {
                *now = 0;
                Told::Lost
            }
            (Source::Times(now), Element::Timestamp { value, .. }) => {
                let goes_back = now.is_some_and(|now| *value < now);
                *now = Some(*value);
                if goes_back { Told::Lost } else { Told::Reached(*value) }
            }
            (Source::Times(now), _) if breaks => {
                *now = None;
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
        };
        self.stamps.resize(block.count as usize, stamp);
    }

    /// Nothing more comes.
    pub fn end(&mut self) -> End {
        match &mut self.source {
            Source::Delta(beside) => {
                let cycle = beside.cycles.end();
                End { cycle, unknown: beside.unknown, left: beside.cycles.passed() }
            }
            Source::Counts(_) | Source::Times(_) => End::default(),
        }
    }
}

/// How a delta trace ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// The cycle after the last one that it tells of, if it is whole.
    pub cycle: Option<u64>,
    /// Instructions whose cycles it does not tell.
    pub unknown: u64,
    /// Instructions that it tells of and the other trace does not.
    pub left: u64,
}

/// Whether what comes next does not follow what came.
fn is_break(element: &Element) -> bool {
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
        | Element::Event(_)
        | Element::Instrumentation { .. }
        | Element::Transaction(_)
        | Element::Data { .. }
        | Element::DataLost
        | Element::End => false,
    }
}

impl Beside<'_> {
    fn block(&mut self, block: &Block, stamps: &mut Vec<Stamp>) {
        if self.times.is_empty() {
            if self.is_open {
                self.cycles.resume(block.start);
            }
        } else if self.is_open || self.cycles.is_waiting() {
            // A packet has a time, and so may have its message: only the packet's is that of an instruction.
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
