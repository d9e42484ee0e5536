//! The time that is asked for.

use std::ops::Range;

use tracewright::profile::Outside;

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
        return Err(Error::Message(match from {
            Some(first) => format!("{to_name} ({last}) must be after {from_name} ({first})"),
            None => format!("{to_name} {last}: nothing is before that"),
        }));
    }
    Ok(Some(first..last))
}
