//! The time that is asked for.

use std::ops::Range;

use tracewright::profile::Outside;
use tracewright::{Clocks, Trace};
use tracewright_core::Element;
use tracewright_input::{Protocol, Source};
use tracewright_profile::Window;

use crate::output::Error;

/// Returns the reasons for the funnel why instructions are not in the time asked for.
pub fn reasons(outside: Outside) -> Vec<(u64, &'static str)> {
    let all =
        [(outside.time, "outside the time asked for"), (outside.unknown, "of which nothing tells the time")];
    all.into_iter().filter(|(count, _)| *count > 0).collect()
}

/// Two ends of a time, if there is any.
pub fn between(
    from: Option<u64>,
    to: Option<u64>,
    from_name: &str,
    to_name: &str,
) -> Result<Option<Range<u64>>, Error> {
    if from.is_none() && to.is_none() {
        return Ok(None);
    }
    let (first, last) = (from.unwrap_or(0), to.unwrap_or(u64::MAX));
    if last <= first {
        let from = from.map_or(String::new(), |from| format!(" ({from})"));
        return Err(Error::Message(format!("{to_name} ({last}) must be after {from_name}{from}")));
    }
    Ok(Some(first..last))
}

/// Whether any source that is asked for tells the time that is.
pub fn check(window: &Window, trace: &Trace, clocks: &Clocks) -> Result<(), Error> {
    let capture = trace.capture();
    let wanted = |source: &Source| source.number().is_some_and(|id| trace.is_chosen(id));
    let sources = capture.sources.iter().enumerate().filter(|(_, source)| wanted(source));
    let instead = "--from and --to take offsets in the trace file instead";
    if window.cycles.is_some() && !sources.clone().any(|(index, _)| clocks.kind(index).is_some()) {
        return Err(Error::Message(format!(
            "--from-cycle, --to-cycle: nothing tells cycles here (record with --timing and --delta, switch on cycle counts, \
             TRCCONFIGR.CCI, or times in E-Trace, --option notime=0); {instead}"
        )));
    }
    if window.times.is_none() || sources.clone().any(|(_, source)| has_timestamps(source)) {
        return Ok(());
    }
    // Registers may have been read at another time, or not at all.
    let is_timestamp = |element: &Element| matches!(element, Element::Timestamp { .. });
    if tracewright::glance::sources_with(capture, sources.map(|(index, _)| index), is_timestamp)?.is_empty() {
        return Err(Error::Message(format!(
            "--from-time, --to-time: the trace has no timestamps (TRCCONFIGR.TS; E-Trace: --option notime=0); {instead}"
        )));
    }
    Ok(())
}

/// Whether a source says that its trace has timestamps.
fn has_timestamps(source: &Source) -> bool {
    match &source.protocol {
        Protocol::Etm(_) => source.register("TRCCONFIGR").is_some_and(|value| value >> 11 & 1 == 1),
        Protocol::Etrace(etrace) => {
            !etrace.config.params.notime || etrace.config.encapsulation.has_timestamps()
        }
        Protocol::Registered(_) | Protocol::Unsupported(..) => false,
    }
}
