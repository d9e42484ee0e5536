//! `tracewright diff`: what got hotter, what got colder.

mod csv;
mod json;
mod text;

use std::path::{Path, PathBuf};

use clap::Args;
use tracewright_profile::diff::{Diff, Side};

use crate::args::CaptureArgs;
use crate::filter::{PartArgs, reasons};
use crate::funnel::{self, Left};
use crate::images;
use crate::output::{Error, Form, Outcome, report, say, write};
use crate::profile::open::{Counted, is_profile};

/// Show what got hotter and what got colder between two profiles or captures.
///
/// Functions are compared by name, so that the two may be of two builds of a program. Conditional branches are compared by address where both
/// are of one build (by build ID), otherwise by function and source line, or by how far behind the start of the function they are.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tracewright diff before.prof after.prof
  tracewright diff monday/ tuesday/ --function parse --json")]
pub struct Opts {
    #[command(flatten)]
    capture: CaptureArgs,

    /// What it is compared with: a profile or a capture, as the first.
    other: PathBuf,

    #[command(flatten)]
    part: PartArgs,

    /// How many functions and branches at most.
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,

    /// One JSON object, with all of them.
    #[arg(long)]
    json: bool,

    /// Comma-separated values: a row for each function and for each branch.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let open = |path: &Path| -> Result<Counted, Error> {
        let mut capture = opts.capture.of(path);
        if !is_profile(path) && !tracewright_input::perf::is_recording(path) {
            // It is meant for the other.
            capture.symfs.clear();
        }
        let mut counted = Counted::open(&capture, &opts.part)?;
        opts.part.filter.apply(&mut counted.profile, &counted.program)?;
        Ok(counted)
    };
    let paths = [opts.capture.capture.as_path(), &opts.other];
    let both = [open(paths[0])?, open(paths[1])?];
    let sides = both.each_ref().map(|of| Side { profile: &of.profile, program: &of.program });
    let diff = Diff::new(sides);
    let names = paths.map(|path| path.display().to_string());
    let funnels = both.each_ref().map(|of| &of.profile.funnel);
    let out = match (opts.json, opts.csv) {
        (true, _) => json::object(&diff, &names, funnels),
        (_, true) => csv::rows(&diff),
        _ => text::all(&diff, &names, opts.top),
    };
    write("-".as_ref(), Form::json_if(opts.json), out.as_bytes(), false)?;
    for (name, of) in names.iter().zip(&both) {
        say("");
        report(name);
        let left = Left { known: &reasons(of.outside), rest: opts.part.filter.left_out(funnel::FILTERED) };
        funnel::report_all(&of.profile, &of.program, &left);
    }
    let left_out = both.each_ref().map(|of| images::report_left_out(of.program.image()));
    let is_empty = both.iter().any(|of| of.profile.funnel.in_output == 0);
    let [first, second] = both;
    let outcome = left_out.into_iter().fold(first.outcome.and(second.outcome), Outcome::and);
    Ok(outcome.and(Outcome::from_errors(is_empty.into())))
}
