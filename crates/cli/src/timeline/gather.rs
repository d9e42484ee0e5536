//! Elements of all sources, as slices.

use std::collections::HashSet;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracewright_core::Element;
use tracewright_engine::{At, Consumer, Source};
use tracewright_profile::slices::{Limits, Shown, Slicer, Slices};
use tracewright_profile::{Functions, Thread};

use crate::clocks::{self, Clocks};
use crate::filter::Outside;

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
    times: Option<Range<u64>>,
    names: &'a [String],
    units: &'a [Unit],
    /// Functions whose slices are wanted: their files and starts; nothing: all.
    only: Option<&'a HashSet<(Option<u32>, Option<u64>)>>,
    shared: Mutex<Shared<'a>>,
}

struct Shared<'a> {
    viewer: Box<dyn Viewer + Send + 'a>,
    failed: Option<io::Error>,
}

/// A source that ended.
pub struct Done {
    /// Its number in the capture.
    pub index: usize,
    /// How many slices it has.
    pub slices: u64,
    /// When they were cut.
    pub cut: Option<u64>,
    /// What became of its instructions.
    pub shown: Shown,
    pub outside: Outside,
}

/// A source that is being written.
#[derive(Default)]
pub struct State<'a>(Option<Box<Of<'a>>>);

struct Of<'a> {
    slicer: Slicer<'a>,
    functions: Functions,
    slices: u64,
    /// Whether they cannot be written any more.
    has_failed: bool,
}

/// Hands slices to the viewer.
struct Hand<'h, 'a> {
    source: usize,
    functions: &'h Functions,
    slices: &'h mut u64,
    only: Option<&'h HashSet<(Option<u32>, Option<u64>)>>,
    shared: MutexGuard<'h, Shared<'a>>,
}

impl Hand<'_, '_> {
    fn event(&mut self, thread: u32, time: u64, event: Event<'_>) {
        // After a failure nothing is written any more, and decoding ends.
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

    fn wants(&self, function: u32) -> bool {
        let Some(only) = self.only else { return true };
        let function = self.functions.list().get(function as usize);
        function.is_some_and(|function| only.contains(&(function.file, function.start)))
    }
}

impl<'a> Gather<'a> {
    pub fn new(
        clocks: &'a Clocks,
        (limits, times): (Limits, Option<Range<u64>>),
        names: &'a [String],
        units: &'a [Unit],
        only: Option<&'a HashSet<(Option<u32>, Option<u64>)>>,
        viewer: Box<dyn Viewer + Send + 'a>,
    ) -> Self {
        let shared = Mutex::new(Shared { viewer, failed: None });
        Self { clocks, limits, times, names, units, only, shared }
    }

    fn source(&self, index: usize) -> Box<Of<'a>> {
        let timed = self.unit(index) != Unit::Instructions;
        let clock = if timed { self.clocks.clock(index) } else { None };
        let slicer = Slicer::at_times(clock, self.limits, self.times.clone());
        Box::new(Of { slicer, functions: Functions::default(), slices: 0, has_failed: false })
    }

    fn shared(&self) -> MutexGuard<'_, Shared<'a>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unit(&self, source: usize) -> Unit {
        self.units.get(source).copied().unwrap_or(Unit::Instructions)
    }

    /// Writes the end, unless there are no slices and an empty timeline is of no use.
    pub fn finish(self, done: &[Done], even_if_empty: bool) -> io::Result<()> {
        let mut shared = self.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        match shared.failed.take() {
            Some(error) => Err(error),
            None if even_if_empty || done.iter().any(|source| source.slices > 0) => shared.viewer.finish(),
            None => Ok(()),
        }
    }
}

impl<'a> Consumer for Gather<'a> {
    type State = State<'a>;
    type Output = Vec<Done>;

    fn element(&self, state: &mut State<'a>, _: &mut Vec<Done>, at: &At<'_>, element: &Element) {
        let index = at.source.index;
        let of = state.0.get_or_insert_with(|| self.source(index));
        let Of { slicer, functions, slices, has_failed } = &mut **of;
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
        let (only, shared) = (self.only, self.shared());
        let mut hand = Hand { source: index, functions: known, slices, only, shared };
        slicer.take(element, at.space, find, &mut hand);
        *has_failed = hand.shared.failed.is_some();
    }

    fn passed(&self, state: &mut State<'a>, source: &Source<'_>, element: &Element) {
        let Of { slicer, functions, slices, .. } =
            &mut **state.0.get_or_insert_with(|| self.source(source.index));
        let (only, shared) = (self.only, self.shared());
        slicer.pass(element, &mut Hand { source: source.index, functions, slices, only, shared });
    }

    fn in_order(&self) -> bool {
        true
    }

    fn is_done(&self, state: &State<'a>) -> bool {
        state.0.as_ref().is_some_and(|of| of.has_failed)
    }

    /// Cycles are counted from the beginning.
    fn needs_all(&self) -> bool {
        self.clocks.any()
    }

    fn end(&self, state: &mut State<'a>, done: &mut Vec<Done>, at: &At<'_>, _overflowed: bool) {
        let Some(mut of) = state.0.take() else { return };
        let index = at.source.index;
        let Of { slicer, functions, slices, .. } = &mut *of;
        let end = {
            let (only, shared) = (self.only, self.shared());
            let mut hand = Hand { source: index, functions, slices, only, shared };
            slicer.finish(&mut hand)
        };
        if let Some(end) = end {
            clocks::report_end(at.source.id, end);
        }
        let name = self.names.get(index).map_or("?", String::as_str);
        let mut shared = self.shared();
        // One without slices would take the names of threads from the same source in another file.
        if *slices > 0
            && let Err(error) = shared.viewer.source(index, name, self.unit(index), slicer.threads())
        {
            shared.failed.get_or_insert(error);
        }
        let (shown, outside) = (slicer.shown(), Outside::from(slicer.gate()));
        done.push(Done { index, slices: *slices, cut: slicer.cut(), shown, outside });
    }

    fn merge(&self, into: &mut Vec<Done>, later: Vec<Done>) {
        into.extend(later);
    }
}
