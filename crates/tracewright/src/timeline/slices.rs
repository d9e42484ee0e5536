//! Calls along the run as slices, written in a viewer's format.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracewright_core::Element;
use tracewright_engine::{At, Consumer, Source};
use tracewright_flow::hash::{HashMap, HashSet};
use tracewright_input::perf::TimeConversion;
use tracewright_profile::slices::{Limits, Shown, Slicer, Slices};
use tracewright_profile::{FunctionKey, Functions, Kind, Program};

use super::messages::{Events, Messages};
use crate::clocks::{ClockEnd, Clocks};
use crate::profile::Outside;
use crate::thread_names::ThreadNames;

/// The unit of a timeline's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Cycles.
    Cycles,
    /// The trace's own time.
    Times,
    /// Timestamps, at an unknown rate.
    Timestamps,
    /// Nanoseconds of the recorder's clock.
    RealTime,
    /// Instructions.
    Instructions,
}

impl Unit {
    /// Returns the unit in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::Times => "the trace's time",
            Self::Timestamps => "timestamps",
            Self::RealTime => "real time",
            Self::Instructions => "instructions",
        }
    }

    /// Returns what tells the times, in words.
    pub fn told_by(self) -> &'static str {
        if self.is_told_by_timestamps() { "timestamps" } else { self.words() }
    }

    /// Returns whether timestamps tell the times.
    pub fn is_told_by_timestamps(self) -> bool {
        matches!(self, Self::Timestamps | Self::RealTime)
    }

    /// Returns in words how many of the unit, at a rate in hertz, are a microsecond of the viewer.
    pub fn rate(self, hertz: u64) -> String {
        let each = hertz as f64 / 1e6;
        match self {
            Self::RealTime => format!(" from timestamps at {each} MHz"),
            _ => format!(", {each} in a microsecond of the viewer"),
        }
    }
}

/// An end of a slice.
#[derive(Clone, Copy, Debug)]
pub enum Event<'n> {
    /// A function begins: its number and its name.
    Begin(u32, &'n str),
    /// The function that began last ends.
    End,
    /// A message.
    Instant(&'n str),
    /// The trace gives this time. Between two of these, times are spread evenly over the instructions.
    Timestamp,
}

/// A writer of a timeline format.
pub trait Viewer {
    /// Writes an event of a thread of a source.
    fn event(&mut self, source: usize, thread: u32, time: u64, event: Event<'_>) -> io::Result<()>;
    /// Ends a source, whose name, unit and names of threads are known now.
    fn source(&mut self, source: usize, name: &str, unit: Unit, threads: &[String]) -> io::Result<()>;
    /// Ends the timeline.
    fn finish(&mut self) -> io::Result<()>;
}

/// Writes calls as slices.
pub struct SliceWriter<'a> {
    clocks: &'a Clocks,
    limits: Limits,
    times: Option<Range<u64>>,
    names: &'a [String],
    threads: &'a ThreadNames,
    units: &'a [Unit],
    /// Conversions of timestamps to nanoseconds, by source.
    conversions: Vec<Option<TimeConversion>>,
    program: &'a Program,
    /// Functions whose slices are wanted; `None` for all.
    only: Option<&'a HashSet<FunctionKey>>,
    shared: Mutex<Shared<'a>>,
}

struct Shared<'a> {
    viewer: Box<dyn Viewer + Send + 'a>,
    failed: Option<io::Error>,
}

/// The slices of a source.
#[derive(Debug)]
pub struct SourceSlices {
    /// Number of the source in the capture.
    pub index: usize,
    /// Number of slices.
    pub slices: u64,
    /// Number of messages, and of exceptions that are messages.
    pub messages: u64,
    /// Those of length 0.
    pub instants: u64,
    /// The time after which slices were left out.
    pub cut: Option<u64>,
    /// Calls deeper than [`DEEPEST`](tracewright_profile::DEEPEST), which have no slices.
    pub too_deep: u64,
    /// What became of its instructions.
    pub shown: Shown,
    /// Instructions outside the window.
    pub outside: Outside,
    /// How its clock ended.
    pub end: Option<ClockEnd>,
}

/// A source that is being written.
#[derive(Debug, Default)]
pub struct SliceState<'a>(Option<Box<Of<'a>>>);

#[derive(Debug)]
struct Of<'a> {
    slicer: Slicer<'a>,
    functions: Functions,
    slices: Written,
    /// Messages, if there are any and something tells their times.
    messages: Option<Messages<'a>>,
    /// Whether writing has failed.
    has_failed: bool,
}

