//! `tracewright isr`: exceptions and interrupts.

mod text;

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use tracewright::{ExceptionMeter, ExceptionRow, SourceExceptions, ThreadRow, csv, words};
use tracewright_core::Exception;
use tracewright_image::Image;
use tracewright_profile::{Bucket, Spread, ThreadKey, ThreadsBy};
use tracewright_report::Histogram;

use crate::args::{CaptureArgs, InlineArgs, ProgramArgs, SelectArgs};
use crate::clocks;
use crate::decode::Within;
use crate::filter::FilterArgs;
use crate::images;
use crate::json;
use crate::output::{Error, ForceArgs, Form, Outcome, Output, remark, report, write};
use crate::record::grouped;
use crate::stalls::title;
use crate::table::TableArgs;
use tracewright_capture::control::near;

/// Show exceptions and interrupts: how often each came, how long it took, and how far apart they were.
///
/// An exception lasts until the core returns from it, with what came in between. Times are in cycles where the trace has them, else
/// in the trace's own time, else in instructions. Exceptions come from any trace of instructions, and from the
/// exception trace of a Cortex-M (DWT). Medians of more than 4,096 different times are right within 1 %.
///
/// With --threads: the same of the threads of an operating system, which the trace tells by context IDs. Where it has none, a data
/// trace tells what the system writes to the variable that points to the current thread. A thread that a handler chose runs from
/// the handler's end on. The one before it ran until the handler began.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tracewright isr run
  tracewright isr juno/ --image vmlinux --id 0x10
  tracewright isr run --exception 7 --histogram timer.svg
  tracewright isr run --thread-symbol pxCurrentTCB
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

    /// Show threads in place of exceptions.
    #[arg(long, conflicts_with = "exception")]
    threads: bool,

    /// The variable that points to the current thread: shows threads by what is written to it. The data trace must have addresses and
    /// values.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["exception", "thread_comparator"])]
    thread_symbol: Option<String>,

    /// The comparator of a Cortex-M's DWT that watches the variable, if its packets have no addresses.
    #[arg(long, value_name = "N", conflicts_with = "exception")]
    thread_comparator: Option<u8>,

    #[command(flatten)]
    table: TableArgs,

    /// Draw how long they are, as SVG.
    #[arg(long, value_name = "FILE.svg")]
    histogram: Option<PathBuf>,

    #[command(flatten)]
    force: ForceArgs,
}

impl Opts {
    fn shows_threads(&self) -> bool {
        self.threads || self.thread_symbol.is_some() || self.thread_comparator.is_some()
    }

    /// Returns what tells which thread runs.
    fn threads_by(&self, image: &Image) -> Result<ThreadsBy, Error> {
        match (&self.thread_symbol, self.thread_comparator) {
            (Some(name), _) => match image.symbols().variable(name) {
                Some(range) => Ok(ThreadsBy::Variable(range.start)),
                None => {
                    let what = "no program has a variable of this name; give the program with --image FILE";
                    let near = near(image, name).map_or(String::new(), |near| format!("; there is {near}"));
                    Err(Error::Message(format!("--thread-symbol {name}: {what}{near}")))
                }
            },
            (None, Some(number)) => Ok(ThreadsBy::Comparator(number)),
            (None, None) => Ok(ThreadsBy::Context),
        }
    }
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
    let meter = ExceptionMeter { clocks: &clocks, threads_by: opts.threads_by(image)? };
    let within = Within { trace: &trace, again: false, has_funnel: false };
    let (sources, shown) = within.decode(&meter, |_| Outcome::Good)?;
    outcome = outcome.and(shown.outcome);
    if shown.tally.instructions == 0 && shown.tally.left_out > 0 {
        outcome = outcome.and(opts.filter.report_nothing(&trace));
    }
    let reasons = || outcome.clone().and(images::left_out(image)).reasons();
    let written = if opts.shows_threads() {
        let rows: Vec<_> =
            sources.iter().flat_map(|source| source.thread_rows(capture, image, &clocks)).collect();
        Written {
            nothing: "the trace tells no thread".into(),
            names: rows.iter().map(|row| row.name.clone()).collect(),
            spreads: rows.iter().map(|row| &row.stats.durations).collect(),
            unit: rows.first().map(|row| row.unit),
            text: match opts.table.json {
                _ if opts.table.is_csv() => csv::exceptions::threads(&rows),
                true => json::line("isr", json!({ "threads": threads(&rows), "incomplete": reasons() })),
                false => text::threads(&rows),
            },
            thing: "thread",
        }
    } else {
        let rows = sources.iter().flat_map(|source| source.rows(capture, &clocks));
        let is_wanted =
            |row: &ExceptionRow<'_>| opts.exception.is_empty() || opts.exception.contains(&row.key.number);
        let (rows, others): (Vec<_>, Vec<_>) = rows.partition(is_wanted);
        let nothing = match others.iter().map(|row| row.stats.count).sum::<u64>() {
            0 => "no exception is in the trace".to_owned(),
            _ if !rows.is_empty() => String::new(),
            others => {
                outcome.add(Outcome::lacks(words::NOTHING_RAN, true));
                let asked: Vec<_> = opts.exception.iter().map(u16::to_string).collect();
                format!("no exception has the number {}; there are {}", asked.join(" or "), grouped(others))
            }
        };
        let reasons = || outcome.clone().and(images::left_out(image)).reasons();
        Written {
            nothing,
            names: rows.iter().map(|row| row.name.clone()).collect(),
            spreads: rows.iter().map(|row| &row.stats.durations).collect(),
            unit: rows.first().map(|row| row.unit),
            text: match opts.table.json {
                _ if opts.table.is_csv() => csv::exceptions::rows(&rows),
                true => {
                    let mut object = exceptions(&sources, &rows);
                    object["incomplete"] = reasons().into();
                    json::line("isr", object)
                }
                false => text::all(&sources, &rows),
            },
            thing: "exception",
        }
    };
    if written.spreads.is_empty() {
        let say = if outcome == Outcome::Good { remark } else { report };
        say(&written.nothing);
    }
    if let Some(file) = picture {
        file.write_whole(written.histogram(opts).as_bytes(), written.spreads.is_empty())?;
    }
    write("-".as_ref(), opts.table.form(), written.text.as_bytes(), false)?;
    Ok(outcome.and(images::report_left_out(image)))
}

