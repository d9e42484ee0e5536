//! Where a profile comes from: a capture that is decoded, or a file that holds one.

use std::cell::OnceCell;

use tracewright::profile::{
    BlockCounter, HandlerFinder, KeptProfile, ListedProfile, MissingProgram, Outside, WindowCounter,
    attribute, fill, in_binaries, locate,
};
use tracewright::{Clocks, Trace, words};
use tracewright_input::ImageFile;
use tracewright_profile::branch_list::Expanded;
use tracewright_profile::{Profile, Program};

use crate::args::CaptureArgs;
use crate::clocks::{self, report_ends};
use crate::decode::{Shown, Within};
use crate::filter::PartArgs;
use crate::funnel;
use crate::output::{Error, Outcome, is_quiet, remark, report};

/// A profile, and the binaries of it that are here.
pub struct Counted {
    pub profile: Profile,
    pub program: Program,
    pub outcome: Outcome,
    /// What it was decoded from, if it was.
    pub decoded: Option<Decoded>,
    /// What is not in the time asked for.
    pub outside: Outside,
}

/// A capture, and the programs that ran.
pub struct Decoded {
    pub trace: Trace,
    /// What tells cycles, once it was opened.
    clocks: OnceCell<Clocks>,
}

impl Decoded {
    /// Returns what tells cycles. It is opened only once, so what is wrong with it is said once.
    pub fn clocks(&self) -> &Clocks {
        self.clocks.get_or_init(|| clocks::open(self.trace.capture()))
    }
}

/// Number of binaries that are not here and are named one by one.
const MOST_NAMED: usize = 5;
/// Number of programs of a branch list that are not here and are named one by one.
const MOST_UNLISTED: usize = 3;

impl Counted {
    /// Opens what is given as CAPTURE, and counts what is in the part and in the time of it that `filter` asks for.
    pub fn open(capture: &CaptureArgs, part: &PartArgs) -> Result<Self, Error> {
        let PartArgs { program, filter, .. } = part;
        let window = filter.window()?;
        if KeptProfile::is_in(&capture.capture) {
            no_trace(capture, part, "a profile")?;
            return Self::read(capture, &program.images);
        }
        let (trace, mut outcome) = program.open(capture)?;
        let trace = part.of(trace)?;
        let (within, image) = (Within { trace: &trace, again: false, has_funnel: true }, trace.image());
        // By node, instructions are not counted in order, and where branches went is counted of all that is decoded.
        let in_order = !window.is_all() || !filter.offsets.is_whole() || filter.limits.any_instructions();
        let clocks = OnceCell::new();
        let (mut profile, program, outside, Shown { tally, outcome: decoding, .. }) = if !in_order {
            let (counts, shown) = within.decode(&BlockCounter, |_| Outcome::Good)?;
            let mut profile = in_binaries(counts, image);
            let program = Program::new(&profile, image);
            attribute(&mut profile, &program);
            (profile, program, Outside::default(), shown)
        } else {
            let none = Clocks::default();
            let clocks = match window.cycles {
                Some(_) => {
                    let found = filter.clocks(trace.capture())?;
                    clocks.get_or_init(|| found)
                }
                None => &none,
            };
            outcome = outcome.and(clocks::outcome(clocks));
            let window = filter.window_of(&trace, clocks)?;
            let (done, shown) = within.decode(&WindowCounter { clocks, window: &window }, |done| {
                report_ends(done.ends.iter().copied())
            })?;
            let (profile, program, outside) = done.finish(image);
            (profile, program, outside, shown)
        };
        fill(&mut profile.funnel, &tally);
        locate(&mut profile, &program);
        if part.filter.any_threads() && tally.instructions == 0 && tally.left_out > 0 {
            outcome = outcome.and(part.filter.report_nothing(&trace));
        }
        outcome = outcome.and(decoding);
        profile.funnel.faults = (outcome != Outcome::Good).into();
        let decoded = Some(Decoded { trace, clocks });
        Ok(Self { profile, program, outcome, decoded, outside })
    }

    /// Returns whether nothing was left out when a kept profile was made.
    pub fn is_whole(&self) -> bool {
        self.decoded.is_some() || self.profile.instructions() == self.profile.funnel.instructions
    }

