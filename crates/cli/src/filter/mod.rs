//! Which part of what ran: options that all verbs have that count.

mod time;

use clap::Args;
use tracewright::{Clocks, Trace, words};
use tracewright_image::Image;
use tracewright_input::Capture;
use tracewright_profile::{PlaceError, PlaceFilter, PlaceNames, Profile, Program, Window};

pub use self::time::reasons;
use crate::args::{InlineArgs, LimitArgs, OffsetArgs, ProgramArgs, SelectArgs, offset, task};
use crate::clocks;
use crate::output::{Error, Outcome, report};
use tracewright_capture::control::near;

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
    /// Chooses the part of a trace, without places and time: what is outside them is counted, too.
    pub fn of(&self, trace: Trace) -> Result<Trace, Error> {
        let trace = self.filter.threads(self.select.of(trace, false))?;
        let limits = self.filter.limits.limits();
        Ok(self.filter.offsets.of(trace)?.limits(limits).jobs(self.jobs.into()))
    }
}

/// Which part of what ran.
#[derive(Args, Clone, Debug, Default)]
pub struct FilterArgs {
    /// Only the instructions of this function, with what is inlined into it, and where it is inlined itself. Its name may be mangled or
    /// not; that of a C++ function may be without parameters (repeat for more).
    #[arg(long = "function", value_name = "NAME", help_heading = "Only a part")]
    pub functions: Vec<String>,

    /// Only instructions at these addresses of a binary: two numbers (with 0x) or symbols, as 0x1000..0x2000, main..exit or
    /// main+0x10..main+0x20; the second is not included (repeat for more).
    #[arg(long = "range", value_name = "A..B", help_heading = "Only a part")]
    pub ranges: Vec<String>,

    /// Only this binary: its path, the name of its file, or the start of its build ID (repeat for more).
    #[arg(long = "binary", value_name = "NAME", help_heading = "Only a part")]
    pub binaries: Vec<String>,

    #[command(flatten)]
    pub offsets: OffsetArgs,

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

    /// Only this process, by its process ID, where the capture tells processes: with what the kernel did for it (repeat for more).
    #[arg(long = "pid", value_name = "N", value_parser = task, help_heading = "Only a part")]
    pub pids: Vec<u32>,

    /// Only this thread, by its thread ID, where the capture tells threads: context IDs in the trace, threads of a recording of perf (repeat for
    /// more).
    #[arg(long = "tid", value_name = "N", value_parser = task, help_heading = "Only a part")]
    pub tids: Vec<u32>,

    #[command(flatten)]
    pub limits: LimitArgs,
}

impl FilterArgs {
    /// Chooses all of the part of a trace: offsets, time, places, processes and threads. Says what is wrong with clocks.
    pub fn of(&self, trace: Trace, inline: &InlineArgs) -> Result<Trace, Error> {
        let mut trace = self.offsets.of(self.threads(trace)?)?.limits(self.limits.limits());
        let window = self.window()?;
        if !window.is_all() {
            trace = trace.window(window)?;
            clocks::report_problems(trace.window_clocks());
        }
        let image = std::sync::Arc::clone(trace.image());
        let names = PlaceNames { no_inline: !inline.shows(), ..self.names() };
        trace.places(&names).map_err(|error| match error {
            tracewright::Error::Places(error) => hinted(&error, &[&image]),
            error => error.into(),
        })
    }

    /// Chooses processes and threads.
    fn threads(&self, trace: Trace) -> Result<Trace, Error> {
        let trace = self.pids.iter().try_fold(trace, |trace, &pid| trace.process(pid))?;
        Ok(self.tids.iter().try_fold(trace, |trace, &tid| trace.thread(tid))?)
    }

    /// Whether processes or threads are asked for.
    pub fn any_threads(&self) -> bool {
        !self.pids.is_empty() || !self.tids.is_empty()
    }

    /// Says that nothing of what is asked for ran, and which threads did, if it is about threads.
    pub fn report_nothing(&self, trace: &Trace) -> Outcome {
        let threads: Vec<_> = trace.threads_seen().iter().map(u32::to_string).collect();
        let threads = match threads.is_empty() {
            true => String::new(),
            false => format!("; threads that ran: {}", threads.join(", ")),
        };
        report(&format!("nothing that ran is in the part that is asked for{threads}"));
        Outcome::lacks(words::NOTHING_RAN, true)
    }

    fn names(&self) -> PlaceNames {
        let Self { functions, ranges, binaries, .. } = self.clone();
        PlaceNames { functions, ranges, binaries, no_inline: false }
    }

    /// Returns whether a filter leaves instructions out.
    pub fn is_part(&self) -> bool {
        let ends = [self.from_cycle, self.to_cycle, self.from_time, self.to_time];
        self.any_places() || self.any_threads() || ends.iter().any(Option::is_some)
    }

    /// Whether places are asked for, and not only a part of the trace.
    pub fn any_places(&self) -> bool {
        !self.names().is_empty()
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
        trace.check_window(&window, clocks)?;
        Ok(window)
    }

    /// The places that are asked for, if any are. Names that nothing has are errors.
    pub fn places(&self, profile: &Profile, programs: &[&Program]) -> Result<Option<PlaceFilter>, Error> {
        self.names().find(profile, programs).map_err(|error| of_programs(&error, programs))
    }

    /// The places that are asked for by other means than functions. Names that nothing has, also of functions, are errors.
    pub fn places_of_any_function(
        &self,
        profile: &Profile,
        programs: &[&Program],
    ) -> Result<Option<PlaceFilter>, Error> {
        let found = self.names().find_of_any_function(profile, programs);
        found.map_err(|error| of_programs(&error, programs))
    }

    /// Why something that ran is not in the output: it is not asked for, or else for another reason.
    pub fn left_out(&self, otherwise: &'static str) -> &'static str {
        if self.any_places() { "not asked for (--function, --range, --binary)" } else { otherwise }
    }

    /// Keeps what is asked for: what one option of each kind asks for.
    pub fn apply(&self, profile: &mut Profile, program: &Program) -> Result<(), Error> {
        if let Some(places) = self.places(profile, &[program])? {
            places.keep(profile, program);
            profile.funnel.in_output = profile.instructions();
        }
        Ok(())
    }
}

/// An error that also tells a symbol whose name is like that one, if a program has one.
fn hinted(error: &PlaceError, images: &[&Image]) -> Error {
    let near = error.symbol().and_then(|name| images.iter().find_map(|image| near(image, name)));
    Error::Message(format!("{error}{}", near.map_or(String::new(), |near| format!("; there is {near}"))))
}

fn of_programs(error: &PlaceError, programs: &[&Program]) -> Error {
    hinted(error, &programs.iter().map(|program| program.image()).collect::<Vec<_>>())
}
