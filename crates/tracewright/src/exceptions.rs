//! Exceptions of each source: how often, how long, how far apart.

use tracewright_core::Element;
use tracewright_engine::{At, Consumer, Source};
use tracewright_profile::{Clock, Exceptions};

use crate::clocks::Clocks;

/// Measures the exceptions of each source.
#[derive(Debug)]
pub struct ExceptionMeter<'a> {
    /// Clocks of the sources. Time is the number of instructions where there is none.
    pub clocks: &'a Clocks,
}

/// The exceptions of a source.
#[derive(Debug, Default)]
pub struct SourceExceptions {
    /// Number of the source in the capture.
    pub index: usize,
    /// Its exceptions.
    pub exceptions: Exceptions,
}

/// A source that is being measured.
#[derive(Debug, Default)]
pub struct ExceptionState<'a>(Option<(Option<Clock<'a>>, Exceptions)>);

impl<'a> ExceptionMeter<'a> {
    fn next(&self, state: &mut ExceptionState<'a>, source: usize, element: &Element, inside: bool) {
        let new = || (self.clocks.clock(source), Exceptions::default());
        let (clock, exceptions) = state.0.get_or_insert_with(new);
        let told = clock.as_mut().map(|clock| clock.take(element));
        match inside {
            true => exceptions.take(element, told.as_ref()),
            false => exceptions.pass(element, told.as_ref()),
        }
    }
}

impl<'a> Consumer for ExceptionMeter<'a> {
    type State = ExceptionState<'a>;
    type Output = Vec<SourceExceptions>;

    fn element(
        &self,
        state: &mut ExceptionState<'a>,
        _: &mut Vec<SourceExceptions>,
        at: &At<'_>,
        element: &Element,
    ) {
        self.next(state, at.source.index, element, true);
    }

    fn passed(&self, state: &mut ExceptionState<'a>, source: &Source<'_>, element: &Element) {
        self.next(state, source.index, element, false);
    }

    /// Cycles are counted from the beginning.
    fn needs_all(&self) -> bool {
        true
    }

    fn in_order(&self) -> bool {
        true
    }

    fn end(
        &self,
        state: &mut ExceptionState<'a>,
        done: &mut Vec<SourceExceptions>,
        at: &At<'_>,
        _overflowed: bool,
    ) {
        let mut exceptions = state.0.take().map_or_else(Exceptions::default, |(_, exceptions)| exceptions);
        exceptions.finish();
        done.push(SourceExceptions { index: at.source.index, exceptions });
    }

    fn merge(&self, into: &mut Vec<SourceExceptions>, later: Vec<SourceExceptions>) {
        into.extend(later);
        into.sort_by_key(|source| source.index);
    }
}
