//! Listings: elements as lines of text, with the cycles of instructions where a clock tells them.
//!
//! [`Listing`] decodes to the lines that a [`Lines`] makes: [`Json`], or one of your own. [`TextCache`] keeps those of blocks, which run
//! again and again.

pub(crate) mod json;
pub mod messages;

use tracewright_core::{Element, Stamp};
use tracewright_engine::{At, Consumer, Line, Source};

pub use self::json::Json;
use crate::clocks::{ClockEnd, Clocks, SourceClock};
pub use crate::text_cache::TextCache;

/// Time of an element.
#[derive(Clone, Copy, Debug, Default)]
pub struct When<'a> {
    /// Cycles in which the instructions of a block retired, if there is a clock.
    pub stamps: Option<&'a [Stamp]>,
    /// Last timestamp of its source.
    pub time: Option<u64>,
}

/// How much of a trace a listing shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// A line for each block.
    Blocks,
    /// A line for each instruction.
    Instructions {
        /// Set for the functions inlined at each instruction.
        inlined: bool,
    },
    /// A line for each block, and for all that tells when it ran.
    Elements,
}

impl Detail {
    /// Returns whether it shows an element.
    pub fn shows(self, element: &Element) -> bool {
        match element {
            // The gap tells it.
            Element::Lost(_) => false,
            Element::Timestamp { .. }
            | Element::TimestampMarker
            | Element::Cycles(_)
            | Element::LocalTime { .. }
            | Element::Event(_) => self == Self::Elements,
            _ => true,
        }
    }

    /// Returns what tells whether it shows an element.
    pub fn filter(self) -> fn(&Element) -> bool {
        match self {
            Self::Blocks | Self::Instructions { .. } => |element| Self::Blocks.shows(element),
            Self::Elements => |element| Self::Elements.shows(element),
        }
    }
}

/// A writer of lines for elements.
pub trait Lines: Sync {
    /// Writes the lines of an element.
    fn lines(&self, line: &mut Line, at: &At<'_>, element: &Element, when: When<'_>);
}

/// Consumer that writes the lines of elements, in order.
#[derive(Debug)]
pub struct Listing<'a, L> {
    /// Writer of the lines.
    pub lines: L,
    /// Clocks, if the cycle of each instruction is wanted.
    pub clocks: Option<&'a Clocks>,
    /// Set if timestamps are wanted.
    pub times: bool,
    /// Called with how the clock of each source ended.
    pub ended: fn(ClockEnd),
}

/// A source that is being listed.
#[derive(Debug, Default)]
pub struct ListingState<'a> {
    clock: SourceClock<'a>,
    time: Option<u64>,
}

impl ListingState<'_> {
    fn note(&mut self, element: &Element) {
        // 0 means unknown.
        if let Element::Timestamp { value: value @ 1.., .. } = element {
            self.time = Some(*value);
        }
    }
}

impl<'a, L: Lines> Consumer for Listing<'a, L> {
    type State = ListingState<'a>;
    type Output = Line;

    fn element(&self, state: &mut Self::State, line: &mut Line, at: &At<'_>, element: &Element) {
        state.note(element);
        let stamps = state.clock.take(self.clocks, at.source.index, element);
        self.lines.lines(line, at, element, When { stamps, time: state.time });
    }

    fn passed(&self, state: &mut Self::State, source: &Source<'_>, element: &Element) {
        state.note(element);
        state.clock.take(self.clocks, source.index, element);
    }

    fn end(&self, state: &mut Self::State, _line: &mut Line, at: &At<'_>, _overflowed: bool) {
        state.clock.end(at.source.id).into_iter().for_each(self.ended);
    }

    /// Cycles are summed up from the beginning, and a timestamp holds until the next.
    fn in_order(&self) -> bool {
        self.clocks.is_some() || self.times
    }

    fn needs_all(&self) -> bool {
        self.clocks.is_some() || self.times
    }

    /// Text is taken piece by piece, in order: only what is not listed is left to merge.
    fn merge(&self, line: &mut Line, later: Line) {
        line.leave_out(later.unlisted());
    }

    fn len(&self, line: &Line) -> usize {
        line.bytes().len()
    }

    fn clear(&self, line: &mut Line) {
        line.clear();
    }
}