/// A table, and what a picture of it needs.
struct Written<'a> {
    /// What to say if it is empty.
    nothing: String,
    names: Vec<String>,
    spreads: Vec<&'a Spread>,
    unit: Option<&'static str>,
    text: String,
    thing: &'static str,
}

impl Written<'_> {
    /// Draws how long all rows of the table took.
    fn histogram(&self, opts: &Opts) -> String {
        let mut buckets: Vec<Bucket> = Vec::new();
        for bucket in self.spreads.iter().flat_map(|spread| spread.buckets()) {
            match buckets.iter_mut().find(|known| known.from == bucket.from) {
                Some(known) => {
                    known.count += bucket.count;
                    known.cycles = known.cycles.saturating_add(bucket.cycles);
                }
                None => buckets.push(bucket),
            }
        }
        buckets.sort_by_key(|bucket| bucket.from);
        let Self { thing, unit, .. } = *self;
        let title = format!("{}: {thing}s by duration", title(&opts.capture.capture));
        let mut names = self.names.clone();
        names.dedup();
        let subtitle = names.join(", ");
        let unit = unit.unwrap_or("cycles");
        Histogram { title: &title, subtitle: &subtitle, thing, unit, buckets: &buckets }.svg()
    }
}

fn spread(spread: &Spread) -> Value {
    json!({
        "count": spread.count(), "shortest": spread.least(), "median": spread.median(), "longest": spread.most(),
        "total": u64::try_from(spread.total()).ok(),
    })
}

fn exceptions(sources: &[SourceExceptions], rows: &[ExceptionRow<'_>]) -> Value {
    let exceptions = rows.iter().map(|ExceptionRow { source, name, unit, key, stats }| {
        json!({
            "source": source, "number": Exception::known(key.number), "interrupt": key.interrupt, "name": name, "unit": unit,
            "count": stats.count, "unfinished": stats.unfinished, "interrupted": stats.interrupted,
            "durations": spread(&stats.durations), "intervals": spread(&stats.intervals),
        })
    });
    let deepest = sources.iter().map(|source| source.exceptions.deepest()).max();
    let strays: u64 = sources.iter().map(|source| source.exceptions.strays()).sum();
    json!({ "exceptions": exceptions.collect::<Vec<_>>(), "deepest": deepest.unwrap_or(0), "stray_returns": strays })
}

fn threads(rows: &[ThreadRow<'_>]) -> Value {
    let thread = |ThreadRow { source, name, unit, key, stats }: &ThreadRow<'_>| {
        let (ids, value) = match *key {
            ThreadKey::Context(thread) => (thread, None),
            ThreadKey::Value(value) => (Default::default(), Some(format!("{value:#x}"))),
        };
        json!({
            "source": source, "name": name, "unit": unit, "count": stats.count, "unfinished": stats.unfinished,
            "context_id": ids.context_id, "vmid": ids.vmid, "value": value, "durations": spread(&stats.durations),
        })
    };
    rows.iter().map(thread).collect()
}
