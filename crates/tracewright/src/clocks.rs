//! Clocks: where the cycle of each instruction of a source comes from.

use std::fmt;

use tracewright_core::Element;
use tracewright_image::Bytes;
use tracewright_input::{Capture, FileSums, Protocol, Source, map_file};
use tracewright_profile::{Clock, End, Kind};

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
        })
    }

    /// Returns a clock for a source, from its beginning.
    pub fn clock(&self, source: usize) -> Option<Clock<'_>> {
        Some(match self.sources.get(source)?.as_ref()? {
            Timing::Delta(bytes) => Clock::delta(bytes.as_slice()),
            Timing::Counts => Clock::counts(),
            Timing::Times => Clock::times(),
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
            _ => None,
        }
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
