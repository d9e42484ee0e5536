//! What tells the time of each source of a capture.

use tracewright_etm::packet::Packet;
use tracewright_image::Bytes;
use tracewright_input::{Capture, Protocol, Source, map_file};
use tracewright_profile::{Clock, End, Kind};

use crate::glance;
use crate::output::{Error, report};

/// What tells the time of each source, by its number in the capture.
#[derive(Debug, Default)]
pub struct Clocks(Vec<Option<Timing>>);

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
        Self(capture.sources.iter().map(Timing::of).collect())
    }

    /// Opens the clocks as [`open`](Self::open) does. Of sources without any, the trace is looked at: it may have cycle counts that the
    /// registers do not tell of.
    pub fn find(capture: &Capture) -> Result<Self, Error> {
        let mut clocks = Self::open(capture);
        let without = (0..clocks.0.len()).filter(|&source| clocks.0[source].is_none());
        let is_count = |packet: &Packet| matches!(packet, Packet::CycleCount(_));
        for source in glance::sources_with(capture, without.collect::<Vec<_>>(), is_count)? {
            clocks.0[source] = Some(Timing::Counts);
        }
        Ok(clocks)
    }

    /// Whether there is any.
    pub fn any(&self) -> bool {
        self.0.iter().any(Option::is_some)
    }

    /// What tells the time of a source.
    pub fn kind(&self, source: usize) -> Option<Kind> {
        Some(match self.0.get(source)?.as_ref()? {
            Timing::Delta(_) => Kind::Delta,
            Timing::Counts => Kind::Counts,
            Timing::Times => Kind::Times,
        })
    }

    /// A clock for a source, from its beginning.
    pub fn clock(&self, source: usize) -> Option<Clock<'_>> {
        Some(match self.0.get(source)?.as_ref()? {
            Timing::Delta(bytes) => Clock::delta(bytes.as_slice()),
            Timing::Counts => Clock::counts(),
            Timing::Times => Clock::times(),
        })
    }
}

impl Timing {
    fn of(source: &Source) -> Option<Self> {
        if let Some(path) = &source.delta {
            match map_file(path) {
                Ok(bytes) => return Some(Self::Delta(bytes)),
                Err(problem) => {
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
            Protocol::Unsupported(..) => None,
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
