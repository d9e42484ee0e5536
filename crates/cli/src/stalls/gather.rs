//! Elements of all sources, summed up.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tracewright_core::{Block, Element};
use tracewright_profile::{Clock, Stalls, Told};

use crate::clocks::{self, Clocks};
use crate::decode::names;
use crate::decode::part::{At, Print};
use crate::line::Line;

/// Sums up what is decoded.
pub struct Gather<'a> {
    clocks: &'a Clocks,
    done: Mutex<Vec<OfSource>>,
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
    pub fn new(clocks: &'a Clocks) -> Self {
        Self { clocks, done: Mutex::default() }
    }

    /// What all sources came to.
    pub fn finish(self) -> Vec<OfSource> {
        let mut done = self.done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|source| source.index);
        done
    }
}

impl<'a> Print for Gather<'a> {
    type State = State<'a>;

    fn element(&self, state: &mut State<'a>, _line: &mut Line, at: &At<'_>, element: &Element) {
        if let State::New = state {
            *state = self.clocks.clock(at.source.index).map_or(State::Off, |clock| {
                let stalls = Stalls::new(clock.kind());
                State::On(Box::new(Timed { clock, stalls, functions: Functions::default() }))
            });
        }
        let State::On(timed) = state else { return };
        let Timed { clock, stalls, functions } = &mut **timed;
        match (clock.take(element), element) {
            (Told::Block(stamps), Element::Block(block)) => {
                stalls.block(block, at.space, stamps, || functions.number(at, block));
            }
            (told, _) => stalls.told(told),
        }
    }

    fn end(&self, state: &mut State<'a>, _line: &mut Line, at: &At<'_>, _overflowed: bool) {
        let index = at.source.index;
        let of = match std::mem::take(state) {
            State::On(timed) => {
                let Timed { mut clock, mut stalls, functions } = *timed;
                let end = clock.end();
                clocks::report_end(at.source.id, end);
                stalls.finish(end.cycle);
                OfSource { index, stalls: Some(stalls), functions: functions.names }
            }
            State::New | State::Off => OfSource { index, stalls: None, functions: Vec::new() },
        };
        self.done.lock().unwrap_or_else(PoisonError::into_inner).push(of);
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
