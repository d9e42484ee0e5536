//! `tracewright isr`: exceptions and interrupts.

mod text;

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use tracewright::csv::{Cell, Csv};
use tracewright::{Clocks, ExceptionMeter, SourceExceptions};
use tracewright_core::Exception;
use tracewright_engine::Source;
use tracewright_profile::{Bucket, ExceptionKey, ExceptionStats, Kind, Spread};
use tracewright_report::Histogram;

use crate::args::{CaptureArgs, InlineArgs, ProgramArgs, SelectArgs};
use crate::clocks;
use crate::decode::Within;
use crate::filter::FilterArgs;
use crate::images;
use crate::json;
use crate::output::{Error, ForceArgs, Form, Outcome, Output, remark, write};
use crate::stalls::title;
use crate::table::TableArgs;

/// Show exceptions and interrupts: how often each came, how long it took, and how far apart they were.
///
/// An exception lasts until the core returns from it, with what came in between. Times are in cycles where the trace has them, else
/// in the trace's own time, else in instructions. Exceptions come from any trace of instructions, and from the
/// exception trace of a Cortex-M (DWT). Medians of more than 4,096 different times are right within 1 %.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tracewright isr run
  tracewright isr juno/ --image vmlinux --id 0x10
  tracewright isr run --exception 7 --histogram timer.svg
  tracewright isr run --json | jq '.exceptions[] | {name, count}'
  tracewright isr run --format csv > exceptions.csv")]
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

    /// Only exceptions with this number (repeat for more).
    #[arg(long, value_name = "N")]
    exception: Vec<u16>,

    #[command(flatten)]
    table: TableArgs,

    /// Draw how long they are, as SVG.
    #[arg(long, value_name = "FILE.svg")]
    histogram: Option<PathBuf>,

    #[command(flatten)]
    force: ForceArgs,
}

/// An exception of a source.
struct Row<'a> {
    source: &'a str,
    name: String,
    unit: &'static str,
    key: ExceptionKey,
    stats: &'a ExceptionStats,
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let picture =
        opts.histogram.as_ref().map(|path| Output::open_whole(path, Form::Xml, opts.force)).transpose()?;
    let (trace, mut outcome) = opts.program.open(&opts.capture)?;
    let trace = opts.filter.of(opts.select.of(trace, false), &opts.inline)?.jobs(1);
    let (capture, image) = (trace.capture(), trace.image());
    let clocks = clocks::find(capture)?;
    outcome = outcome.and(clocks::outcome(&clocks));
    let within = Within { trace: &trace, again: false, has_funnel: false };
    let (sources, tally, decoding) = within.decode(&ExceptionMeter { clocks: &clocks }, |_| Outcome::Good)?;
    outcome = outcome.and(decoding);
    if tally.instructions == 0 && tally.left_out > 0 {
        opts.filter.report_nothing(&trace);
        outcome = Outcome::HadErrors;
    }
    let mut rows = Vec::new();
    for SourceExceptions { index, exceptions } in &sources {
        let source = Source::new(capture, *index);
        for (key, stats) in exceptions.kinds() {
            if !opts.exception.is_empty() && !opts.exception.contains(&key.number) {
                continue;
            }
            let (source_name, unit) = (capture.sources[*index].name.as_str(), unit(&clocks, *index));
            rows.push(Row { source: source_name, name: name(&source, key), unit, key: *key, stats });
        }
    }
    if rows.is_empty() {
        remark("no exception is in the trace");
    }
    if let Some(file) = picture {
        file.write_whole(histogram(opts, &rows).as_bytes(), rows.is_empty())?;
    }
    let text = match opts.table.json {
        _ if opts.table.is_csv() => csv(&rows),
        true => json::line("isr", object(&sources, &rows)),
        false => text::all(&sources, &rows),
    };
    write("-".as_ref(), opts.table.form(), text.as_bytes(), false)?;
    Ok(outcome.and(images::report_left_out(image)))
}

/// Returns the unit of the times of a source.
fn unit(clocks: &Clocks, source: usize) -> &'static str {
    match clocks.kind(source) {
        Some(Kind::Delta | Kind::Counts) => "cycles",
        Some(Kind::Times | Kind::Timestamps) => "ticks",
        None => "instructions",
    }
}

fn name(source: &Source<'_>, key: &ExceptionKey) -> String {
    let ExceptionKey { number, interrupt } = *key;
    source.exception_name(&Exception {
        number,
        interrupt,
        value: None,
        return_address: None,
        at_target: false,
    })
}

/// Draws how long all exceptions of the table are.
fn histogram(opts: &Opts, rows: &[Row<'_>]) -> String {
    let mut buckets: Vec<Bucket> = Vec::new();
    for bucket in rows.iter().flat_map(|row| row.stats.durations.buckets()) {
        match buckets.iter_mut().find(|known| known.from == bucket.from) {
            Some(known) => {
                known.count += bucket.count;
                known.cycles = known.cycles.saturating_add(bucket.cycles);
            }
            None => buckets.push(bucket),
        }
    }
    buckets.sort_by_key(|bucket| bucket.from);
    let title = format!("{}: exceptions by duration", title(&opts.capture.capture));
    let mut names: Vec<_> = rows.iter().map(|row| row.name.as_str()).collect();
    names.dedup();
    let subtitle = names.join(", ");
    let unit = rows.first().map_or("cycles", |row| row.unit);
    Histogram { title: &title, subtitle: &subtitle, thing: "exception", unit, buckets: &buckets }.svg()
}

fn csv(rows: &[Row<'_>]) -> String {
    let mut csv = Csv::<13>::new(
        "source,number,interrupt,name,unit,count,unfinished,interrupted,shortest,median,longest,total,median_interval",
    );
    let cell = |value: Option<u64>| value.map_or(Cell::Nothing, Cell::Number);
    for Row { source, name, unit, key, stats } in rows {
        let ExceptionStats { count, unfinished, interrupted, durations, intervals, .. } = stats;
        csv.row([
            (*source).into(),
            Cell::Number(key.number.into()),
            key.interrupt.into(),
            name.as_str().into(),
            (*unit).into(),
            Cell::Number(*count),
            Cell::Number(*unfinished),
            Cell::Number(*interrupted),
            cell(durations.least()),
            cell(durations.median()),
            cell(durations.most()),
            cell(u64::try_from(durations.total()).ok()),
            cell(intervals.median()),
        ]);
    }
    csv.finish()
}

fn object(sources: &[SourceExceptions], rows: &[Row<'_>]) -> Value {
    let spread = |spread: &Spread| {
        json!({
            "count": spread.count(), "shortest": spread.least(), "median": spread.median(), "longest": spread.most(),
            "total": u64::try_from(spread.total()).ok(),
        })
    };
    let exceptions = rows.iter().map(|Row { source, name, unit, key, stats }| {
        json!({
            "source": source, "number": key.number, "interrupt": key.interrupt, "name": name, "unit": unit,
            "count": stats.count, "unfinished": stats.unfinished, "interrupted": stats.interrupted,
            "durations": spread(&stats.durations), "intervals": spread(&stats.intervals),
        })
    });
    let deepest = sources.iter().map(|source| source.exceptions.deepest()).max();
    let strays: u64 = sources.iter().map(|source| source.exceptions.strays()).sum();
    json!({ "exceptions": exceptions.collect::<Vec<_>>(), "deepest": deepest.unwrap_or(0), "stray_returns": strays })
}
