//! Events of the trace unit, attributed to the blocks that ran just before.

use tracewright_core::{Block, Element, MemorySpace, Stamp};
use tracewright_flow::hash::HashMap;

use crate::clock::Told;

/// An event number and the block it is attributed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventAt {
    /// Event number, from 0.
    pub event: u8,
    /// Last block before the event. `None` if there was none since tracing began.
    pub block: Option<(Block, MemorySpace)>,
}

/// Totals of one event number at one block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventRow {
    /// Number of events.
    pub count: u64,
    /// Number of events with a known distance.
    pub timed: u64,
    /// Sum of the distances. A distance is the number of cycles between the last known time before the event and the
    /// first known time after it. It bounds the distance of the event from the end of its block.
    pub cycles: u64,
    /// Largest distance.
    pub most: u64,
}

impl EventRow {
    /// Adds another row.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.timed += other.timed;
        self.cycles += other.cycles;
        self.most = self.most.max(other.most);
    }
}

/// Attributes events to blocks.
#[derive(Clone, Debug, Default)]
pub struct Events {
    rows: HashMap<EventAt, EventRow>,
    last: Option<(Block, MemorySpace)>,
    /// Last known time.
    time: Option<u64>,
    /// Events since that time.
    waiting: Vec<(EventAt, u64)>,
}

/// Maximum number of events that wait for a time.
const MOST_WAITING: usize = 1 << 16;

impl Events {
    /// Takes the next element, and what the clock, if any, says about it.
    #[inline]
    pub fn take(&mut self, element: &Element, space: MemorySpace, told: Option<&Told<'_>>) {
        // Nearly all elements are blocks without a time.
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

    /// Iterates over all rows.
    pub fn rows(&self) -> impl Iterator<Item = (&EventAt, &EventRow)> {
        self.rows.iter()
    }
}
