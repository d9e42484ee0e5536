//! Whether a capture tells what a filter asks for.

use tracewright_core::Element;
use tracewright_input::{Capture, Protocol, Source};
use tracewright_profile::Window;

use crate::clocks::{Clocks, has_timestamps};
use crate::error::Error;
use crate::glance;
use crate::trace::Trace;
use crate::words::{Wanted, how_to_get};

/// Most IDs that are listed.
const MOST_LISTED: usize = 12;

fn chosen(trace: &Trace) -> impl Iterator<Item = (usize, &Source)> + Clone {
    trace.capture().sources.iter().enumerate().filter(|(_, source)| trace.has_source(source))
}

/// Fails if no chosen source tells the time of the window.
pub(crate) fn check_window(window: &Window, trace: &Trace, clocks: &Clocks) -> Result<(), Error> {
    let sources = chosen(trace);
    let instead = "--from and --to take offsets in the trace file instead";
    if window.cycles.is_some() && !sources.clone().any(|(index, _)| clocks.kind(index).is_some()) {
        return Err(Error::Selection(format!(
            "--from-cycle, --to-cycle: nothing tells cycles here ({}); {instead}",
            how_to_get(Wanted::Cycles, trace.capture())
        )));
    }
    if window.times.is_none() || sources.clone().any(|(_, source)| has_timestamps(source)) {
        return Ok(());
    }
    // Registers may have been read at another time, or not at all.
    let is_timestamp = |element: &Element| matches!(element, Element::Timestamp { .. });
    if glance::sources_with(trace.capture(), sources.map(|(index, _)| index), is_timestamp)?.is_empty() {
        return Err(Error::Selection(format!(
            "--from-time, --to-time: the trace has no timestamps ({}); {instead}",
            how_to_get(Wanted::Timestamps, trace.capture())
        )));
    }
    Ok(())
}

/// Fails if no chosen source tells which thread ran.
pub(crate) fn check_threads(trace: &Trace, option: &str) -> Result<(), Error> {
    let is_told = |source: &Source| match &source.protocol {
        _ if source.thread.is_some() => true,
        // Context IDs, VMIDs.
        Protocol::Etm(_) => source.register("TRCCONFIGR").is_some_and(|value| value >> 6 & 3 != 0),
        Protocol::Etrace(etrace) => !etrace.config.params.nocontext,
        Protocol::Registered(_) => true,
        Protocol::Unsupported(..) => false,
    };
    let sources = chosen(trace);
    let mut pieces = trace.capture().buffers.iter().flat_map(|buffer| buffer.pieces.iter().flatten());
    if sources.clone().any(|(_, source)| is_told(source)) || pieces.any(|piece| piece.moment.thread.is_some())
    {
        return Ok(());
    }
    let is_context = |element: &Element| match element {
        Element::Context(context, _) => context.context_id.or(context.vmid).is_some_and(|id| id != 0),
        _ => false,
    };
    if glance::sources_with(trace.capture(), sources.map(|(index, _)| index), is_context)?.is_empty() {
        return Err(Error::Selection(format!(
            "{option}: nothing tells which thread ran: the trace has no context IDs ({})",
            how_to_get(Wanted::ContextIds, trace.capture())
        )));
    }
    Ok(())
}

/// Fails if the capture does not tell of a process.
pub(crate) fn check_process(pid: u32, capture: &Capture) -> Result<(), Error> {
    if capture.processes.iter().any(|process| process.pid == pid) {
        return Ok(());
    }
    let mut known: Vec<_> = capture.processes.iter().map(|process| process.pid).collect();
    known.sort_unstable();
    known.dedup();
    Err(Error::Selection(match known.is_empty() {
        true => format!(
            "--pid {pid}: nothing tells which thread belongs to which process here: --tid takes IDs of threads, which are \
             context IDs in the trace"
        ),
        false => format!("--pid {pid}: the capture has no such process; there are {}", listed(&known)),
    }))
}

/// Returns numbers as text, not all of them if there are many.
pub(crate) fn listed(numbers: &[u32]) -> String {
    let some: Vec<_> = numbers.iter().take(MOST_LISTED).map(u32::to_string).collect();
    let more = numbers.len().saturating_sub(MOST_LISTED);
    if more > 0 { format!("{} and {more} more", some.join(", ")) } else { some.join(", ") }
}