/// What was written of a source.
#[derive(Debug, Default)]
struct Written {
    slices: u64,
    /// Slices of length 0.
    instants: u64,
    /// When the slices began that have not ended, of each thread.
    begun: HashMap<u32, Vec<u64>>,
}

/// Hands slices to the viewer.
struct Hand<'h, 'a> {
    source: usize,
    functions: &'h Functions,
    conversion: Option<TimeConversion>,
    slices: &'h mut Written,
    only: Option<&'h HashSet<FunctionKey>>,
    shared: MutexGuard<'h, Shared<'a>>,
}

impl Hand<'_, '_> {
    fn event(&mut self, thread: u32, time: u64, event: Event<'_>) {
        let time = self.conversion.map_or(time, |conversion| conversion.nanoseconds(time));
        // After a failure nothing more is written, and decoding ends.
        if self.shared.failed.is_none()
            && let Err(error) = self.shared.viewer.event(self.source, thread, time, event)
        {
            self.shared.failed = Some(error);
        }
    }
}

impl Events for Hand<'_, '_> {
    fn event(&mut self, track: u32, time: u64, event: Event<'_>) {
        self.event(track, time, event);
    }
}

impl Slices for Hand<'_, '_> {
    fn begin(&mut self, thread: u32, function: u32, time: u64) {
        self.slices.slices += 1;
        self.slices.begun.entry(thread).or_default().push(time);
        let name = self.functions.name(function);
        self.event(thread, time, Event::Begin(function, name));
    }

    fn end(&mut self, thread: u32, time: u64) {
        let begun = self.slices.begun.get_mut(&thread).and_then(Vec::pop);
        self.slices.instants += u64::from(begun == Some(time));
        self.event(thread, time, Event::End);
    }

    fn mark(&mut self, thread: u32, time: u64) {
        self.event(thread, time, Event::Timestamp);
    }

    fn wants(&self, function: u32) -> bool {
        let Some(only) = self.only else { return true };
        let function = self.functions.list().get(function as usize);
        function.is_some_and(|function| only.contains(&function.key()))
    }
}

impl fmt::Debug for SliceWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SliceWriter").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl<'a> SliceWriter<'a> {
    /// Writes slices of sources, which have these names and units, to `viewer`; only of functions in `only`, if that is given.
    /// `program` has the functions.
    pub fn new(
        clocks: &'a Clocks,
        program: &'a Program,
        (limits, times): (Limits, Option<Range<u64>>),
        (names, threads): (&'a [String], &'a ThreadNames),
        units: &'a [Unit],
        only: Option<&'a HashSet<FunctionKey>>,
        viewer: Box<dyn Viewer + Send + 'a>,
    ) -> Self {
        let shared = Mutex::new(Shared { viewer, failed: None });
        Self { clocks, limits, times, names, threads, units, conversions: Vec::new(), program, only, shared }
    }

    /// Converts timestamps of each source to nanoseconds. [`Limits::shortest`] is in nanoseconds then, too.
    #[must_use]
    pub fn in_nanoseconds(mut self, conversions: Vec<Option<TimeConversion>>) -> Self {
        self.conversions = conversions;
        self
    }

    fn conversion(&self, source: usize) -> Option<TimeConversion> {
        self.conversions.get(source).copied().flatten()
    }

    fn source(&self, index: usize) -> Box<Of<'a>> {
        let timed = self.unit(index) != Unit::Instructions;
        let clock = if timed { self.clocks.clock(index) } else { None };
        let mut limits = self.limits;
        if let Some(conversion) = self.conversion(index) {
            limits.shortest = conversion.ticks(limits.shortest);
        }
        // What has no instructions has messages instead.
        let of_messages = timed.then(|| self.clocks.clock(index)).flatten();
        let of_messages = of_messages.filter(|clock| clock.kind() != Kind::Delta);
        let messages = of_messages.map(|clock| Messages::new(clock, limits));
        let slicer = Slicer::at_times(clock, limits, self.times.clone());
        Box::new(Of {
            slicer,
            functions: Functions::default(),
            slices: Written::default(),
            messages,
            has_failed: false,
        })
    }

    fn shared(&self) -> MutexGuard<'_, Shared<'a>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unit(&self, source: usize) -> Unit {
        self.units.get(source).copied().unwrap_or(Unit::Instructions)
    }

    /// Ends the timeline. Without slices it does so only if `even_if_empty` is set. Returns whether the timeline was written.
    ///
    /// # Errors
    /// Fails if something could not be written.
    pub fn finish(self, done: &[SourceSlices], even_if_empty: bool) -> io::Result<bool> {
        let mut shared = self.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        match shared.failed.take() {
            Some(error) => Err(error),
            None if even_if_empty || done.iter().any(|source| source.slices > 0 || source.messages > 0) => {
                shared.viewer.finish().map(|()| true)
            }
            None => Ok(false),
        }
    }
}

