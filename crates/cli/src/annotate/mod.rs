//! `tracewright annotate`: the source and the instructions of a function, with what they did.

mod cycles;
mod function;
mod json;
mod sources;
mod text;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tracewright_profile::Profile;
use tracewright_profile::coverage::Ran;

use self::cycles::Cycles;
use self::function::Function;
use self::sources::Sources;
use crate::args::{CaptureArgs, ProgramArgs, SelectArgs};
use crate::clocks::Clocks;
use crate::decode::offset;
use crate::decode::part::Range;
use crate::funnel;
use crate::output::{Error, Outcome, stdout};
use crate::profile::open::{Counted, is_profile};

/// Show the source and the instructions of a function, with counts, branch percentages and cycles.
///
/// For each instruction: how often it ran; its cycles and the cycles each time, where the capture tells them; of a conditional
/// branch, how often it was taken; of an indirect one, where it went. Instructions that never ran are shown, too.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tracewright annotate run quick_sort
  tracewright annotate run main --src ~/src/project
  tracewright annotate run main --json | jq '.[0].instructions[0]'")]
pub struct Opts {
    #[command(flatten)]
    capture: CaptureArgs,

    /// The function's name; that of a C++ function may be without parameters.
    function: String,

    #[command(flatten)]
    select: SelectArgs,

    #[command(flatten)]
    program: ProgramArgs,

    /// Only what packets from this offset of the trace file on tell; without cycles.
    #[arg(long, value_name = "OFFSET", value_parser = offset, default_value = "0", hide_default_value = true)]
    from: u64,

    /// Only what packets before this offset of the trace file tell; without cycles.
    #[arg(long, value_name = "OFFSET", value_parser = offset)]
    to: Option<u64>,

    /// How many threads; 0: one for each core.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=256))]
    jobs: u16,

    /// Where source files are that are not where they were compiled: FOLDER/src/main.c, FOLDER/main.c (repeat for more).
    #[arg(long = "src", value_name = "FOLDER")]
    folders: Vec<PathBuf>,

    /// Only instructions, no source.
    #[arg(long)]
    no_source: bool,

    /// A JSON array, an object for each function of that name.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let range = Range { from: opts.from, to: opts.to.unwrap_or(u64::MAX) };
    let Counted { mut profile, program, outcome, .. } =
        Counted::open(&opts.capture, &opts.select, &opts.program, range, opts.jobs)?;
    let programs = [program];
    let (ran, _) = Ran::of_all(&profile, &programs);
    let [program] = &programs;
    let mut functions = function::find(&profile, program, &ran, &opts.function);
    if functions.is_empty() {
        return Err(Error::Message(function::unknown(&profile, program, &opts.function)));
    }
    put_cycles(opts, range, &mut functions, &profile)?;
    profile.funnel.in_output = functions.iter().map(Function::executed).sum();
    let text = match opts.json {
        true => json::array(&functions, &profile),
        false => {
            let mut sources = Sources::new(&opts.folders);
            let show = (!opts.no_source).then_some(&mut sources);
            text::all(&functions, &profile, program, show)
        }
    };
    let mut out = stdout();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    funnel::report_sums(&profile.funnel, "of other functions");
    Ok(outcome)
}

/// Adds the cycles, where the capture tells them. They are of all of it: not of a part, nor of a profile that was kept.
fn put_cycles(opts: &Opts, range: Range, functions: &mut [Function], profile: &Profile) -> Result<(), Error> {
    if !range.is_all() || is_profile(&opts.capture.capture) {
        return Ok(());
    }
    // What is wrong with it was said when it was counted.
    let capture = opts.capture.open()?;
    let clocks = Clocks::open(&capture);
    if clocks.any() {
        let (image, _) = capture.image(&opts.program.images);
        let cycles = Cycles::gather(&capture, &image, &opts.select, &opts.program, &clocks)?;
        functions.iter_mut().for_each(|function| cycles.put(function, profile, &image));
    }
    Ok(())
}
