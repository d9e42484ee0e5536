//! Which part of what ran: options that all verbs have that count.

mod places;
mod time;

use std::ops::Range;

use clap::Args;
use tracewright::{Clocks, Trace};
use tracewright_input::Capture;
use tracewright_profile::{PlaceFilter, Profile, Program, Window};

pub use self::places::{binaries, is_called};
pub use self::time::reasons;
use crate::args::{LimitArgs, ProgramArgs, SelectArgs};
use crate::clocks;
use crate::decode::offset;
use crate::output::Error;

/// Which part of a capture is counted, and with which program: options of all verbs that count.
#[derive(Args, Clone)]
pub struct PartArgs {
    #[command(flatten)]
    pub select: SelectArgs,

    #[command(flatten)]
    pub program: ProgramArgs,

    #[command(flatten)]
    pub filter: FilterArgs,

    /// How many threads; 0: one for each core.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=256))]
    pub jobs: u16,
}

impl PartArgs {
    /// Chooses the part of a trace.
    pub fn of(&self, trace: Trace) -> Trace {
        let limits = self.filter.limits.limits();
        self.select.of(trace, false).range(self.filter.range()).limits(limits).jobs(self.jobs.into())
    }
}

/// Which part of what ran.
#[derive(Args, Clone, Debug, Default)]
pub struct FilterArgs {
    /// Only this function, mangled or not; that of a C++ function may be without parameters (repeat for more).
    #[arg(long = "function", value_name = "NAME", help_heading = "Only a part")]
    pub functions: Vec<String>,

    /// Only blocks that begin in these addresses of a binary: two numbers (with 0x) or symbols, as 0x1000..0x2000, main..exit or
    /// main+0x10..main+0x20; the second is not included (repeat for more).
    #[arg(long = "range", value_name = "A..B", help_heading = "Only a part")]
    pub ranges: Vec<String>,

    /// Only this binary: its path, the name of its file, or the start of its build ID (repeat for more).
    #[arg(long = "binary", value_name = "NAME", help_heading = "Only a part")]
    pub binaries: Vec<String>,

    /// Only what packets from this offset of the trace file on tell.
    #[arg(long, value_name = "OFFSET", value_parser = offset, default_value = "0", hide_default_value = true, help_heading = "Only a part")]
    pub from: u64,

    /// Only what packets before this offset of the trace file tell.
    #[arg(long, value_name = "OFFSET", value_parser = offset, help_heading = "Only a part")]
    pub to: Option<u64>,

    /// Only what retired in this cycle or later, where the capture tells cycles: a delta trace, cycle counts (summed up over gaps),
    /// times in E-Trace.
    #[arg(long, value_name = "CYCLE", value_parser = offset, help_heading = "Only a part")]
    pub from_cycle: Option<u64>,

    /// Only what retired before this cycle.
    #[arg(long, value_name = "CYCLE", value_parser = offset, help_heading = "Only a part")]
    pub to_cycle: Option<u64>,

    /// Only what ran from the first timestamp on that is not smaller, where the trace has timestamps.
    #[arg(long, value_name = "TIMESTAMP", value_parser = offset, help_heading = "Only a part")]
    pub from_time: Option<u64>,

    /// Only what ran before the first timestamp that is not smaller.
    #[arg(long, value_name = "TIMESTAMP", value_parser = offset, help_heading = "Only a part")]
    pub to_time: Option<u64>,

    #[command(flatten)]
    pub limits: LimitArgs,
}

impl FilterArgs {
    /// The part of the trace file.
    pub fn range(&self) -> Range<u64> {
        self.from..self.to.unwrap_or(u64::MAX)
    }

    /// Whether all of the trace file is asked for.
    pub fn is_whole(&self) -> bool {
        self.range() == (0..u64::MAX)
    }

    /// Whether places are asked for, and not only a part of the trace.
    pub fn any_places(&self) -> bool {
        !(self.functions.is_empty() && self.ranges.is_empty() && self.binaries.is_empty())
    }

    /// The time that is asked for.
    pub fn window(&self) -> Result<Window, Error> {
        let cycles = time::between(self.from_cycle, self.to_cycle, "--from-cycle", "--to-cycle")?;
        let times = time::between(self.from_time, self.to_time, "--from-time", "--to-time")?;
        Ok(Window { cycles, times })
    }

    /// Opens what tells cycles. Where a window of cycles is asked for, the trace itself is looked at, too.
    pub fn clocks(&self, capture: &Capture) -> Result<Clocks, Error> {
        if self.window()?.cycles.is_some() { clocks::find(capture) } else { Ok(clocks::open(capture)) }
    }

    /// The same, if the capture tells the time of any source that is asked for; otherwise it is an error.
    pub fn window_of(&self, trace: &Trace, clocks: &Clocks) -> Result<Window, Error> {
        let window = self.window()?;
        time::check(&window, trace, clocks)?;
        Ok(window)
    }

    /// The places that are asked for, if any are. Names that nothing has are errors.
    pub fn places(&self, profile: &Profile, programs: &[&Program]) -> Result<Option<PlaceFilter>, Error> {
        if !self.any_places() {
            return Ok(None);
        }
        let asked = |any: &[String]| !any.is_empty();
        Ok(Some(PlaceFilter {
            binaries: asked(&self.binaries).then(|| self.binaries(profile)).transpose()?,
            functions: asked(&self.functions).then(|| self.functions(profile, programs)).transpose()?,
            ranges: asked(&self.ranges).then(|| self.ranges(profile, programs)).transpose()?,
        }))
    }

    /// The places that are asked for by other means than functions. Names that nothing has, also of functions, are errors.
    pub fn places_of_any_function(
        &self,
        profile: &Profile,
        programs: &[&Program],
    ) -> Result<Option<PlaceFilter>, Error> {
        self.check_functions(profile, programs)?;
        Self { functions: Vec::new(), ..self.clone() }.places(profile, programs)
    }

    /// Why something that ran is not in the output: it is not asked for, or else for another reason.
    pub fn left_out(&self, otherwise: &'static str) -> &'static str {
        if self.any_places() { "not asked for (--function, --range, --binary)" } else { otherwise }
    }

    /// Keeps what is asked for: what one option of each kind asks for.
    pub fn apply(&self, profile: &mut Profile, program: &Program) -> Result<(), Error> {
        if let Some(places) = self.places(profile, &[program])? {
            profile.retain(|place| places.has(place));
            profile.funnel.in_output = profile.instructions();
        }
        Ok(())
    }
}
