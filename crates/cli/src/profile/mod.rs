//! `tracewright profile`: what ran how often, for people and for compilers.

mod gather;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tracewright_image::Image;
use tracewright_input::Capture;
use tracewright_profile::{Profile, export};

use self::gather::Gather;
use crate::args::{CaptureArgs, ProgramArgs, SelectArgs};
use crate::output::{Error, Needs, Outcome, report_problems, stdout};
use crate::{decode, images};

/// Count what ran, for people and for compilers.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tracewright profile run
  tracewright profile perf.data --format autofdo -o app.afdo")]
pub struct Opts {
    #[command(flatten)]
    capture: CaptureArgs,

    #[command(flatten)]
    select: SelectArgs,

    #[command(flatten)]
    program: ProgramArgs,

    /// What is written.
    #[arg(long, value_enum, default_value_t = Format::Autofdo)]
    format: Format,

    /// Where to; - is standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The text of simpleperf, that create_llvm_prof reads (--profiler text).
    Autofdo,
}

/// What of a capture ran, and how many errors there were.
pub fn count(
    capture: &Capture,
    image: &Image,
    select: &SelectArgs,
    program: &ProgramArgs,
) -> Result<(Profile, u64), Error> {
    let gather = Gather::default();
    let errors = decode::in_order(capture, image, select, program, &gather)?;
    Ok((gather.finish(), errors))
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let capture = opts.capture.open()?;
    let (image, problems) = capture.image(&opts.program.images);
    let mut outcome = report_problems(&capture.problems, Needs::All);
    outcome = outcome.and(report_problems(&problems, Needs::All));
    images::report_remarks(&image, &opts.program.images);
    let (profile, errors) = count(&capture, &image, &opts.select, &opts.program)?;
    let bytes = match opts.format {
        Format::Autofdo => export::autofdo::write(&profile).into_bytes(),
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
