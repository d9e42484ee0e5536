//! Elements of all sources, as slices.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracewright_core::Element;
use tracewright_profile::slices::{Limits, Slicer, Slices};
use tracewright_profile::{Functions, Thread};

use crate::clocks::{self, Clocks};
use crate::decode::part::{At, Print};
use crate::line::Line;

/// What a timeline's times are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Cycles,
    Times,
    Instructions,
}

impl Unit {
    pub fn words(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::Times => "the trace's time",
            Self::Instructions => "instructions",
        }
    }
}

/// A function begins, or the last ends, at a time.
#[derive(Clone, Copy, Debug)]
pub enum Event<'n> {
    Begin(u32, &'n str),
    End,
}

/// What writes a timeline.
pub trait Viewer {
    /// In a thread of a source something happens.
    fn event(&mut self, source: usize, thread: u32, time: u64, event: Event<'_>) -> io::Result<()>;
    /// A source ends: its name, and its threads.
    fn source(&mut self, source: usize, name: &str, unit: Unit, threads: &[Thread]) -> io::Result<()>;
    /// All sources have ended.
    fn finish(&mut self) -> io::Result<()>;
}

/// Writes slices of what is decoded.
pub struct Gather<'a> {
    clocks: &'a Clocks,
    limits: Limits,
    names: &'a [String],
    units: &'a [Unit],
    shared: Mutex<Shared<'a>>,
}

struct Shared<'a> {
    viewer: Box<dyn Viewer + Send + 'a>,
    failed: Option<io::Error>,
    /// Sources that ended: how many slices, and where they were cut.
    done: Vec<(usize, u64, Option<u64>)>,
}

/// A source that is being written.
#[derive(Default)]
pub struct State<'a>(Option<Box<Of<'a>>>);

struct Of<'a> {
    slicer: Slicer<'a>,
    functions: Functions,
    slices: u64,
}

/// Hands slices to the viewer.
struct Hand<'h, 'a> {
    source: usize,
    functions: &'h Functions,
    slices: &'h mut u64,
    shared: MutexGuard<'h, Shared<'a>>,
}

impl Hand<'_, '_> {
    fn event(&mut self, thread: u32, time: u64, event: Event<'_>) {
        // After a failure there is nothing to do but to come to the end.
        if self.shared.failed.is_none()
            && let Err(error) = self.shared.viewer.event(self.source, thread, time, event)
        {
            self.shared.failed = Some(error);
        }
    }
}

impl Slices for Hand<'_, '_> {
    fn begin(&mut self, thread: u32, function: u32, time: u64) {
        *self.slices += 1;
        let name = self.functions.name(function);
        self.event(thread, time, Event::Begin(function, name));
    }

    fn end(&mut self, thread: u32, time: u64) {
        self.event(thread, time, Event::End);
    }
}

impl<'a> Gather<'a> {
    pub fn new(
        clocks: &'a Clocks,
        limits: Limits,
        names: &'a [String],
        units: &'a [Unit],
        viewer: Box<dyn Viewer + Send + 'a>,
    ) -> Self {
        let shared = Mutex::new(Shared { viewer, failed: None, done: Vec::new() });
        Self { clocks, limits, names, units, shared }
    }

    fn shared(&self) -> MutexGuard<'_, Shared<'a>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unit(&self, source: usize) -> Unit {
        self.units.get(source).copied().unwrap_or(Unit::Instructions)
    }

    /// Writes the end. Of each source: its number, how many slices it has, and where they were cut.
    pub fn finish(self) -> io::Result<Vec<(usize, u64, Option<u64>)>> {
        let mut shared = self.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        match shared.failed.take() {
            Some(error) => Err(error),
            None => {
                shared.viewer.finish()?;
                Ok(shared.done)
            }
        }
    }
}

impl<'a> Print for Gather<'a> {
    type State = State<'a>;

    fn element(&self, state: &mut State<'a>, _line: &mut Line, at: &At<'_>, element: &Element) {
        let index = at.source.index;
        let of = state.0.get_or_insert_with(|| {
            let timed = self.unit(index) != Unit::Instructions;
            let clock = if timed { self.clocks.clock(index) } else { None };
            let slicer = Slicer::new(clock, self.limits);
            Box::new(Of { slicer, functions: Functions::default(), slices: 0 })
        });
        let Of { slicer, functions, slices } = &mut **of;
        // The function of a block is known before slices are told.
        if let Element::Block(block) = element {
            functions.find(at.image, block.start, at.space);
        }
        if let Element::Exception(exception) = element
            && let Some(address) = exception.return_address
        {
            functions.find(at.image, address, at.space);
        }
        let known = &*functions;
        let find = |address, space| known.known(address, space);
        let mut hand = Hand { source: index, functions: known, slices, shared: self.shared() };
        slicer.take(element, at.space, find, &mut hand);
    }

    fn end(&self, state: &mut State<'a>, _line: &mut Line, at: &At<'_>, _overflowed: bool) {
        let Some(mut of) = state.0.take() else { return };
        let index = at.source.index;
        let Of { slicer, functions, slices } = &mut *of;
        let end = {
            let mut hand = Hand { source: index, functions, slices, shared: self.shared() };
            slicer.finish(&mut hand)
        };
        if let Some(end) = end {
            clocks::report_end(at.source.id, end);
        }
        let name = self.names.get(index).map_or("?", String::as_str);
        let mut shared = self.shared();
        let told = shared.viewer.source(index, name, self.unit(index), slicer.threads());
        if let Err(error) = told {
            shared.failed.get_or_insert(error);
        }
        shared.done.push((index, *slices, slicer.cut()));
    }
}
