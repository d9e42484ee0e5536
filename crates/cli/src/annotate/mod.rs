//! `tracewright annotate`: the source and the instructions of a function, with what they did.

mod json;
mod text;

use std::path::PathBuf;

use clap::Args;
use tracewright::stalls::{InstructionCosts, SourceStalls, StallMeter};
use tracewright::{SourceFiles, csv, no_instructions};
use tracewright_profile::Profile;
use tracewright_profile::annotate::{self, Function};
use tracewright_profile::coverage::Ran;

use crate::args::{CaptureArgs, InlineArgs};
use crate::clocks::{self, report_ends};
use crate::decode::Within;
use crate::filter::{PartArgs, reasons};
use crate::funnel::{self, LeftOut};
use crate::images;
use crate::output::{Error, Outcome, Output, remark, report};
use crate::profile::open::{Counted, Decoded};
use crate::table::TableArgs;

/// Show the source and the instructions of a function, with counts, branch percentages and cycles.
///
/// For each instruction: how often it ran; its cycles and the cycles each time, where the capture tells them; of a conditional
/// branch, how often it was taken; of an indirect one, where it went. Instructions that never ran are shown, too.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tracewright annotate run quick_sort
  tracewright annotate run main --src ~/src/project
  tracewright annotate run main --from-cycle 1000 --to-cycle 2000
  tracewright annotate run main --json | jq '.functions[0].code[0]'")]
pub struct Opts {
    #[command(flatten)]
    capture: CaptureArgs,

    /// The function's name; that of a C++ function may be without parameters. Of a function that is inlined, each place where it is
    /// inlined is shown. Code without symbols is named as `profile` names it: app+0x1a20.
    function: String,

    #[command(flatten)]
    part: PartArgs,

    #[command(flatten)]
    inline: InlineArgs,

    /// Show source files from below this folder, found by the path they were compiled at, or by the end of it (FOLDER/src/main.c,
    /// FOLDER/main.c; repeat for more). Source files in the capture folder are shown without it.
    #[arg(long = "src", value_name = "FOLDER")]
    folders: Vec<PathBuf>,

    /// Only instructions, no source.
    #[arg(long)]
    no_source: bool,

    #[command(flatten)]
    table: TableArgs,
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    opts.capture.refuse_pipe()?;
    let sources = SourceFiles::new(&opts.folders, &opts.capture.capture).map_err(|error| match error {
        tracewright::Error::Unreadable(path, error) => {
            Error::Message(format!("--src {}: {error}", path.display()))
        }
        error => error.into(),
    });
    let mut sources = sources?;
    let Counted { mut profile, program, mut outcome, decoded, outside } =
        Counted::open(&opts.capture, &opts.part)?;
    let program = opts.inline.of(program);
    let places = opts.part.filter.places(&profile, &[&program])?;
    let programs = [program];
    let (ran, _) = Ran::of_all(&profile, &programs);
    let [program] = &programs;
    let mut functions = annotate::find(&profile, program, &ran, &opts.function);
    if program.shows_inlined() {
        functions.extend(annotate::copies(&profile, program, &ran, &opts.function));
        if functions.is_empty() {
            return Err(Error::Message(no_instructions::unknown(&profile, program, &opts.function)));
        }
    } else if functions.iter().all(|function| function.executed() == 0) {
        match no_instructions::inlined(&profile, program, &ran, &opts.function, functions.is_empty()) {
            Some(message) => report(&message),
            None if functions.is_empty() => {
                return Err(Error::Message(no_instructions::unknown(&profile, program, &opts.function)));
            }
            None => {}
        }
    }
    if let Some(places) = places {
        functions.iter_mut().for_each(|function| function.keep(&places, program));
        functions.retain(|function| !function.rows.is_empty());
    }
    if let Some(decoded) = decoded {
        outcome = outcome.and(put_cycles(opts, &decoded, &mut functions, &profile)?);
    }
    profile.funnel.in_output = functions.iter().map(Function::executed).sum();
    outcome = outcome.and(funnel::is_empty(&profile.funnel));
    let text = match opts.table.json {
        _ if opts.table.is_csv() => csv::annotate::rows(&functions, &profile, program),
        true => json::object(&functions, &profile, &outcome.clone().and(images::left_out(program.image()))),
        false => {
            let show = (!opts.no_source).then_some(&mut sources);
            let text = text::all(&functions, &profile, program, show);
            if sources.any_missing() {
                remark("some source files are not shown: name the folder that they are in with --src FOLDER");
            }
            text
        }
    };
    Output::paged(opts.table.form()).write_whole(text.as_bytes(), functions.is_empty())?;
    let rest = opts.part.filter.left_out("of other functions");
    funnel::report_sums(&profile.funnel, &LeftOut { known: &reasons(outside), rest });
    Ok(outcome.and(images::report_left_out(program.image())))
}

/// Adds the cycles, where the capture tells them.
fn put_cycles(
    opts: &Opts,
    decoded: &Decoded,
    functions: &mut [Function],
    profile: &Profile,
) -> Result<Outcome, Error> {
    let clocks = decoded.clocks();
    if !clocks.any() {
        return Ok(clocks::outcome(clocks));
    }
    let (image, window) = (decoded.trace.image(), opts.part.filter.window()?);
    // What is wrong with the trace was said the first time.
    let meter = StallMeter { clocks, window: &window };
    let within = Within { trace: &decoded.trace, again: true, has_funnel: true };
    // With a time that is asked for, the clock was read before.
    let ends = |sources: &Vec<SourceStalls>| {
        let ends = sources.iter().filter_map(|source| source.end);
        if window.is_all() { report_ends(ends) } else { Outcome::Good }
    };
    let (sources, decoded) = within.decode(&meter, ends)?;
    let costs = InstructionCosts::new(&sources, image);
    functions.iter_mut().for_each(|function| costs.add_to(function, profile, image));
    Ok(clocks::outcome(clocks).and(decoded.outcome))
}
