//! `tracewright profile`: what ran how often, for people and for compilers.

mod branch_list;
mod compilers;
mod count;
mod csv;
#[cfg(test)]
mod gather;
mod json;
pub mod open;
mod ordered;
mod report;
#[cfg(test)]
mod tests;
mod text;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tracewright_profile::export::folded::Weight;
use tracewright_profile::{Binary, Functions, Graph, Profile, Program, WIDEST, export, store};

use self::csv::Rows;
use self::open::{Counted, Decoded};
use self::ordered::Ordered;
use self::report::Report;
use crate::args::{CaptureArgs, ProgramArgs, SelectArgs};
use crate::clocks::Clocks;
use crate::filter::FilterArgs;
use crate::output::{Error, Outcome, stdout};
use crate::stalls::title;
use crate::{decode, funnel};

/// Count what ran, for people and for compilers.
///
/// Without --format: functions, loops and branches, those that matter first. CAPTURE may also be a profile that was kept (--format
/// tracewright), or a branch list of simpleperf: of them all formats can be made that do not need the order in which things ran. Their binaries are
/// looked for where they were, among --image and in --symfs, by build ID where they have one.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tracewright profile run
  tracewright profile run --top 20 --paths
  tracewright profile run --format flamegraph -o run.svg
  tracewright profile run --format csv --rows edges -o edges.csv
  tracewright profile perf.data --format autofdo -o app.afdo
  tracewright profile run --format llvm -o app.prof
  clang -O2 -fprofile-sample-use=app.prof app.c
  tracewright profile run --format tracewright -o app.kept
  tracewright profile app.kept --function main --format autofdo")]
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
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

    /// Which rows CSV has. All but functions, loops and events can also be made of profiles that were kept.
    #[arg(long, value_enum, default_value_t)]
    rows: Rows,

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

    /// How many threads; 0: one for each core.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=256))]
    jobs: u16,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Functions, loops and branches, those that matter first.
    Table,
    /// Comma-separated values: all rows of one kind (--rows), for spreadsheets and scripts.
    Csv,
    /// Call stacks, a line each: `main;sort 1234`, for flame graphs.
    Folded,
    /// A flame graph, as SVG.
    Flamegraph,
    /// For `go tool pprof` and what else reads pprof.
    Pprof,
    /// For callgrind_annotate and KCachegrind.
    Callgrind,
    /// LLVM's sample profile as text: clang -fprofile-sample-use.
    Llvm,
    /// The same in LLVM's extended binary form.
    LlvmBinary,
    /// What llvm-profgen reads: --unsymbolized-profile.
    Profgen,
    /// What BOLT reads: perf2bolt -pa.
    Bolt,
    /// BOLT's own profile: llvm-bolt -data.
    Fdata,
    /// What GCC 12 to 15 read: gcc -fauto-profile.
    Gcov,
    /// The same as GCC 16 reads it.
    #[value(name = "gcov-16")]
    Gcov16,
    /// The text of simpleperf, that create_llvm_prof reads (--profiler text).
    Autofdo,
    /// What simpleperf writes for BOLT: less, and with comments that BOLT does not read.
    BoltSimpleperf,
    /// simpleperf's branch list: simpleperf inject.
    BranchList,
    /// A compact file that keeps all counts, for merge, diff and profile (docs/profile-format.md).
    Tracewright,
}

/// What stacks weigh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Weigh {
    Instructions,
    Cycles,
}

impl Opts {
    /// Whether what is written tells in which order things ran.
    fn is_ordered(&self) -> bool {
        match self.format {
            Format::Csv => self.rows.is_ordered(),
            format => format.is_for_people() && format != Format::Tracewright,
        }
    }
}

impl Format {
    /// Whether it tells of all that ran, and not only of ELF files, which are all that compilers know.
    fn is_for_people(self) -> bool {
        matches!(
            self,
            Self::Table
                | Self::Csv
                | Self::Folded
                | Self::Flamegraph
                | Self::Pprof
                | Self::Callgrind
                | Self::Tracewright
        )
    }