    /// Adds functions without symbols that only exceptions enter, for what needs the order in which things ran. All is read
    /// once more for it, if something has no symbols.
    pub fn with_handlers(mut self) -> Result<Self, Error> {
        let funnel = &self.profile.funnel;
        if let Some(Decoded { trace, .. }) =
            self.decoded.as_ref().filter(|_| funnel.in_function < funnel.instructions)
        {
            let within = Within { trace, again: true, has_funnel: true };
            let (handlers, ..) = within.decode(&HandlerFinder, |_| Outcome::Good)?;
            self.program = self.program.with_handlers(trace.image(), handlers);
        }
        Ok(self)
    }

    /// Reads a file that holds a profile, and reports which of its binaries are not here.
    fn read(capture: &CaptureArgs, images: &[ImageFile]) -> Result<Self, Error> {
        let kept = KeptProfile::open(&capture.capture, &capture.search(images))?;
        let (path, mut outcome) = (capture.capture.display(), Outcome::Good);
        for (file, id) in &kept.unused {
            let id = id.as_deref().map_or("no build ID".into(), |id| format!("build ID {id}"));
            report(&format!("{}: {id}: no binary of {path} is that", file.path.display()));
            outcome = outcome.and(Outcome::lacks("unused-program", true));
        }
        for MissingProgram { name, why } in kept.missing.iter().take(MOST_NAMED) {
            remark(&format!("{name}: no symbols of it: {why}"));
        }
        match kept.missing.len().saturating_sub(MOST_NAMED) {
            0 => {}
            1 => remark("1 more binary is not here either"),
            more => remark(&format!("{more} more binaries are not here either")),
        }
        let KeptProfile { profile, program, .. } = kept;
        let outcome = outcome.and(funnel::outcome(&profile.funnel));
        if is_quiet() && !profile.funnel.is_complete() {
            report(&format!("{path}: not complete when it was counted"));
        }
        Ok(Self { profile, program, outcome, decoded: None, outside: Outside::default() })
    }

    /// Reads a branch list of simpleperf, and reports what of it could not be followed.
    pub fn of_branch_list(capture: &CaptureArgs, part: &PartArgs) -> Result<Self, Error> {
        no_trace(capture, part, "a branch list")?;
        let listed = ListedProfile::open(&capture.capture, &capture.search(&part.program.images))?;
        for MissingProgram { name, why } in listed.missing.iter().take(MOST_UNLISTED) {
            report(&format!("no code of {name}: {why}"));
        }
        if let Some(more @ 1..) = listed.missing.len().checked_sub(MOST_UNLISTED) {
            report(&format!("no code of {more} more of the programs"));
        }
        if listed.found == 0 && !listed.missing.is_empty() {
            return Err(Error::Message(format!(
                "{}: a branch list is followed through its programs, and none of its {} is here: name them with --image, or \
                 their folder with --symfs",
                capture.capture.display(),
                listed.missing.len()
            )));
        }
        let programs = format!("{} of {} programs", listed.found, listed.programs);
        let Expanded { followed, lost } = listed.branches;
        let say = if lost == 0 { remark } else { report };
        say(&format!("{} of {programs} followed, {lost} could not be", words::count(followed, "branch")));
        remark(
            "a branch list has branches only: what ran up to none, before an exception or a gap, is not in it",
        );
        let outcome = Outcome::lacks("no-code", !listed.is_complete());
        let ListedProfile { profile, program, .. } = listed;
        Ok(Self { profile, program, outcome, decoded: None, outside: Outside::default() })
    }
}

/// Refuses options that are about trace, for a file without any.
fn no_trace(
    capture: &CaptureArgs,
    PartArgs { select, filter, .. }: &PartArgs,
    what: &str,
) -> Result<(), Error> {
    let option = [
        (!select.is_all(), "--id, --buffer and --cpu"),
        (filter.any_threads(), "--pid and --tid"),
        (!filter.offsets.is_whole(), "--from and --to"),
        (filter.limits.any(), "--max-instructions and --max-memory"),
        (!filter.window()?.is_all(), "--from-cycle, --to-cycle, --from-time and --to-time"),
        (capture.packing.is_some() || !capture.sources.is_empty(), "--packing and --source"),
    ];
    let Some((_, option)) = option.iter().find(|(given, _)| *given) else { return Ok(()) };
    let path = capture.capture.display();
    Err(Error::Message(format!("{path} is {what}, without any trace: {option} are for captures")))
}
