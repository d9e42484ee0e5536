//! Elements of all sources, summed up.

use std::collections::HashMap;

use tracewright_core::{Block, Element};
use tracewright_engine::{At, Consumer, Source};
use tracewright_flow::cut;
use tracewright_profile::{Clock, Gate, Stalls, Told, Window};

use crate::clocks::{self, Clocks};
use crate::decode::names;

/// Sums up where the cycles of each source went.
pub struct Gather<'a> {
    pub clocks: &'a Clocks,
    pub window: &'a Window,
    /// Set when the capture has been decoded before, so that problems are not reported twice.
    pub again: bool,
}

/// What a source came to.
pub struct OfSource {
    /// Its number in the capture.
    pub index: usize,
    /// Nothing if nobody knows its cycles.
    pub stalls: Option<Stalls>,
    /// The functions that blocks are of, by the numbers that they have there.
    pub functions: Vec<String>,
}

/// A source that is being summed up.
#[derive(Default)]
pub enum State<'a> {
    #[default]
    New,
    On(Box<Timed<'a>>),
    Off,
}

pub struct Timed<'a> {
    clock: Clock<'a>,
    gate: Gate,
    stalls: Stalls,
    functions: Functions,
}

/// Numbers of functions.
#[derive(Default)]
struct Functions {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl<'a> Gather<'a> {
    /// A source at work, if anybody knows its cycles.
    fn timed<'s>(&self, state: &'s mut State<'a>, source: usize) -> Option<&'s mut Timed<'a>> {
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

impl<'a> Consumer for Gather<'a> {
    type State = State<'a>;
    type Output = Vec<OfSource>;

    fn element(&self, state: &mut State<'a>, _: &mut Vec<OfSource>, at: &At<'_>, element: &Element) {
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

    fn passed(&self, state: &mut State<'a>, source: &Source<'_>, element: &Element) {
        let Some(Timed { clock, gate, stalls, .. }) = self.timed(state, source.index) else { return };
        let told = clock.take(element);
        gate.pass(element, Some(&told));
        match told {
            Told::Block(stamps) => stalls.passed(stamps),
            told => stalls.told(told),
        }
    }

    fn memory(&self, state: &State<'a>) -> usize {
        match state {
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

    fn end(&self, state: &mut State<'a>, done: &mut Vec<OfSource>, at: &At<'_>, _overflowed: bool) {
        let index = at.source.index;
        let of = match std::mem::take(state) {
            State::On(timed) => {
                let Timed { mut clock, mut stalls, functions, .. } = *timed;
                let end = clock.end();
                // With a time that is asked for, the clock was read before.
                if !self.again || self.window.is_all() {
                    clocks::report_end(at.source.id, end);
                }
                stalls.finish(end.cycle);
                OfSource { index, stalls: Some(stalls), functions: functions.names }
            }
            State::New | State::Off => OfSource { index, stalls: None, functions: Vec::new() },
        };
        done.push(of);
    }

    fn merge(&self, into: &mut Vec<OfSource>, later: Vec<OfSource>) {
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
