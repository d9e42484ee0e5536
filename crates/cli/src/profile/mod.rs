//! `tracewright profile`: what ran how often, for people and for compilers.

mod count;
#[cfg(test)]
mod gather;
pub mod open;
#[cfg(test)]
mod tests;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tracewright_profile::{Binary, Profile, export, store};

use self::open::Counted;
use crate::args::{CaptureArgs, ProgramArgs, SelectArgs};
use crate::filter::FilterArgs;
use crate::funnel;
use crate::output::{Error, Outcome, stdout};

/// Count what ran, for people and for compilers.
///
/// CAPTURE may also be a profile that was kept (--format tracewright): all formats can be made of it. Its binaries are looked for where
/// they were, among --image and in --symfs, by build ID where they have one.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tracewright profile run
  tracewright profile perf.data --format autofdo -o app.afdo
  tracewright profile run --format tracewright -o app.prof
  tracewright profile app.prof --function main --format autofdo")]
pub struct Opts {
    #[command(flatten)]
    capture: CaptureArgs,

    #[command(flatten)]
    select: SelectArgs,

    #[command(flatten)]
    program: ProgramArgs,

    #[command(flatten)]
    filter: FilterArgs,

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
    /// A compact file that keeps all counts, for merge, diff and profile (docs/profile-format.md).
    Tracewright,
}

impl Format {
    /// Whether what ran of a binary can be told.
    fn has(self, binary: Option<&Binary>) -> bool {
        match self {
            Self::Autofdo => binary.is_some_and(|binary| binary.is_elf),
            Self::Tracewright => true,
        }
    }

    /// What it cannot tell, in words.
    fn cannot(self) -> &'static str {
        match self {
            Self::Autofdo => "of no ELF file, as memory dumps (--image)",
            Self::Tracewright => "nothing",
        }
    }
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let output = opts.output.as_deref().unwrap_or(Path::new("-"));
    if opts.format == Format::Tracewright && output.as_os_str() == "-" && std::io::stdout().is_terminal() {
        return Err(Error::Message("a profile is no text for a terminal: say where to with -o FILE".into()));
    }
    let range = opts.filter.range();
    let mut counted = Counted::open(&opts.capture, &opts.select, &opts.program, range, opts.jobs)?;
    let is_whole = counted.profile.instructions() == counted.profile.funnel.instructions;
    opts.filter.apply(&mut counted.profile, &counted.program)?;
    let Counted { mut profile, program, outcome } = counted;
    profile.funnel.in_output = in_output(&profile, opts.format);
    let bytes = match opts.format {
        Format::Autofdo => export::autofdo::write(&profile).into_bytes(),
        Format::Tracewright => store::write(&profile),
    };
    write(output, &bytes)?;
    let otherwise = if is_whole { opts.format.cannot() } else { funnel::FILTERED };
    funnel::report_all(&profile, &program, opts.filter.left_out(otherwise));
    Ok(outcome.and(Outcome::from_errors((profile.funnel.in_output == 0).into())))
}

/// Instructions that are in the output.
fn in_output(profile: &Profile, format: Format) -> u64 {
    let binary = |number: u32| profile.binaries.get(number as usize);
    let blocks = profile.blocks.iter().filter(|(code, _)| format.has(binary(code.start.binary)));
    blocks.map(|(code, runs)| u64::from(code.count) * runs.all()).sum()
}

/// Writes a file; `-` is standard output.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if path.as_os_str() != "-" {
        return std::fs::write(path, bytes)
            .map_err(|error| Error::Message(format!("{}: cannot write: {error}", path.display())));
    }
    let mut out = stdout();
    out.write_all(bytes)?;
    Ok(out.flush()?)
}
