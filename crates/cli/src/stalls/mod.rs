//! `tracewright stalls`: where the cycles went.

mod json;
mod text;

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::TypedValueParser;
use tracewright::csv;
use tracewright::stalls::{SourceStalls, StallMeter, StallOrder, StallRows, StallTables};
use tracewright::words::{Wanted, how_to_get};
use tracewright_input::{Capture, Protocol, Source};
use tracewright_profile::Window;
use tracewright_report::{stall_histogram, stall_timeline};

use crate::args::{CaptureArgs, InlineArgs, ProgramArgs, SelectArgs, named};
use crate::clocks::{self, report_ends};
use crate::decode::Within;
use crate::filter::FilterArgs;
use crate::funnel;
use crate::images;
use crate::output::{Error, ForceArgs, Form, Outcome, Output, printable_path, report, write};
use crate::table::TableArgs;

/// Show where the cycles went, and what waited.
///
/// For functions, source lines and instructions: cycles, those of them in which nothing retired (stalls), instructions retired, and
/// cycles for each. A wait is put down to the instruction that waited to retire. Cycles come from a retirement-delta trace
/// (record --delta: exact), from an ETM's cycle counts, or from times in E-Trace: the last two tell the cycles of
/// several instructions together, of which each gets the same part.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tracewright record --timing rocket_like --delta \\
      -o run programs/bin/misses.elf
  tracewright stalls run
  tracewright stalls run --by instructions --top 30
  tracewright stalls run --function sum --from-cycle 1000 --to-cycle 2000
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
    filter: FilterArgs,

    #[command(flatten)]
    inline: InlineArgs,

    /// Only this table; of CSV: which rows, functions if not given.
    #[arg(long, value_parser = rows())]
    by: Option<StallRows>,

    /// What comes first.
    #[arg(long, value_parser = order(), default_value = "stalls")]
    sort: StallOrder,

    /// How many rows a table has.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,

    #[command(flatten)]
    table: TableArgs,

    /// Draw how long they are, as SVG.
    #[arg(long, value_name = "FILE.svg")]
    histogram: Option<PathBuf>,

    /// Draw which function ran when, and when it stalled, as SVG: the functions of --top, with what is inlined into them.
    #[arg(long, value_name = "FILE.svg")]
    timeline: Option<PathBuf>,

    #[command(flatten)]
    force: ForceArgs,
}

/// Kinds of rows by name.
fn rows() -> impl TypedValueParser<Value = StallRows> {
    use StallRows::{Functions, Instructions, Lines};
    named([("functions", "", Functions), ("lines", "", Lines), ("instructions", "", Instructions)])
}

