//! `tracewright stalls`: where the cycles went.

mod json;
mod pictures;
mod table;
mod text;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tracewright::{SourceStalls, StallMeter};
use tracewright_profile::Window;

use self::table::Tables;
use crate::args::{CaptureArgs, LimitArgs, ProgramArgs, SelectArgs};
use crate::clocks::{self, report_ends};
use crate::decode::Within;
use crate::images;
use crate::output::{Error, Form, Outcome, printable_path, report, write};

/// Show where the cycles went, and what waited.
///
/// For functions, source lines and instructions: cycles, those of them in which nothing retired (stalls), instructions retired, and
/// cycles for each. A wait is put down to the instruction that waited to retire. Cycles come from a retirement-delta trace
/// (record --delta: exact), from an ETM's cycle counts, or from times in E-Trace: the last two tell the cycles of
/// several instructions together, of which each gets the same part.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tracewright record --protocol etrace --timing rocket_like --delta \\
      -o run programs/bin/misses.elf
  tracewright stalls run
  tracewright stalls run --by instructions --top 30
  tracewright stalls run --json | jq '.functions[0]'
  tracewright stalls run --histogram stalls.svg --timeline functions.svg
  tracewright stalls juno/ --image vmlinux --id 0x10")]
pub struct Opts {
    #[command(flatten)]
    capture: CaptureArgs,

    #[command(flatten)]
    select: SelectArgs,

    #[command(flatten)]
    program: ProgramArgs,

    #[command(flatten)]
    limits: LimitArgs,

    /// Only this table.
    #[arg(long, value_enum)]
    by: Option<By>,

    /// What comes first.
    #[arg(long, value_enum, default_value_t = Sort::Stalls)]
    sort: Sort,

    /// How many rows a table has.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,

    /// One JSON object, with all rows.
    #[arg(long)]
    json: bool,

    /// Draw how long stalls are, as SVG.
    #[arg(long, value_name = "FILE.svg")]
    histogram: Option<PathBuf>,

    /// Draw which function ran when, and when it stalled, as SVG: the functions of --top.
    #[arg(long, value_name = "FILE.svg")]
    timeline: Option<PathBuf>,
}

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    Functions,
    Lines,
    Instructions,
}

/// What comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// What waited most.
    Stalls,
    /// What took most cycles.
    Cycles,
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let (trace, mut outcome) = opts.program.open(&opts.capture)?;
    let trace = opts.select.of(trace, false).limits(opts.limits.limits()).jobs(1);
    let (capture, image) = (trace.capture(), trace.image());
    let clocks = clocks::find(capture)?;
    outcome = outcome.and(clocks::outcome(&clocks));
    let wanted = |index: usize| capture.sources[index].number().is_some_and(|id| trace.is_chosen(id));
    if !(0..capture.sources.len()).any(|index| wanted(index) && clocks.kind(index).is_some()) {
        return Err(Error::Message(format!(
            "{}: nothing tells cycles here: record with --timing and --delta, switch on cycle counts \
             (TRCCONFIGR.CCI), or times in E-Trace (--option notime=0)",
            opts.capture.capture.display()
        )));
    }
    let window = Window::default();
    let within = Within { trace: &trace, again: false };
    let meter = StallMeter { clocks: &clocks, window: &window };
    let ends = |sources: &Vec<SourceStalls>| report_ends(sources.iter().filter_map(|source| source.end));
    let (mut sources, tally, errors) = within.decode(&meter, ends)?;
    for SourceStalls { index, .. } in sources.iter().filter(|source| source.stalls.is_none()) {
        let name = &capture.sources[*index].name;
        report(&format!("{name}: nothing tells its cycles: it is left out"));
    }
    sources.retain(|source| source.stalls.is_some());
    let tables = Tables::new(&sources, image, opts.sort);
    let names: Vec<_> = sources.iter().map(|source| capture.sources[source.index].name.as_str()).collect();
    let title = title(&opts.capture.capture);
    if opts.timeline.is_some() && sources.len() != 1 {
        let message = "--timeline draws one source: say which with --id";
        return Err(Error::Message(message.into()));
    }
    if let Some(path) = &opts.histogram {
        write(path, Form::Text, pictures::histogram(&title, &sources).as_bytes(), sources.is_empty())?;
    }
    if let (Some(path), [source]) = (&opts.timeline, &mut sources[..]) {
        write(path, Form::Text, pictures::timeline(&title, source, opts.top).as_bytes(), false)?;
    }
    let text = match opts.json {
        true => {
            let named: Vec<_> = names.iter().copied().zip(&sources).collect();
            json::object(&named, &tables, image, &tally)
        }
        false => text::all(opts, &names, &sources, &tables, image),
    };
    write("-".as_ref(), Form::json_if(opts.json), text.as_bytes(), false)?;
    outcome = outcome.and(images::report_left_out(image));
    Ok(outcome.and(Outcome::from_errors(errors)))
}

/// Returns the title of a picture: the name of what it is of, as it may be printed.
pub fn title(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    printable_path(whole.file_name().map_or(&*whole, Path::new))
}
