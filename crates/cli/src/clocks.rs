//! What tells cycles, with what is wrong about it on standard error.

use tracewright::{ClockEnd, Clocks};
use tracewright_input::Capture;

use crate::output::{Error, Outcome, report};

/// Stable name of the reason that something is wrong with a clock.
const BAD_CLOCK: &str = "bad-clock";

/// Opens the clocks of all sources, and reports what is wrong with them.
pub fn open(capture: &Capture) -> Clocks {
    reported(Clocks::open(capture))
}

/// Opens the clocks as [`open`] does, and looks for cycle counts in the trace.
pub fn find(capture: &Capture) -> Result<Clocks, Error> {
    Ok(reported(Clocks::find(capture)?))
}

fn reported(clocks: Clocks) -> Clocks {
    report_problems(&clocks);
    clocks
}

/// Reports what is wrong with clocks.
pub fn report_problems(clocks: &Clocks) {
    clocks.problems.iter().for_each(|problem| report(problem));
}

/// Returns whether delta traces were as they should be.
pub fn outcome(clocks: &Clocks) -> Outcome {
    Outcome::lacks(BAD_CLOCK, !clocks.problems.is_empty())
}

/// Reports delta traces that do not fit; says whether there are any.
pub fn report_ends(ends: impl IntoIterator<Item = ClockEnd>) -> Outcome {
    let lines: Vec<_> = ends.into_iter().map(|end| end.to_string()).collect();
    let count = lines.iter().flat_map(|lines| lines.lines()).map(report).count();
    Outcome::lacks(BAD_CLOCK, count > 0)
}