/// Orders of rows by name.
fn order() -> impl TypedValueParser<Value = StallOrder> {
    named([
        ("stalls", "What waited most", StallOrder::Stalls),
        ("cycles", "What took most cycles", StallOrder::Cycles),
    ])
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let picture = |path: &Option<PathBuf>| {
        let ending = path.as_ref().and_then(|path| path.extension()?.to_str());
        if let Some(ending) = ending.filter(|ending| ["gif", "jpeg", "jpg", "pdf", "png"].contains(ending)) {
            return Err(Error::Message(format!(
                ".{ending}: pictures are SVG: name a file that ends with .svg"
            )));
        }
        path.as_ref().map(|path| Output::open_whole(path, Form::Xml, opts.force)).transpose()
    };
    let (histogram, timeline) = (picture(&opts.histogram)?, picture(&opts.timeline)?);
    let (trace, mut outcome) = opts.program.open(&opts.capture)?;
    let trace = opts.filter.of(opts.select.of(trace, false), &opts.inline)?.jobs(1);
    let (capture, image) = (trace.capture(), trace.image());
    let clocks = clocks::find(capture)?;
    outcome = outcome.and(clocks::outcome(&clocks));
    let wanted = |index: usize| trace.has_source(&capture.sources[index]);
    if !(0..capture.sources.len()).any(|index| wanted(index) && clocks.kind(index).is_some()) {
        let asked =
            (0..capture.sources.len()).filter(|&index| wanted(index)).map(|index| &capture.sources[index]);
        return Err(without_cycles(capture, asked));
    }
    let window = Window::default();
    let within = Within { trace: &trace, again: false, has_funnel: false };
    let meter = StallMeter { clocks: &clocks, window: &window };
    let ends = |sources: &Vec<SourceStalls>| report_ends(sources.iter().filter_map(|source| source.end));
    let (mut sources, shown) = within.decode(&meter, ends)?;
    outcome = outcome.and(shown.outcome);
    for SourceStalls { index, .. } in sources.iter().filter(|source| source.stalls.is_none()) {
        let name = &capture.sources[*index].name;
        report(&format!("{name}: nothing tells its cycles: it is left out"));
        outcome = outcome.and(Outcome::lacks("no-cycles", true));
    }
    sources.retain(|source| source.stalls.is_some());
    if shown.tally.instructions == 0 && shown.tally.left_out > 0 {
        outcome = outcome.and(opts.filter.report_nothing(&trace));
    }
    let tables = StallTables::new(&sources, image, opts.sort, opts.inline.shows());
    let names: Vec<_> = sources.iter().map(|source| capture.sources[source.index].name.as_str()).collect();
    let title = title(&opts.capture.capture);
    if opts.timeline.is_some() && sources.len() != 1 {
        let message = "--timeline draws one source: say which with --id";
        return Err(Error::Message(message.into()));
    }
    if let Some(file) = histogram {
        let stalls = sources.iter().filter_map(|source| source.stalls.as_ref());
        file.write_whole(stall_histogram(&title, stalls).as_bytes(), sources.is_empty())?;
    }
    if let (Some(file), [SourceStalls { stalls: Some(stalls), functions, .. }]) = (timeline, &mut sources[..])
    {
        file.write_whole(stall_timeline(&title, stalls, functions, opts.top).as_bytes(), false)?;
    }
    let text = match opts.table.json {
        _ if opts.table.is_csv() => {
            csv::stalls::rows(opts.by.unwrap_or(StallRows::Functions), &tables, image)
        }
        true => {
            let named: Vec<_> = names.iter().copied().zip(&sources).collect();
            let lacks = outcome.clone().and(funnel::lacks_names(tables.names)).and(images::left_out(image));
            json::object(&named, &tables, image, &shown.tally, &lacks)
        }
        false => text::all(opts, &names, &sources, &tables, image),
    };
    write("-".as_ref(), opts.table.form(), text.as_bytes(), false)?;
    Ok(outcome.and(images::report_left_out(image)).and(funnel::report_names(tables.names)))
}

/// Says that nothing tells the cycles of these sources, and what would.
fn without_cycles<'a>(capture: &Capture, sources: impl Iterator<Item = &'a Source>) -> Error {
    let (unread, read): (Vec<_>, Vec<_>) =
        sources.partition(|source| matches!(source.protocol, Protocol::Unsupported(..)));
    let mut unread: Vec<_> = unread.into_iter().map(Source::protocol_name).collect();
    unread.dedup();
    let path = capture.path.display();
    Error::Message(match (read.is_empty(), unread.is_empty()) {
        (true, false) => {
            format!("{path}: nothing tells cycles: tracewright cannot read {} yet", unread.join(", "))
        }
        _ if read.iter().all(|source| matches!(source.protocol, Protocol::Registered(_))) => {
            format!("{path}: nothing tells cycles here")
        }
        _ => format!("{path}: nothing tells cycles here: {}", how_to_get(Wanted::Cycles, capture)),
    })
}

/// Returns the title of a picture: the name of what it is of, as it may be printed.
pub fn title(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    printable_path(whole.file_name().map_or(&*whole, Path::new))
}
