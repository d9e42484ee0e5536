//! `tracewright profile`: what ran how often, for people and for compilers.

mod branch_list;
mod compilers;
mod gather;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tracewright_image::Image;
use tracewright_profile::{Profile, Program};

use self::gather::Gather;
use crate::args::{CaptureArgs, ProgramArgs, SelectArgs};
use crate::output::{Error, Needs, Outcome, report_problems, stdout};
use crate::{decode, images};

/// Count what ran, for people and for compilers.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tracewright profile run
  tracewright profile perf.data --format autofdo -o app.afdo
  tracewright profile run --format llvm -o app.prof
  clang -O2 -fprofile-sample-use=app.prof app.c")]
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

    /// Only this binary: its path, or a part of it.
    #[arg(long, value_name = "NAME")]
    binary: Option<String>,

    /// Where to; - is standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The text of simpleperf, that create_llvm_prof reads (--profiler text).
    Autofdo,
    /// What BOLT reads: perf2bolt -pa.
    Bolt,
    /// The same as simpleperf writes it: less, and with comments that BOLT does not read.
    BoltSimpleperf,
    /// BOLT's own profile: llvm-bolt -data.
    Fdata,
    /// What llvm-profgen reads: --unsymbolized-profile.
    Profgen,
    /// LLVM's sample profile as text: clang -fprofile-sample-use.
    Llvm,
    /// The same in LLVM's extended binary form.
    LlvmBinary,
    /// simpleperf's branch list: simpleperf inject.
    BranchList,
    /// What GCC 12 to 15 read: gcc -fauto-profile.
    Gcov,
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let (profile, image, outcome) =
        if branch_list::is_one(&opts.capture.capture) { branch_list::load(opts)? } else { decoded(opts)? };
    let program = Program::new(&profile, &image);
    let bytes = compilers::write(opts.format, &profile, &program, opts.binary.as_deref())?;
    match &opts.output {
        Some(path) if path.as_os_str() != "-" => std::fs::write(path, bytes)
            .map_err(|error| Error::Message(format!("{}: cannot write: {error}", path.display())))?,
        _ => {
            let mut out = stdout();
            out.write_all(&bytes)?;
            out.flush()?;
        }
    }
    Ok(outcome)
}

/// What ran in a capture, and its programs.
fn decoded(opts: &Opts) -> Result<(Profile, Image, Outcome), Error> {
    let capture = opts.capture.open()?;
    let (image, problems) = capture.image(&opts.program.images);
    let mut outcome = report_problems(&capture.problems, Needs::All);
    outcome = outcome.and(report_problems(&problems, Needs::All));
    images::report_remarks(&image, &opts.program.images);
    let gather = Gather::default();
    let errors = decode::in_order(&capture, &image, &opts.select, &opts.program, &gather)?;
    Ok((gather.finish(), image, outcome.and(Outcome::from_errors(errors))))
}
