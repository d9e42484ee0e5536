//! Where a profile comes from: a capture that is decoded, or a file that holds one.

use std::cell::OnceCell;
use std::path::Path;

use tracewright_image::{Builder, Image};
use tracewright_input::file::first_bytes;
use tracewright_input::{ImageFile, map_file, perf};
use tracewright_profile::{Binary, Profile, Program, store};

use tracewright::profile::{
    BlockCounter, HandlerFinder, Outside, WindowCounter, attribute, fill, in_binaries, locate,
};
use tracewright::{Clocks, Trace};

use crate::args::CaptureArgs;
use crate::clocks::{self, report_ends};
use crate::decode::Within;
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

/// No more binaries that are not here are named one by one.
const MOST_NAMED: usize = 5;

impl Counted {
    /// Opens what is given as CAPTURE, and counts what is in the part and in the time of it that `filter` asks for.
    pub fn open(capture: &CaptureArgs, part: &PartArgs) -> Result<Self, Error> {
        let PartArgs { program, filter, .. } = part;
        let window = filter.window()?;
        if is_profile(&capture.capture) {
            no_trace(capture, part, "a profile")?;
            return Self::read(capture, &program.images);
        }
        let (trace, mut outcome) = program.open(capture)?;
        let trace = part.of(trace)?;
        let (within, image) = (Within { trace: &trace, again: false, has_funnel: true }, trace.image());
        // By node, instructions are not counted in order, and where branches went is counted of all that is decoded.
        let in_order = !window.is_all() || !filter.offsets.is_whole() || filter.limits.any_instructions();
        let clocks = OnceCell::new();
        let (mut profile, program, outside, (tally, decoding)) = if !in_order {
            let (counts, tally, decoding) = within.decode(&BlockCounter, |_| Outcome::Good)?;
            let mut profile = in_binaries(counts, image);
            let program = Program::new(&profile, image);
            attribute(&mut profile, &program);
            (profile, program, Outside::default(), (tally, decoding))
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
            let (done, tally, decoding) = within
                .decode(&WindowCounter { clocks, window: &window }, |done| {
                    report_ends(done.ends.iter().copied())
                })?;
            let (profile, program, outside) = done.finish(image);
            (profile, program, outside, (tally, decoding))
        };
        fill(&mut profile.funnel, &tally);
        locate(&mut profile, &program);
        if part.filter.any_threads() && tally.instructions == 0 && tally.left_out > 0 {
            part.filter.report_nothing(&trace);
        }
        outcome = outcome.and(decoding);
        profile.funnel.faults = (outcome != Outcome::Good).into();
        let decoded = Some(Decoded { trace, clocks });
        Ok(Self { profile, program, outcome, decoded, outside })
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

    /// Reads a file that holds a profile, and looks for the binaries.
    fn read(capture: &CaptureArgs, named: &[ImageFile]) -> Result<Self, Error> {
        let mut profile = read(&capture.capture)?;
        let (program, outcome) = programs(&profile, capture, named);
        let outcome = outcome.and(funnel::outcome(&profile.funnel));
        if is_quiet() && !profile.funnel.is_complete() {
            report(&format!("{}: not complete when it was counted", capture.capture.display()));
        }
        // Of what filters have left out, nothing is known any more but how much it was.
        if profile.instructions() == profile.funnel.instructions {
            attribute(&mut profile, &program);
        }
        Ok(Self { profile, program, outcome, decoded: None, outside: Outside::default() })
    }
}

/// Refuses options that are about trace, for a file without any.
pub fn no_trace(
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

/// Whether a file holds a profile.
pub fn is_profile(path: &Path) -> bool {
    first_bytes::<{ store::MAGIC.len() }>(path).is_some_and(|start| store::is_profile(&start))
}

/// The profile that a file holds.
pub fn read(path: &Path) -> Result<Profile, Error> {
    let bytes = map_file(path)?;
    store::read(bytes.as_slice()).map_err(|damage| Error::Message(format!("{}: {damage}", path.display())))
}

/// The binaries of a profile that are on this machine; what is said of the others.
fn programs(profile: &Profile, capture: &CaptureArgs, named: &[ImageFile]) -> (Program, Outcome) {
    let mut builder = Image::builder();
    let mut missing = Vec::new();
    let named: Vec<_> = named.iter().map(|file| (file, image_build_id(&file.path))).collect();
    for (number, binary) in (0..).zip(&profile.binaries) {
        builder.number(0);
        if let Err(why) = add(&mut builder, binary, number, capture, &named) {
            missing.push((binary, why));
        }
    }
    let used = |file: &ImageFile, id: &Option<String>| {
        profile.binaries.iter().any(|binary| is_of(binary, file, id.as_deref()))
    };
    let mut outcome = Outcome::Good;
    for (file, id) in named.iter().filter(|(file, id)| !used(file, id)) {
        let id = id.as_deref().map_or("no build ID".into(), |id| format!("build ID {id}"));
        report(&format!("{}: {id}: no binary of {} is that", file.path.display(), capture.capture.display()));
        outcome = Outcome::HadErrors;
    }
    for (binary, why) in missing.iter().take(MOST_NAMED) {
        remark(&format!("{}: no symbols of it: {why}", binary.name));
    }
    match missing.len().saturating_sub(MOST_NAMED) {
        0 => {}
        1 => remark("1 more binary is not here either"),
        more => remark(&format!("{more} more binaries are not here either")),
    }
    (Program::new(profile, &builder.build()), outcome)
}

fn image_build_id(path: &Path) -> Option<String> {
    tracewright_input::build_id(path).ok().flatten()
}

/// Whether a file that people name is a binary of a profile: by build ID; without any, by the name of the file.
fn is_of(binary: &Binary, file: &ImageFile, id: Option<&str>) -> bool {
    if binary.build_id.is_empty() || id.is_none() {
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        return binary.build_id.is_empty() && name == binary.file_name();
    }
    id == Some(&binary.build_id_hex())
}

/// Adds a binary, in a memory space of its own. `Err`: why it is not here.
fn add(
    builder: &mut Builder,
    binary: &Binary,
    number: u32,
    capture: &CaptureArgs,
    named: &[(&ImageFile, Option<String>)],
) -> Result<(), String> {
    let space = Image::space_of(number);
    let file = named.iter().find(|(file, id)| is_of(binary, file, id.as_deref())).map(|(file, _)| *file);
    // Its name is that of the profile: where nothing else tells, it is known by that.
    if !binary.is_elf {
        let at = file.and_then(|file| Some((&file.path, file.at?)));
        let (path, at) = at.ok_or("no ELF file: say where it was with --image FILE@ADDR")?;
        let bytes = map_file(path).map_err(|problem| problem.to_string())?;
        return builder.raw(&binary.name, bytes, at, space).map_err(|error| error.reason.to_string());
    }
    let (bytes, debug) = match file {
        Some(file) => (map_file(&file.path).map_err(|problem| problem.to_string())?, None),
        None => {
            let debuginfod = capture.debuginfod();
            let find = |path: &str, server| {
                perf::find_binary(path, &binary.build_id, &capture.symfs, &capture.capture, server)
            };
            // Where it ran, where it was when the profile was made, and only then on servers.
            let found = match (find(&binary.name, None), &binary.found) {
                (Err(_), Some(path)) => find(path, None).or_else(|_| find(&binary.name, debuginfod.as_ref())),
                (Err(_), None) => find(&binary.name, debuginfod.as_ref()),
                (found, _) => found,
            };
            let found = found.map_err(|error| error.to_string())?;
            (found.bytes, found.debug)
        }
    };
    builder.elf(&binary.name, bytes, None, space).map_err(|error| error.reason.to_string())?;
    debug.into_iter().for_each(|debug| builder.debug(debug));
    Ok(())
}
