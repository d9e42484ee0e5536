//! `tracewright profile`: what ran how often, for people and for compilers.

mod count;
#[cfg(test)]
mod gather;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tracewright_profile::export;

use self::count::Count;
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

    /// How many threads; 0: one for each core.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=256))]
    jobs: u16,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The text of simpleperf, that create_llvm_prof reads (--profiler text).
    Autofdo,
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let capture = opts.capture.open()?;
    let (image, problems) = capture.image(&opts.program.images);
    let mut outcome = report_problems(&capture.problems, Needs::All);
    outcome = outcome.and(report_problems(&problems, Needs::All));
    images::report_remarks(&image, &opts.program.images);
    let count = Count::default();
    let jobs = decode::number_of(opts.jobs);
    let errors = decode::side_by_side(&capture, &image, &opts.select, &opts.program, &count, jobs)?;
    let profile = count.finish(&image);
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
