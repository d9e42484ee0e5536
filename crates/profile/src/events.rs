//! Events of the trace unit, put down to the blocks that ran just before.

use std::collections::HashMap;

use tracewright_core::{Block, Element, MemorySpace, Stamp};

use crate::clock::Told;

/// What an event was put down to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventAt {
    /// Its number, from 0 on.
    pub event: u8,
    /// The block that was told last before it; `None`: none since tracing began.
    pub block: Option<(Block, MemorySpace)>,
}

/// Events of one number at one block, summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventRow {
    /// How many.
    pub count: u64,
    /// How many of them have a distance.
    pub timed: u64,
    /// The sum of the distances: the cycles between the last time that is known before an event, and the first after it. The event, and the end of its
    /// block, are at most so far apart.
    pub cycles: u64,
    /// The largest distance.
    pub most: u64,
}

impl EventRow {
    /// Adds others.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.timed += other.timed;
        self.cycles += other.cycles;
        self.most = self.most.max(other.most);
    }
}

/// Puts events down to blocks, in order.
#[derive(Clone, Debug, Default)]
pub struct Events {
    rows: HashMap<EventAt, EventRow>,
    last: Option<(Block, MemorySpace)>,
    /// The last time that is known.
    time: Option<u64>,
    /// Events since.
    waiting: Vec<(EventAt, u64)>,
}

/// No more events wait for a time.
const MOST_WAITING: usize = 1 << 16;

impl Events {
    /// Takes the next element, and what the clock says of it, if there is one.
    #[inline]
    pub fn take(&mut self, element: &Element, space: MemorySpace, told: Option<&Told<'_>>) {
        // Nearly all are blocks, and nearly nothing tells times.
        if let (Element::Block(block), None) = (element, told) {
            self.last = Some((*block, space));
            return;
        }
        match told {
            Some(Told::Block(stamps)) => {
                let exact = |stamp: &Stamp| match stamp {
                    Stamp::Exact(cycle) => Some(*cycle),
                    _ => None,
                };
                if let Some(first) = stamps.first().and_then(exact) {
                    self.reached(first);
                }
                self.time = stamps.last().and_then(exact).or(self.time);
            }
            Some(Told::Reached(cycle)) => self.reached(*cycle),
            Some(Told::Lost) => {
                self.waiting.clear();
                self.time = None;
            }
            Some(Told::Nothing) | None => {}
        }
        match element {
            Element::Block(block) => self.last = Some((*block, space)),
            Element::Event(bits) => {
                for event in (0..8).filter(|event| bits >> event & 1 == 1) {
                    let at = EventAt { event, block: self.last };
                    self.rows.entry(at).or_default().count += 1;
                    if let Some(time) = self.time.filter(|_| self.waiting.len() < MOST_WAITING) {
                        self.waiting.push((at, time));
                    }
                }
            }
            Element::TraceOn(_) | Element::Gap { .. } => self.last = None,
            _ => {}
        }
    }

    fn reached(&mut self, cycle: u64) {
        for (at, time) in self.waiting.drain(..) {
            if let (Some(row), Some(distance)) = (self.rows.get_mut(&at), cycle.checked_sub(time)) {
                row.merge(&EventRow { count: 0, timed: 1, cycles: distance, most: distance });
            }
        }
        self.time = Some(cycle);
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = (&EventAt, &EventRow)> {
        self.rows.iter()
    }
}
