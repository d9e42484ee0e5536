//! Where the cycles of each source went.

use std::collections::HashMap;

use tracewright_core::{Block, Element};
use tracewright_engine::{At, Consumer, Source};
use tracewright_flow::cut;
use tracewright_profile::{Clock, Gate, Stalls, Told, Window};

use crate::clocks::{ClockEnd, Clocks};
use crate::names;

/// Sums up where the cycles of each source went.
#[derive(Debug)]
pub struct StallMeter<'a> {
    /// Clocks of the sources.
    pub clocks: &'a Clocks,
    /// The window of time that counts.
    pub window: &'a Window,
}

/// The stalls of a source.
#[derive(Debug)]
pub struct SourceStalls {
    /// Number of the source in the capture.
    pub index: usize,
    /// Stalls; `None` if the source has no clock.
    pub stalls: Option<Stalls>,
    /// Names of functions, by their numbers in `stalls`.
    pub functions: Vec<String>,
    /// How its clock ended.
    pub end: Option<ClockEnd>,
}

/// A source that is being measured.
#[derive(Debug, Default)]
pub struct StallState<'a>(State<'a>);

#[derive(Debug, Default)]
enum State<'a> {
    #[default]
    New,
    On(Box<Timed<'a>>),
    Off,
}

#[derive(Debug)]
struct Timed<'a> {
    clock: Clock<'a>,
    gate: Gate,
    stalls: Stalls,
    functions: Functions,
}

/// Numbers of functions.
#[derive(Debug, Default)]
struct Functions {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl<'a> StallMeter<'a> {
    /// Returns the measurement of a source, if it has a clock.
    fn timed<'s>(
        &self,
        StallState(state): &'s mut StallState<'a>,
        source: usize,
    ) -> Option<&'s mut Timed<'a>> {
        if let State::New = state {
            *state = self.clocks.clock(source).map_or(State::Off, |clock| {
                let (gate, stalls) = (Gate::new(self.window, Some(clock.kind())), Stalls::new(clock.kind()));
                State::On(Box::new(Timed { clock, gate, stalls, functions: Functions::default() }))
            });
        }
        match state {
            State::On(timed) => Some(timed),
            State::New | State::Off => None,
        }
    }
}

impl<'a> Consumer for StallMeter<'a> {
    type State = StallState<'a>;
    type Output = Vec<SourceStalls>;

    fn element(&self, state: &mut StallState<'a>, _: &mut Vec<SourceStalls>, at: &At<'_>, element: &Element) {
        let Some(timed) = self.timed(state, at.source.index) else { return };
        let Timed { clock, gate, stalls, functions } = timed;
        let told = clock.take(element);
        let inside = gate.take(element, Some(&told));
        match (told, element) {
            (Told::Block(stamps), Element::Block(block)) => {
                let Some(part) = cut(at.image, at.space, block, &inside) else {
                    return stalls.passed(stamps);
                };
                let (before, rest) = stamps.split_at(inside.start as usize);
                let (stamps, after) = rest.split_at(part.count as usize);
                stalls.passed(before);
                stalls.block(&part, at.space, stamps, || functions.number(at, block));
                stalls.passed(after);
            }
            (told, _) => stalls.told(told),
        }
    }

    fn passed(&self, state: &mut StallState<'a>, source: &Source<'_>, element: &Element) {
        let Some(Timed { clock, gate, stalls, .. }) = self.timed(state, source.index) else { return };
        let told = clock.take(element);
        gate.pass(element, Some(&told));
        match told {
            Told::Block(stamps) => stalls.passed(stamps),
            told => stalls.told(told),
        }
    }

    fn memory(&self, state: &StallState<'a>) -> usize {
        match &state.0 {
            State::On(timed) => timed.stalls.costs.memory(),
            State::New | State::Off => 0,
        }
    }

    /// Cycles are counted from the beginning.
    fn needs_all(&self) -> bool {
        true
    }

    fn in_order(&self) -> bool {
        true
    }

    fn end(&self, state: &mut StallState<'a>, done: &mut Vec<SourceStalls>, at: &At<'_>, _overflowed: bool) {
        let index = at.source.index;
        let of = match std::mem::take(&mut state.0) {
            State::On(timed) => {
                let Timed { mut clock, mut stalls, functions, .. } = *timed;
                let end = clock.end();
                stalls.finish(end.cycle);
                let end = Some(ClockEnd { id: at.source.id, end });
                SourceStalls { index, stalls: Some(stalls), functions: functions.names, end }
            }
            State::New | State::Off => SourceStalls { index, stalls: None, functions: Vec::new(), end: None },
        };
        done.push(of);
    }

    fn merge(&self, into: &mut Vec<SourceStalls>, later: Vec<SourceStalls>) {
        into.extend(later);
        into.sort_by_key(|source| source.index);
    }
}

impl Functions {
    fn number(&mut self, at: &At<'_>, block: &Block) -> u32 {
        let name = names::function(at.image, block.start, at.space);
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            self.names.len() as u32 - 1
        })
    }
}