    /// Whether what ran of a binary can be told.
    fn has(self, binary: Option<&Binary>) -> bool {
        self.is_for_people() || binary.is_some_and(|binary| binary.is_elf)
    }

    /// What it cannot tell, in words.
    fn cannot(self) -> &'static str {
        if self.is_for_people() { "nothing" } else { "of no ELF file, as memory dumps (--image)" }
    }
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let output = opts.output.as_deref().unwrap_or(Path::new("-"));
    let is_binary = matches!(
        opts.format,
        Format::Tracewright
            | Format::LlvmBinary
            | Format::Pprof
            | Format::BranchList
            | Format::Gcov
            | Format::Gcov16
    );
    if is_binary && output.as_os_str() == "-" && std::io::stdout().is_terminal() {
        return Err(Error::Message("this is no text for a terminal: say where to with -o FILE".into()));
    }
    let range = opts.filter.range();
    let mut counted = if branch_list::is_one(&opts.capture.capture) {
        branch_list::load(opts)?
    } else {
        Counted::open(&opts.capture, &opts.select, &opts.program, range, opts.jobs)?
    };
    let is_whole = counted.profile.instructions() == counted.profile.funnel.instructions;
    if opts.is_ordered() && opts.filter.any_places() {
        let message = "--function, --range and --binary are for formats that only count: choose one with --format (--rows)";
        return Err(Error::Message(message.into()));
    }
    opts.filter.apply(&mut counted.profile, &counted.program)?;
    let Counted { mut profile, program, outcome, decoded } = counted;
    profile.funnel.in_output = in_output(&profile, opts.format);
    let bytes = match (opts.format, &decoded) {
        (Format::Tracewright, _) => store::write(&profile),
        (_, Some(decoded)) if opts.is_ordered() => in_order(opts, decoded, &profile, &program)?,
        (_, None) if opts.is_ordered() => {
            let path = opts.capture.capture.display();
            let other = if opts.format == Format::Csv { "--rows" } else { "--format" };
            let message = format!("{path} does not tell in which order things ran: choose another {other}");
            return Err(Error::Message(message));
        }
        (Format::Csv, _) => csv::counted(opts.rows, &profile, &program).into_bytes(),
        (format, _) => compilers::write(format, &profile, &program)?,
    };
    write(output, &bytes)?;
    let otherwise = if is_whole { opts.format.cannot() } else { funnel::FILTERED };
    funnel::report_all(&profile, &program, opts.filter.left_out(otherwise));
    Ok(outcome.and(Outcome::from_errors((profile.funnel.in_output == 0).into())))
}

/// What needs all elements once more, in order: who called whom, how loops turned.
fn in_order(opts: &Opts, decoded: &Decoded, profile: &Profile, program: &Program) -> Result<Vec<u8>, Error> {
    let Decoded { capture, image } = decoded;
    let mut functions = Functions::default();
    let graph = Graph::new(profile, |place| functions.at(program, place));
    let clocks = Clocks::open(capture);
    let ordered = Ordered::new(&clocks, program, &graph, opts.paths.map(usize::from));
    // What is wrong was counted when it was decoded first.
    let range = opts.filter.range();
    decode::within(capture, image, (&opts.select, &opts.program), &ordered, range, 1)?;
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
        Format::Pprof => export::pprof::write(&done.calls, profile, program),
        Format::Callgrind => export::callgrind::write(&done.calls, profile, program).into_bytes(),
        _ => {
            let report = Report::new(profile, program, &graph, done);
            match (opts.format, opts.json) {
                (Format::Csv, _) => csv::in_order(opts.rows, &report, profile),
                (_, true) => json::object(&report),
                (_, false) => text::all(&report, opts.top),
            }
            .into_bytes()
        }
    })
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
