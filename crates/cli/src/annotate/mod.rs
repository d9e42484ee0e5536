//! `tracewright annotate`: the source and the instructions of a function, with what they did.

mod cycles;
mod function;
mod json;
mod sources;
mod text;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tracewright_profile::Program;
use tracewright_profile::coverage::Ran;

use self::cycles::Cycles;
use self::sources::Sources;
use crate::args::{CaptureArgs, ProgramArgs, SelectArgs};
use crate::clocks::Clocks;
use crate::output::{Error, Needs, Outcome, report_problems, stdout};
use crate::{images, profile};

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
    let capture = opts.capture.open()?;
    let (image, problems) = capture.image(&opts.program.images);
    let mut outcome = report_problems(&capture.problems, Needs::All);
    outcome = outcome.and(report_problems(&problems, Needs::All));
    images::report_remarks(&image, &opts.program.images);
    let (profile, errors) = profile::count(&capture, &image, &opts.select, &opts.program)?;
    outcome = outcome.and(Outcome::from_errors(errors));
    let programs = [Program::new(&profile, &image)];
    let (ran, _) = Ran::of_all(&profile, &programs);
    let [program] = &programs;
    let mut functions = function::find(&profile, program, &ran, &opts.function);
    if functions.is_empty() {
        return Err(Error::Message(function::unknown(&profile, program, &opts.function)));
    }
    let clocks = Clocks::open(&capture);
    if clocks.any() {
        let cycles = Cycles::gather(&capture, &image, &opts.select, &opts.program, &clocks)?;
        functions.iter_mut().for_each(|function| cycles.put(function, &profile, &image));
    }
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
    Ok(outcome)
}
