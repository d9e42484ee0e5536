//! `tracewright timeline`: functions along the run, for viewers.

mod chrome;
mod firefox;
mod gather;
mod perfetto;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tracewright_profile::Kind;
use tracewright_profile::slices::Limits;

use self::gather::{Gather, Unit, Viewer};
use crate::args::{CaptureArgs, ProgramArgs, SelectArgs};
use crate::clocks::Clocks;
use crate::output::{Error, Needs, Outcome, report, report_problems};
use crate::record::grouped;
use crate::{decode, images};

/// Write which function ran when, for Perfetto, Chrome or the Firefox Profiler.
///
/// Slices are calls: from a function's first instruction to its return. Times are cycles, where the capture tells them (a delta
/// trace, cycle counts, times); otherwise instructions are counted. Where trace is lost all slices end, and begin again after it.
#[derive(Args)]
#[command(after_help = "\
Open the file in https://ui.perfetto.dev (perfetto, chrome) or
https://profiler.firefox.com (firefox): both show it without sending it anywhere.
Examples:
  tracewright timeline run -o run.json
  tracewright timeline run -o run.json --from-cycle 1000000 --to-cycle 2000000
  tracewright timeline run -o run.json --min 100 --format firefox
  tracewright timeline run -o run.pftrace --format perfetto --most 10000000")]
pub struct Opts {
    #[command(flatten)]
    capture: CaptureArgs,

    #[command(flatten)]
    select: SelectArgs,

    #[command(flatten)]
    program: ProgramArgs,

    /// The file to write; - is standard output.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// For which viewer.
    #[arg(long, value_enum, default_value_t = Format::Chrome)]
    format: Format,

    /// Nothing before this cycle (or instruction).
    #[arg(long, value_name = "CYCLE", default_value_t = 0)]
    from_cycle: u64,

    /// Nothing after this cycle (or instruction).
    #[arg(long, value_name = "CYCLE")]
    to_cycle: Option<u64>,

    /// No slice that is shorter, in cycles (or instructions).
    #[arg(long, value_name = "CYCLES", default_value_t = 0)]
    min: u64,

    /// No more slices of a source than these: viewers are slow with more.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    most: u64,

    /// Count instructions, though cycles are known.
    #[arg(long)]
    instructions: bool,

    /// Cycles (or instructions) in a microsecond of the viewer's time.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    mhz: u32,
}

/// For which viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Perfetto's and Chrome's JSON: trace events.
    Chrome,
    /// Perfetto's own format: a third of the size, for long runs. Times are in nanoseconds, rounded down.
    Perfetto,
    /// The Firefox Profiler's JSON: a processed profile.
    Firefox,
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let to = opts.to_cycle.unwrap_or(u64::MAX);
    if to <= opts.from_cycle {
        return Err(Error::Message("--to-cycle must be after --from-cycle".into()));
    }
    let capture = opts.capture.open()?;
    let (image, problems) = capture.image(&opts.program.images);
    let mut outcome = report_problems(&capture.problems, Needs::All);
    outcome = outcome.and(report_problems(&problems, Needs::All));
    images::report_remarks(&image, &opts.program.images);
    let clocks = Clocks::open(&capture);
    let limits = Limits { from: opts.from_cycle, to, shortest: opts.min, most: opts.most };
    let names: Vec<_> = capture.sources.iter().map(|source| source.name.clone()).collect();
    let units = (0..names.len()).map(|index| match clocks.kind(index).filter(|_| !opts.instructions) {
        Some(Kind::Delta | Kind::Counts) => Unit::Cycles,
        Some(Kind::Times) => Unit::Times,
        None => Unit::Instructions,
    });
    let units: Vec<_> = units.collect();
    let output = open(opts)?;
    let viewer: Box<dyn Viewer + Send + '_> = match opts.format {
        Format::Chrome => Box::new(chrome::Chrome::new(output, opts.mhz)),
        Format::Perfetto => Box::new(perfetto::Perfetto::new(output, opts.mhz)),
        Format::Firefox => Box::new(firefox::Firefox::new(output, opts.mhz)),
    };
    let gather = Gather::new(&clocks, limits, &names, &units, viewer);
    let errors = decode::in_order(&capture, &image, &opts.select, &opts.program, &gather)?;
    let done = gather.finish().map_err(|error| failed(opts, &error))?;
    for (index, slices, cut) in &done {
        let unit = units.get(*index).copied().unwrap_or(Unit::Instructions);
        let name = names.get(*index).map_or("?", String::as_str);
        report(&format!("{name}: {} slices, times in {}", grouped(*slices), unit.words()));
        if let Some(time) = cut {
            report(&format!(
                "{name}: more than {} slices: what comes after {} {} is left out (--from-cycle, --min, --most)",
                grouped(opts.most),
                unit.words(),
                grouped(*time)
            ));
        }
    }
    if done.iter().all(|(_, slices, _)| *slices == 0) {
        report("no slice is long enough, and in the time asked for, or nothing ran: the timeline is empty");
        outcome = outcome.and(Outcome::HadErrors);
    }
    Ok(outcome.and(Outcome::from_errors(errors)))
}

type Output = Box<dyn Write + Send>;

fn open(opts: &Opts) -> Result<Output, Error> {
    if opts.output.as_os_str() == "-" {
        if opts.format == Format::Perfetto && io::stdout().is_terminal() {
            return Err(Error::Message("this is no text for a terminal: say where to with -o FILE".into()));
        }
        return Ok(Box::new(BufWriter::with_capacity(1 << 16, io::stdout())));
    }
    let file = File::create(&opts.output).map_err(|error| failed(opts, &error))?;
    Ok(Box::new(BufWriter::with_capacity(1 << 16, file)))
}

fn failed(opts: &Opts, error: &io::Error) -> Error {
    match opts.output.as_os_str() == "-" {
        true => Error::Output(io::Error::new(error.kind(), error.to_string())),
        false => Error::Message(format!("{}: cannot write: {error}", opts.output.display())),
    }
}
