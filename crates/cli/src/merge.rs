//! `tracewright merge`: profiles and captures, added up.

use std::path::PathBuf;

use clap::Args;
use rayon::prelude::*;
use serde_json::json;
use tracewright::profile::{KeptProfile, Outside};
use tracewright_profile::{Profile, store};

use crate::args::CaptureArgs;
use crate::filter::{PartArgs, reasons};
use crate::funnel::{self, LeftOut};
use crate::json::line;
use crate::output::{Error, ForceArgs, Form, Outcome, Output, remark, write};
use crate::profile::open::Counted;

/// Add up profiles and captures.
///
/// Each is a profile that `tracewright profile --format tracewright` wrote, or a capture. Counts are added up by binary (its build ID)
/// and address, exactly: in whatever order, the same file comes out.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tracewright merge monday.prof tuesday.prof perf.data -o all.prof
  tracewright profile all.prof --format autofdo -o app.afdo")]
pub struct Opts {
    #[command(flatten)]
    capture: CaptureArgs,

    /// More of them.
    #[arg(value_name = "MORE")]
    more: Vec<PathBuf>,

    #[command(flatten)]
    part: PartArgs,

    /// Where the result is written: a file (- is standard output), or the folder of a capture, which is made.
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,

    #[command(flatten)]
    force: ForceArgs,

    /// Write JSON, for programs; the book lists its fields.
    ///
    /// What it came to, on standard output.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    if opts.json && opts.output.as_os_str() == "-" {
        return Err(Error::Message("--json and -o - both write to standard output".into()));
    }
    let output = Output::open_whole(&opts.output, Form::Binary, opts.force)?;
    let paths: Vec<_> = std::iter::once(&opts.capture.capture).chain(&opts.more).collect();
    // Those that need no binaries are read side by side.
    let is_all = !opts.part.filter.any_places()
        && !opts.part.filter.any_threads()
        && opts.part.select.is_all()
        && opts.part.filter.offsets.is_whole()
        && opts.part.filter.window()?.is_all();
    let is_plain = |path: &PathBuf| KeptProfile::is_in(path) && is_all;
    let (plain, others): (Vec<_>, Vec<_>) = paths.iter().copied().partition(|path| is_plain(path));
    let sum = |one: Profile, other: Profile| {
        let (mut sum, other) =
            if one.blocks.len() < other.blocks.len() { (other, one) } else { (one, other) };
        sum.merge(&other);
        sum
    };
    let mut profile = plain
        .par_iter()
        .map(|path| KeptProfile::read(path))
        .try_reduce(Profile::default, |a, b| Ok(sum(a, b)))?;
    let (mut outcome, mut outside) = (funnel::outcome(&profile.funnel), Outside::default());
    for path in others {
        let mut capture = opts.capture.of(path);
        if !KeptProfile::is_in(path) && !tracewright_input::perf::is_recording(path) {
            // It is meant for those that are.
            capture.symfs.clear();
        }
        let mut counted = Counted::open(&capture, &opts.part)?;
        opts.part.filter.apply(&mut counted.profile, &counted.program)?;
        outcome = outcome.and(counted.outcome);
        outside += counted.outside;
        profile.merge(&counted.profile);
    }
    let most = [profile.instructions_checked(), profile.taken_checked(), Some(profile.funnel.bytes)];
    if most.iter().any(|sum| sum.is_none_or(|sum| sum > store::LARGEST_SUM)) {
        return Err(Error::Message("these add up to more than a profile can hold (2^60)".into()));
    }
    for binary in profile.binaries.iter().filter(|binary| binary.build_id.is_empty() && binary.is_elf) {
        if paths.len() > 1 {
            remark(&format!("{}: no build ID: taken for the same in all that name it", binary.name));
        }
    }
    let is_empty = profile.funnel.in_output == 0;
    outcome.add(funnel::is_empty(&profile.funnel).and(funnel::report_programs(&profile.funnel)));
    output.write_whole(&store::write(&profile), is_empty)?;
    if opts.json {
        let object = json!({
            "inputs": paths.len(),
            "binaries": profile.binaries.len(),
            "blocks": profile.blocks.len(),
            "branches": profile.branches.len(),
            "instructions": profile.instructions(),
            "taken": profile.taken(),
            "funnel": funnel::object(&profile.funnel, &outcome),
        });
        write("-".as_ref(), Form::Json, line("merge", object).as_bytes(), false)?;
    }
    let left = LeftOut { known: &reasons(outside), rest: opts.part.filter.left_out(funnel::FILTERED) };
    funnel::report_sums(&profile.funnel, &left);
    Ok(outcome)
}
