//! `tracewright profile`: what ran how often, for people and for compilers.

mod gather;
mod json;
mod ordered;
mod report;
mod text;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tracewright_image::Image;
use tracewright_input::Capture;
use tracewright_profile::export::folded::Weight;
use tracewright_profile::{Functions, Graph, Profile, Program, WIDEST, export};

use self::gather::Gather;
use self::ordered::Ordered;
use self::report::Report;
use crate::args::{CaptureArgs, ProgramArgs, SelectArgs};
use crate::clocks::Clocks;
use crate::output::{Error, Needs, Outcome, report_problems, stdout};
use crate::stalls::title;
use crate::{decode, images};

/// Count what ran, for people and for compilers.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tracewright profile run
  tracewright profile run --top 20 --paths
  tracewright profile run --format flamegraph -o run.svg
  tracewright profile perf.data --format autofdo -o app.afdo")]
pub struct Opts {
    #[command(flatten)]
    capture: CaptureArgs,

    #[command(flatten)]
    select: SelectArgs,

    #[command(flatten)]
    program: ProgramArgs,

    /// What is written.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

    /// How many rows a table has.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,

    /// The table as one JSON object, with all rows.
    #[arg(long)]
    json: bool,

    /// Besides, in the table: what branches do given the last W conditional branches before them (1 to 32), which of those tell most of it
    /// (information gain, in bits), and the paths that run most often.
    #[arg(long, value_name = "W", num_args = 0..=1, default_missing_value = "8", require_equals = true,
        value_parser = clap::value_parser!(u8).range(1..=WIDEST as i64))]
    paths: Option<u8>,

    /// What stacks weigh in folded stacks and flame graphs.
    #[arg(long, value_enum, default_value_t = Weigh::Instructions)]
    weight: Weigh,

    /// Where to; - is standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Functions, loops and branches, those that matter first.
    Table,
    /// Call stacks, a line each: `main;sort 1234`, for flame graphs.
    Folded,
    /// A flame graph, as SVG.
    Flamegraph,
    /// For `go tool pprof` and what else reads pprof.
    Pprof,
    /// For callgrind_annotate and KCachegrind.
    Callgrind,
    /// The text of simpleperf, that create_llvm_prof reads (--profiler text).
    Autofdo,
}

/// What stacks weigh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Weigh {
    Instructions,
    Cycles,
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let capture = opts.capture.open()?;
    let (image, problems) = capture.image(&opts.program.images);
    let mut outcome = report_problems(&capture.problems, Needs::All);
    outcome = outcome.and(report_problems(&problems, Needs::All));
    images::report_remarks(&image, &opts.program.images);
    let gather = Gather::default();
    let errors = decode::in_order(&capture, &image, &opts.select, &opts.program, &gather)?;
    let profile = gather.finish();
    let bytes = match opts.format {
        Format::Autofdo => export::autofdo::write(&profile).into_bytes(),
        Format::Table | Format::Folded | Format::Flamegraph | Format::Pprof | Format::Callgrind => {
            in_order(opts, &capture, &image, &profile)?
        }
    };
    match &opts.output {
        Some(path) if path.as_os_str() != "-" => std::fs::write(path, bytes)
            .map_err(|error| Error::Message(format!("{}: cannot write: {error}", path.display())))?,
        _ => {
            let mut out = stdout();
            out.write_all(&bytes)?;
            out.flush()?;
        }
    }
    Ok(outcome.and(Outcome::from_errors(errors)))
}

/// What needs all elements once more, in order: who called whom, how loops turned.
fn in_order(opts: &Opts, capture: &Capture, image: &Image, profile: &Profile) -> Result<Vec<u8>, Error> {
    let program = Program::new(profile, image);
    let mut functions = Functions::default();
    let graph = Graph::new(profile, |place| functions.at(&program, place));
    let clocks = Clocks::open(capture);
    let ordered = Ordered::new(&clocks, &program, &graph, opts.paths.map(usize::from));
    // What is wrong was counted when it was decoded first.
    decode::in_order(capture, image, &opts.select, &opts.program, &ordered)?;
    let done = ordered.finish();
    let weight = match opts.weight {
        Weigh::Instructions => Weight::Instructions,
        Weigh::Cycles if !done.calls.has_cycles => {
            let message =
                "nothing tells cycles here: record with --timing and --delta, or leave out --weight";
            return Err(Error::Message(message.into()));
        }
        Weigh::Cycles => Weight::Cycles,
    };
    Ok(match opts.format {
        Format::Folded => export::folded::write(&done.calls, weight).into_bytes(),
        Format::Flamegraph => export::flamegraph::write(&done.calls, weight, &title(&opts.capture.capture))
            .map_err(Error::Message)?,
        Format::Pprof => export::pprof::write(&done.calls, profile, &program),
        Format::Callgrind => export::callgrind::write(&done.calls, profile, &program).into_bytes(),
        Format::Table | Format::Autofdo => {
            let report = Report::new(profile, &program, &graph, done);
            if opts.json { json::object(&report) } else { text::all(&report, opts.top) }.into_bytes()
        }
    })
}