impl<'a> Consumer for SliceWriter<'a> {
    type State = SliceState<'a>;
    type Output = Vec<SourceSlices>;

    fn element(&self, state: &mut SliceState<'a>, _: &mut Vec<SourceSlices>, at: &At<'_>, element: &Element) {
        let index = at.source.index;
        let of = state.0.get_or_insert_with(|| self.source(index));
        let Of { slicer, functions, slices, messages, has_failed } = &mut **of;
        // The function of a block must be known before its slices are emitted.
        if let Element::Block(block) = element {
            functions.find(self.program, at.image, block.start, at.space);
        }
        if let Element::Exception(exception) = element
            && let Some(address) = exception.return_address
        {
            functions.find(self.program, at.image, address, at.space);
        }
        let known = &*functions;
        let find = |address, space| known.known(address, space);
        let (only, shared) = (self.only, self.shared());
        let conversion = self.conversion(index);
        let mut hand = Hand { source: index, functions: known, conversion, slices, only, shared };
        slicer.take(element, at.space, find, &mut hand);
        if !matches!(element, Element::Block(_))
            && let Some(messages) = messages
        {
            messages.take(element, at, &mut hand);
        }
        *has_failed = hand.shared.failed.is_some();
    }

    fn passed(&self, state: &mut SliceState<'a>, source: &Source<'_>, element: &Element) {
        let Of { slicer, functions, slices, .. } =
            &mut **state.0.get_or_insert_with(|| self.source(source.index));
        let (only, shared) = (self.only, self.shared());
        let conversion = self.conversion(source.index);
        slicer.pass(element, &mut Hand { source: source.index, functions, conversion, slices, only, shared });
    }

    fn in_order(&self) -> bool {
        true
    }

    fn is_done(&self, state: &SliceState<'a>) -> bool {
        state.0.as_ref().is_some_and(|of| of.has_failed)
    }

    /// Time is counted from the beginning.
    fn needs_all(&self) -> bool {
        self.clocks.any() || self.times.is_some()
    }

    fn end(&self, state: &mut SliceState<'a>, done: &mut Vec<SourceSlices>, at: &At<'_>, _overflowed: bool) {
        let Some(mut of) = state.0.take() else { return };
        let index = at.source.index;
        let Of { slicer, functions, slices, messages, .. } = &mut *of;
        let end = {
            let (only, shared) = (self.only, self.shared());
            let conversion = self.conversion(index);
            let mut hand = Hand { source: index, functions, conversion, slices, only, shared };
            if let Some(messages) = messages {
                messages.finish(at, &mut hand);
            }
            slicer.finish(&mut hand)
        };
        let end = end.map(|end| ClockEnd { id: at.source.id, end });
        let name = self.names.get(index).map_or("?", String::as_str);
        let mut threads: Vec<_> =
            slicer.threads().iter().map(|thread| self.threads.name(index, thread)).collect();
        let written = messages.as_ref().map_or(0, Messages::written);
        if let Some(messages) = messages.as_ref().filter(|_| written > 0) {
            threads.resize_with(1, || "instructions".into());
            threads.extend(messages.names().iter().cloned());
        }
        let mut shared = self.shared();
        // A source without slices would overwrite the thread names of the same source in another file.
        if (slices.slices > 0 || written > 0)
            && let Err(error) = shared.viewer.source(index, name, self.unit(index), &threads)
        {
            shared.failed.get_or_insert(error);
        }
        let (shown, outside) = (slicer.shown(), Outside::from(slicer.gate()));
        let cut = slicer.cut().map(|time| match self.conversion(index) {
            Some(conversion) => conversion.nanoseconds(time),
            None => time,
        });
        let too_deep = slicer.losses().too_deep;
        let Written { slices, instants, .. } = *slices;
        done.push(SourceSlices {
            index,
            slices,
            messages: written,
            instants,
            cut,
            too_deep,
            shown,
            outside,
            end,
        });
    }

    fn merge(&self, into: &mut Vec<SourceSlices>, later: Vec<SourceSlices>) {
        into.extend(later);
    }
}
