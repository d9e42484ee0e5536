//! Exceptions and threads of each source: how often, how long, how far apart.

use tracewright_core::{Element, Exception};
use tracewright_engine::{At, Consumer, Source};
use tracewright_image::Image;
use tracewright_input::Capture;
use tracewright_profile::{
    Clock, ExceptionKey, ExceptionStats, Exceptions, Kind, ThreadKey, ThreadStats, Threads, ThreadsBy,
};

use crate::clocks::Clocks;
use crate::thread_names::ThreadNames;

/// Measures the exceptions and threads of each source.
#[derive(Debug)]
pub struct ExceptionMeter<'a> {
    /// Clocks of the sources. Time is the number of instructions where there is none.
    pub clocks: &'a Clocks,
    /// What tells which thread runs.
    pub threads_by: ThreadsBy,
}

/// The exceptions and threads of a source.
#[derive(Debug, Default)]
pub struct SourceExceptions {
    /// Number of the source in the capture.
    pub index: usize,
    /// Its exceptions.
    pub exceptions: Exceptions,
    /// Its threads.
    pub threads: Threads,
}

/// An exception of a source, with names.
#[derive(Debug)]
pub struct ExceptionRow<'a> {
    /// Name of the source.
    pub source: &'a str,
    /// Name of the exception.
    pub name: String,
    /// Unit of all times: `cycles`, `ticks` or `instructions`.
    pub unit: &'static str,
    /// Number of the exception.
    pub key: ExceptionKey,
    /// How often it came, how long it took, and how far apart.
    pub stats: &'a ExceptionStats,
}

/// A thread of a source, with names.
#[derive(Debug)]
pub struct ThreadRow<'a> {
    /// Name of the source.
    pub source: &'a str,
    /// Name of the thread.
    pub name: String,
    /// Unit of all times.
    pub unit: &'static str,
    /// What the trace tells of the thread.
    pub key: ThreadKey,
    /// How often it ran, and how long.
    pub stats: &'a ThreadStats,
}

impl SourceExceptions {
    /// Returns the exceptions with names, by their numbers.
    pub fn rows<'a>(&'a self, capture: &'a Capture, clocks: &Clocks) -> Vec<ExceptionRow<'a>> {
        let (of, unit) = (Source::new(capture, self.index), unit(clocks, self.index));
        let row = |(key, stats): (&ExceptionKey, &'a ExceptionStats)| {
            let ExceptionKey { number, interrupt } = *key;
            let (value, return_address) = (None, None);
            let exception = Exception { number, interrupt, value, return_address, at_target: false };
            ExceptionRow { source: &of.of.name, name: of.exception_name(&exception), unit, key: *key, stats }
        };
        self.exceptions.kinds().map(row).collect()
    }

    /// Returns the threads with names. A thread that is told by the address of its control block has the name of a variable there.
    pub fn thread_rows<'a>(
        &'a self,
        capture: &'a Capture,
        image: &Image,
        clocks: &Clocks,
    ) -> Vec<ThreadRow<'a>> {
        let (names, unit) = (ThreadNames::of(capture), unit(clocks, self.index));
        let row = |(key, stats): (&ThreadKey, &'a ThreadStats)| {
            let name = match *key {
                ThreadKey::Context(thread) => names.name(self.index, &thread),
                ThreadKey::Value(value) => match image.symbols().variable_at(value) {
                    Some((name, start)) if start == value => name.into(),
                    Some((name, start)) => format!("{name}+{:#x}", value - start),
                    None => format!("thread {value:#x}"),
                },
            };
            ThreadRow { source: &capture.sources[self.index].name, name, unit, key: *key, stats }
        };
        self.threads.threads().map(row).collect()
    }
}

/// Returns the unit of the times of a source.
fn unit(clocks: &Clocks, source: usize) -> &'static str {
    match clocks.kind(source) {
        Some(Kind::Delta | Kind::Counts) => "cycles",
        Some(Kind::Times | Kind::Timestamps) => "ticks",
        None => "instructions",
    }
}

/// A source that is being measured.
#[derive(Debug, Default)]
pub struct ExceptionState<'a>(Option<Measured<'a>>);

#[derive(Debug)]
struct Measured<'a> {
    clock: Option<Clock<'a>>,
    exceptions: Exceptions,
    threads: Threads,
}

impl<'a> ExceptionMeter<'a> {
    fn next(&self, state: &mut ExceptionState<'a>, source: usize, element: &Element, inside: bool) {
        let Measured { clock, exceptions, threads } = state.0.get_or_insert_with(|| Measured {
            clock: self.clocks.clock(source),
            exceptions: Exceptions::default(),
            threads: Threads::new(self.threads_by),
        });
        let told = clock.as_mut().map(|clock| clock.take(element));
        match inside {
            true => exceptions.take(element, told.as_ref()),
            false => exceptions.pass(element, told.as_ref()),
        }
        threads.take(element, told.as_ref(), exceptions);
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
        let measured = state.0.take().map(|Measured { exceptions, threads, .. }| (exceptions, threads));
        let (mut exceptions, mut threads) = measured.unwrap_or_default();
        exceptions.finish();
        threads.finish();
        done.push(SourceExceptions { index: at.source.index, exceptions, threads });
    }

    fn merge(&self, into: &mut Vec<SourceExceptions>, later: Vec<SourceExceptions>) {
        into.extend(later);
        into.sort_by_key(|source| source.index);
    }
}
