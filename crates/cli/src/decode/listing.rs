//! Elements as lines, with the cycles of instructions where a clock tells them.

use tracewright::Clocks;
use tracewright_core::{Element, Stamp};
use tracewright_engine::{At, Consumer, Source};

use super::cycles;
use crate::line::Line;

/// What makes lines of elements.
pub trait Lines: Sync {
    /// Writes the lines of an element. `stamps` says when the instructions of a block retired, if there is a clock.
    fn lines(&self, line: &mut Line, at: &At<'_>, element: &Element, stamps: Option<&[Stamp]>);
}

/// Lists elements.
pub struct Listing<'a, L> {
    pub lines: L,
    pub clocks: Option<&'a Clocks>,
}

impl<'a, L: Lines> Consumer for Listing<'a, L> {
    type State = cycles::State<'a>;
    type Output = Line;

    fn element(&self, state: &mut Self::State, line: &mut Line, at: &At<'_>, element: &Element) {
        let stamps = state.take(self.clocks, at.source.index, element);
        self.lines.lines(line, at, element, stamps);
    }

    fn passed(&self, state: &mut Self::State, source: &Source<'_>, element: &Element) {
        state.take(self.clocks, source.index, element);
    }

    fn end(&self, state: &mut Self::State, _line: &mut Line, at: &At<'_>, _overflowed: bool) {
        state.end(at.source.id);
    }

    /// Cycles are summed up from the beginning.
    fn in_order(&self) -> bool {
        self.clocks.is_some()
    }

    fn needs_all(&self) -> bool {
        self.clocks.is_some()
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
