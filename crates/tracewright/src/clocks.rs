//! Clocks: where the cycle of each instruction of a source comes from.

use std::collections::BTreeSet;
use std::fmt;

use tracewright_core::{Element, Stamp};
use tracewright_image::Bytes;
use tracewright_input::{Capture, FileSums, Protocol, Source, map_file};
use tracewright_profile::{Clock, End, Kind, Told};

use crate::error::Error;
use crate::glance;

/// The clock of each source, by the source's index in the capture.
#[derive(Debug, Default)]
pub struct Clocks {
    sources: Vec<Option<Timing>>,
    /// Problems of delta traces.
    pub problems: Vec<String>,
}

#[derive(Debug)]
enum Timing {
    /// A delta trace of the same run.
    Delta(Bytes),
    Counts,
    Times,
    Timestamps,
}

impl Clocks {
    /// Opens the clocks of all sources. If a delta trace cannot be read, the trace's own cycle counts or times are used instead.
    pub fn open(capture: &Capture) -> Self {
        let mut problems = Vec::new();
        let sources =
            capture.sources.iter().map(|source| Timing::of(source, capture, &mut problems)).collect();
        Self { sources, problems }
    }

    /// Opens the clocks as [`open`](Self::open) does. For sources without a clock it also looks for cycle counts in the trace, since
    /// recorded registers may not mention them.
    ///
    /// # Errors
    /// Fails if the trace cannot be read.
    pub fn find(capture: &Capture) -> Result<Self, Error> {
        let mut clocks = Self::open(capture);
        let without = (0..clocks.sources.len()).filter(|&source| clocks.sources[source].is_none());
        let is_count = |element: &Element| matches!(element, Element::Cycles(_));
        for source in glance::sources_with(capture, without.collect::<Vec<_>>(), is_count)? {
            clocks.sources[source] = Some(Timing::Counts);
        }
        Ok(clocks)
    }

    /// Opens clocks that read timestamps, for all sources that have some. Looks for timestamps in the trace where recorded registers do
    /// not mention them.
    ///
    /// # Errors
    /// Fails if the trace cannot be read.
    pub fn timestamps(capture: &Capture) -> Result<Self, Error> {
        let (mut with, without): (BTreeSet<usize>, BTreeSet<usize>) =
            (0..capture.sources.len()).partition(|&source| has_timestamps(&capture.sources[source]));
        let is_timestamp = |element: &Element| matches!(element, Element::Timestamp { .. });
        with.extend(glance::sources_with(capture, without, is_timestamp)?);
        let sources =
            (0..capture.sources.len()).map(|source| with.contains(&source).then_some(Timing::Timestamps));
        Ok(Self { sources: sources.collect(), problems: Vec::new() })
    }

    /// Returns whether any source has a clock.
    pub fn any(&self) -> bool {
        self.sources.iter().any(Option::is_some)
    }

    /// Returns the kind of a source's clock, if it has one.
    pub fn kind(&self, source: usize) -> Option<Kind> {
        Some(match self.sources.get(source)?.as_ref()? {
            Timing::Delta(_) => Kind::Delta,
            Timing::Counts => Kind::Counts,
            Timing::Times => Kind::Times,
            Timing::Timestamps => Kind::Timestamps,
        })
    }

    /// Returns a clock for a source, from its beginning.
    pub fn clock(&self, source: usize) -> Option<Clock<'_>> {
        Some(match self.sources.get(source)?.as_ref()? {
            Timing::Delta(bytes) => Clock::delta(bytes.as_slice()),
            Timing::Counts => Clock::counts(),
            Timing::Times => Clock::times(),
            Timing::Timestamps => Clock::timestamps(),
        })
    }
}

impl Timing {
    fn of(source: &Source, capture: &Capture, problems: &mut Vec<String>) -> Option<Self> {
        if let Some(path) = &source.delta {
            match map_file(path) {
                Ok(bytes) => {
                    // Opening the capture has reported a wrong length already.
                    let has_length = |sums: &FileSums| sums.bytes == bytes.as_slice().len() as u64;
                    if capture.checksums.of(path).is_some_and(has_length)
                        && let Some(how) = capture.checksums.differs(path, bytes.as_slice())
                    {
                        problems.push(format!("{}: {how}: cycles may be wrong", path.display()));
                    }
                    return Some(Self::Delta(bytes));
                }
                Err(problem) => {
                    problems.push(format!("{}: no cycles from its delta trace: {problem}", source.name));
                }
            }
        }
        match &source.protocol {
            Protocol::Etm(params) => params.cycle_counting().then_some(Self::Counts),
            Protocol::Etrace(source) => {
                let config = &source.config;
                let has_times = !config.params.notime || config.encapsulation.has_timestamps();
                has_times.then_some(Self::Times)
            }
            Protocol::Registered(params) if params.has_cycles() => Some(Self::Counts),
            #[cfg(feature = "capture")]
            Protocol::Registered(_) => crate::log::has_cycles(source).then_some(Self::Counts),
            _ => None,
        }
    }
}

/// Returns whether the parameters of a source say that its trace has timestamps.
pub fn has_timestamps(source: &Source) -> bool {
    match &source.protocol {
        Protocol::Etm(_) => source.register("TRCCONFIGR").is_some_and(|value| value >> 11 & 1 == 1),
        Protocol::Etrace(etrace) => {
            !etrace.config.params.notime || etrace.config.encapsulation.has_timestamps()
        }
        Protocol::Registered(params) => params.has_timestamps(),
        Protocol::Unsupported(..) => false,
    }
}

/// How the clock of a source ended. Its text has a line for each disagreement between trace and clock.
#[derive(Clone, Copy, Debug)]
pub struct ClockEnd {
    /// The source's number in the buffer.
    pub id: u16,
    /// How it ended.
    pub end: End,
}

impl fmt::Display for ClockEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, end: End { unknown, left, .. } } = *self;
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        if unknown > 0 {
            writeln!(
                f,
                "source {id:#04x}: its delta trace lacks the cycle{} of {unknown} instruction{}",
                plural(unknown),
                plural(unknown)
            )?;
        }
        if left > 0 {
            writeln!(
                f,
                "source {id:#04x}: its delta trace tells of {left} instruction{} that the trace does not{}",
                plural(left),
                if unknown > 0 { ": are they of the same run?" } else { "" }
            )?;
        }
        Ok(())
    }
}

/// The clock of a source, which is started when the first element of the source is taken.
#[derive(Debug, Default)]
pub struct SourceClock<'a>(Option<Option<Clock<'a>>>);

impl<'a> SourceClock<'a> {
    /// Takes an element of a source. Returns when the instructions retired, if the element is a block and the source has a clock.
    pub fn take(&mut self, clocks: Option<&'a Clocks>, source: usize, element: &Element) -> Option<&[Stamp]> {
        let clock = self.0.get_or_insert_with(|| clocks.and_then(|clocks| clocks.clock(source)));
        match clock.as_mut()?.take(element) {
            Told::Block(stamps) => Some(stamps),
            _ => None,
        }
    }

    /// Ends the trace of the source with this trace ID. Returns how its clock ended, if it has one.
    pub fn end(&mut self, id: u16) -> Option<ClockEnd> {
        let clock = self.0.as_mut()?.as_mut()?;
        Some(ClockEnd { id, end: clock.end() })
    }
}
