//! What tells the time of each source of a capture.

use tracewright_etm::packet::Packet;
use tracewright_image::Bytes;
use tracewright_input::{Capture, FileSums, Protocol, Source, map_file};
use tracewright_profile::{Clock, End, Kind};

use crate::glance;
use crate::output::{Error, Outcome, report};

/// What tells the time of each source, by its number in the capture.
#[derive(Debug, Default)]
pub struct Clocks {
    sources: Vec<Option<Timing>>,
    /// Delta traces that are not what they should be.
    errors: u64,
}

#[derive(Debug)]
enum Timing {
    /// A delta trace of the same run.
    Delta(Bytes),
    Counts,
    Times,
}

impl Clocks {
    /// Those of all sources. That a delta trace cannot be read is reported; the trace may tell times itself, then.
    pub fn open(capture: &Capture) -> Self {
        let mut errors = 0;
        let sources = capture.sources.iter().map(|source| Timing::of(source, capture, &mut errors)).collect();
        Self { sources, errors }
    }

    /// Whether delta traces were as they should be.
    pub fn outcome(&self) -> Outcome {
        Outcome::from_errors(self.errors)
    }

    /// Opens the clocks as [`open`](Self::open) does. Of sources without any, the trace is looked at: it may have cycle counts that the
    /// registers do not tell of.
    pub fn find(capture: &Capture) -> Result<Self, Error> {
        let mut clocks = Self::open(capture);
        let without = (0..clocks.sources.len()).filter(|&source| clocks.sources[source].is_none());
        let is_count = |packet: &Packet| matches!(packet, Packet::CycleCount(_));
        for source in glance::sources_with(capture, without.collect::<Vec<_>>(), is_count)? {
            clocks.sources[source] = Some(Timing::Counts);
        }
        Ok(clocks)
    }

    /// Whether there is any.
    pub fn any(&self) -> bool {
        self.sources.iter().any(Option::is_some)
    }

    /// What tells the time of a source.
    pub fn kind(&self, source: usize) -> Option<Kind> {
        Some(match self.sources.get(source)?.as_ref()? {
            Timing::Delta(_) => Kind::Delta,
            Timing::Counts => Kind::Counts,
            Timing::Times => Kind::Times,
        })
    }

    /// A clock for a source, from its beginning.
    pub fn clock(&self, source: usize) -> Option<Clock<'_>> {
        Some(match self.sources.get(source)?.as_ref()? {
            Timing::Delta(bytes) => Clock::delta(bytes.as_slice()),
            Timing::Counts => Clock::counts(),
            Timing::Times => Clock::times(),
        })
    }
}

impl Timing {
    fn of(source: &Source, capture: &Capture, errors: &mut u64) -> Option<Self> {
        if let Some(path) = &source.delta {
            match map_file(path) {
                Ok(bytes) => {
                    // That it has another length was told when the capture was opened.
                    let has_length = |sums: &FileSums| sums.bytes == bytes.as_slice().len() as u64;
                    if capture.checksums.of(path).is_some_and(has_length)
                        && let Some(how) = capture.checksums.differs(path, bytes.as_slice())
                    {
                        report(&format!("{}: {how}: cycles may be wrong", path.display()));
                        *errors += 1;
                    }
                    return Some(Self::Delta(bytes));
                }
                Err(problem) => {
                    *errors += 1;
                    report(&format!("{}: no cycles from its delta trace: {problem}", source.name));
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
            Protocol::Registered(_) | Protocol::Unsupported(..) => None,
        }
    }
}

/// Says if the delta trace of the source with this ID does not fit.
pub fn report_end(id: u16, end: End) {
    let End { unknown, left, .. } = end;
    let plural = |count: u64| if count == 1 { "" } else { "s" };
    if unknown > 0 {
        report(&format!(
            "source {id:#04x}: its delta trace lacks the cycle{} of {unknown} instruction{}",
            plural(unknown),
            plural(unknown)
        ));
    }
    if left > 0 {
        report(&format!(
            "source {id:#04x}: its delta trace tells of {left} instruction{} that the trace does not{}",
            plural(left),
            if unknown > 0 { ": are they of the same run?" } else { "" }
        ));
    }
}
