//! Elements as lines, with the cycles of instructions where a clock tells them.

use tracewright::Clocks;
use tracewright_core::{Element, Stamp};
use tracewright_engine::{At, Consumer, Source};

use super::cycles;
use tracewright_engine::Line;

/// When an element happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct When<'a> {
    /// When the instructions of a block retired, if there is a clock.
    pub stamps: Option<&'a [Stamp]>,
    /// The last timestamp of its source.
    pub time: Option<u64>,
}

/// What makes lines of elements.
pub trait Lines: Sync {
    /// Writes the lines of an element.
    fn lines(&self, line: &mut Line, at: &At<'_>, element: &Element, when: When<'_>);
}

/// Lists elements.
pub struct Listing<'a, L> {
    pub lines: L,
    pub clocks: Option<&'a Clocks>,
    /// Whether timestamps are wanted.
    pub times: bool,
}

/// A source that is being listed.
#[derive(Debug, Default)]
pub struct State<'a> {
    cycles: cycles::State<'a>,
    time: Option<u64>,
}

impl State<'_> {
    fn note(&mut self, element: &Element) {
        // 0 means unknown.
        if let Element::Timestamp { value: value @ 1.., .. } = element {
            self.time = Some(*value);
        }
    }
}

impl<'a, L: Lines> Consumer for Listing<'a, L> {
    type State = State<'a>;
    type Output = Line;

    fn element(&self, state: &mut Self::State, line: &mut Line, at: &At<'_>, element: &Element) {
        state.note(element);
        let stamps = state.cycles.take(self.clocks, at.source.index, element);
        self.lines.lines(line, at, element, When { stamps, time: state.time });
    }

    fn passed(&self, state: &mut Self::State, source: &Source<'_>, element: &Element) {
        state.note(element);
        state.cycles.take(self.clocks, source.index, element);
    }

    fn end(&self, state: &mut Self::State, _line: &mut Line, at: &At<'_>, _overflowed: bool) {
        state.cycles.end(at.source.id);
    }

    /// Cycles are summed up from the beginning, and a timestamp holds until the next.
    fn in_order(&self) -> bool {
        self.clocks.is_some() || self.times
    }

    fn needs_all(&self) -> bool {
        self.clocks.is_some() || self.times
    }

    /// Output is taken piece by piece, in order: nothing is left to merge.
    fn merge(&self, _: &mut Line, _: Line) {}

    fn len(&self, line: &Line) -> usize {
        line.bytes().len()
    }

    fn clear(&self, line: &mut Line) {
        line.clear();
    }
}
