//! Where the cycles of each source went: [`StallMeter`] measures, [`StallTables`] sums up by function, source line and instruction.

mod instructions;
mod tables;

use tracewright_core::{Block, Element};
use tracewright_engine::{At, Consumer, Source};
use tracewright_flow::cut;
use tracewright_flow::hash::HashMap;
use tracewright_profile::{Stalls, Timed, TimedGate, Told, Window};

use crate::clocks::{ClockEnd, Clocks};
use crate::names;

pub use self::instructions::InstructionCosts;
pub use self::tables::{StallInstruction, StallLine, StallOrder, StallRows, StallTables};

/// Sums up where the cycles of each source went.
#[derive(Debug)]
pub struct StallMeter<'a> {
    /// Clocks of the sources.
    pub clocks: &'a Clocks,
    /// The window of time that counts.
    pub window: &'a Window,
}

/// The stalls of a source.
#[derive(Debug, Default)]
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
pub struct StallState<'a>(Option<Box<Measured<'a>>>);

#[derive(Debug)]
struct Measured<'a> {
    gate: TimedGate<'a>,
    /// Stalls; `None` if the source has no clock.
    stalls: Option<Stalls>,
    functions: Functions,
}

/// Numbers of functions.
#[derive(Debug, Default)]
struct Functions {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl<'a> StallMeter<'a> {
    fn source(&self, index: usize) -> Box<Measured<'a>> {
        let gate = TimedGate::new(self.window, self.clocks.clock(index));
        let stalls = gate.kind().map(Stalls::new);
        Box::new(Measured { gate, stalls, functions: Functions::default() })
    }
}

impl<'a> Consumer for StallMeter<'a> {
    type State = StallState<'a>;
    type Output = Vec<SourceStalls>;

    fn element(&self, state: &mut StallState<'a>, _: &mut Vec<SourceStalls>, at: &At<'_>, element: &Element) {
        let Measured { gate, stalls, functions } =
            &mut **state.0.get_or_insert_with(|| self.source(at.source.index));
        let (Some(stalls), Timed { told: Some(told), inside, .. }) = (stalls, gate.take(element)) else {
            return;
        };
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
        let Measured { gate, stalls, .. } = &mut **state.0.get_or_insert_with(|| self.source(source.index));
        match (stalls, gate.pass(element).told) {
            (Some(stalls), Some(Told::Block(stamps))) => stalls.passed(stamps),
            (Some(stalls), Some(told)) => stalls.told(told),
            _ => {}
        }
    }

    fn memory(&self, state: &StallState<'a>) -> usize {
        let stalls = state.0.as_ref().and_then(|of| of.stalls.as_ref());
        stalls.map_or(0, |stalls| stalls.costs.memory())
    }

    /// Cycles are counted from the beginning.
    fn needs_all(&self) -> bool {
        true
    }

    fn in_order(&self) -> bool {
        true
    }

    fn end(&self, state: &mut StallState<'a>, done: &mut Vec<SourceStalls>, at: &At<'_>, _overflowed: bool) {
        let mut of = SourceStalls { index: at.source.index, ..SourceStalls::default() };
        if let Some(mut measured) = state.0.take() {
            let end = measured.gate.end();
            of.stalls = measured.stalls;
            of.functions = measured.functions.names;
            if let (Some(stalls), Some(end)) = (&mut of.stalls, end) {
                stalls.finish(end.cycle);
            }
            of.end = end.map(|end| ClockEnd { id: at.source.id, end });
        }
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
