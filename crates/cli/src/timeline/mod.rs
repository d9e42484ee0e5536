//! `tracewright timeline`: functions along the run, for viewers.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tracewright::profile::{KeptProfile, Outside};
use tracewright::timeline::{Chrome, Firefox, Perfetto, SliceWriter, SourceSlices, Unit, Viewer};
use tracewright::words::{self, Wanted, how_to_get};
use tracewright::{Capture, Clocks, ThreadNames, Trace, has_timestamps};
use tracewright_core::text::Printable;
use tracewright_input::Source;
use tracewright_profile::slices::{Limits, Shown};
use tracewright_profile::{Kind, Named};

use crate::args::CaptureArgs;
use crate::clocks::{self, report_ends};
use crate::decode::{Within, report_deep};
use crate::filter::{FilterArgs, PartArgs, reasons};
use crate::funnel::{self, LeftOut};
use crate::output::{
    Chosen, Error, ForceArgs, Form, Outcome, Output, refuse_terminal, remark, report, report_unwritten,
};
use crate::profile::open::{Counted, Decoded};
use crate::record::grouped;

/// Write which function ran when, for Perfetto, Chrome or the Firefox Profiler.
///
/// Slices are calls: from a function's first instruction to its return. Times are real time, where the capture tells the rate of
/// timestamps; otherwise cycles, where it tells them (a delta trace, cycle counts, times); otherwise instructions are counted, and
/// --from-cycle and --to-cycle are numbers of instructions. With --function, --range or --binary: slices of the functions that ran
/// there. Where trace is lost all slices end, and begin again after it.
#[derive(Args)]
#[command(after_help = "\
Open the file in https://ui.perfetto.dev (perfetto, chrome) or
https://profiler.firefox.com (firefox): both show it without sending it anywhere.
Examples:
  tracewright timeline run -o run.json
  tracewright timeline run -o run.json --from-cycle 1000000 --to-cycle 2000000
  tracewright timeline run -o run.json --function main --function sort
  tracewright timeline run -o run.json --min 100 --format firefox
  tracewright timeline run -o run.pftrace --most 10000000
  tracewright timeline run -o run.json --clock time --mhz 19.2")]
pub struct Opts {
    #[command(flatten)]
    capture: CaptureArgs,

    #[command(flatten)]
    part: PartArgs,

    /// Where the result is written: a file (- is standard output), or the folder of a capture, which is made.
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,

    #[command(flatten)]
    force: ForceArgs,

    /// What is written.
    ///
    /// Without this: what the name of the output says (.pftrace: perfetto), or chrome.
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// No slice that is shorter, in cycles (or instructions, timestamps, nanoseconds of real time).
    #[arg(long, value_name = "CYCLES", default_value_t = 0)]
    min: u64,

    /// No more slices of a source than these: viewers are slow with more.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    most: u64,

    /// What times are. Without this: what the capture tells, as above.
    #[arg(long, value_enum, value_name = "CLOCK")]
    clock: Option<TimelineClock>,

    /// Cycles (or instructions, timestamps) in a microsecond of the viewer's time, as 1200 or 19.2. With --clock time it is the rate of
    /// timestamps, instead of that of the capture. [default: 1000]
    #[arg(long, value_name = "N", value_parser = rate)]
    mhz: Option<u64>,
}

/// What times are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimelineClock {
    /// Cycles of each core, from a delta trace, cycle counts or times in E-Trace.
    Cycles,
    /// Timestamps, which all cores share: real time, if their rate is known. Between two timestamps (marked), times are spread evenly over the
    /// instructions.
    Time,
    /// The number of instructions.
    Instructions,
}

/// Hertz of a rate in MHz.
fn rate(text: &str) -> Result<u64, String> {
    let mhz: f64 = text.parse().map_err(|_| "expected a number of MHz, as 1200 or 19.2")?;
    if !(0.000_001..=1_000_000.0).contains(&mhz) {
        return Err("expected 0.000001 to 1000000".into());
    }
    Ok((mhz * 1e6).round() as u64)
}

/// For which viewer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Perfetto's and Chrome's JSON: trace events.
    #[default]
    Chrome,
    /// Perfetto's own format: a third of the size, for long runs. Times are in nanoseconds, rounded down.
    Perfetto,
    /// The Firefox Profiler's JSON: a processed profile.
    Firefox,
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    opts.part.filter.window()?;
    opts.capture.refuse_pipe()?;
    if KeptProfile::is_in(&opts.capture.capture) {
        let path = opts.capture.capture.display();
        return Err(Error::Message(format!("{path} is a profile: it does not tell when things ran")));
    }
    let Chosen { format, .. } = Chosen::new(opts.format, false, &opts.output)?;
    let form = if format == Format::Perfetto { Form::Binary } else { Form::Json };
    refuse_terminal(&opts.output, form)?;
    let mut output = Output::open_whole(&opts.output, form, opts.force)?;
    // All is counted first, for the funnel: what is outside the time asked for, too.
    let no_time = FilterArgs {
        from_cycle: None,
        to_cycle: None,
        from_time: None,
        to_time: None,
        ..opts.part.filter.clone()
    };
    let Counted { mut profile, program, mut outcome, decoded, .. } =
        Counted::open(&opts.capture, &PartArgs { filter: no_time, ..opts.part.clone() })?.with_handlers()?;
    let Some(Decoded { trace, .. }) = decoded else { return Ok(outcome) };
    // Slices are calls, and inlined functions are not called.
    let program = program.show_inlined(false);
    let places = opts.part.filter.places(&profile, &[&program])?;
    let capture = trace.capture();
    let symbols = Named::of(&profile, &[&program], places.as_ref());
    let only = places.map(|places| places.functions_of(&profile, &program));
    let by_time = by_time(opts, capture)?;
    let clocks = match opts.clock {
        _ if by_time => timestamps(opts, &trace)?,
        Some(TimelineClock::Cycles) => cycles(opts, &trace)?,
        _ => opts.part.filter.clocks(capture)?,
    };
    outcome = outcome.and(clocks::outcome(&clocks));
    // Instructions are counted where nothing tells cycles; but nothing stands for timestamps.
    let stamped = FilterArgs { from_cycle: None, to_cycle: None, ..opts.part.filter.clone() };
    let times = stamped.window_of(&trace, &clocks)?.times;
    let cycles = opts.part.filter.window()?.cycles.unwrap_or(0..u64::MAX);
    let limits = Limits { from: cycles.start, to: cycles.end, shortest: opts.min, most: opts.most };
    let names: Vec<_> = capture.sources.iter().map(|source| Printable(&source.name).to_string()).collect();
    let threads = ThreadNames::of(capture);
    let counts = opts.clock == Some(TimelineClock::Instructions);
    let conversions =
        capture.sources.iter().map(|source| source.time.filter(|_| by_time && opts.mhz.is_none()));
    let conversions: Vec<_> = conversions.collect();
    let units = (0..names.len()).map(|index| match clocks.kind(index).filter(|_| !counts) {
        Some(Kind::Delta | Kind::Counts) => Unit::Cycles,
        Some(Kind::Times) => Unit::Times,
        Some(Kind::Timestamps) if conversions[index].is_some() || opts.mhz.is_some() => Unit::RealTime,
        Some(Kind::Timestamps) => Unit::Timestamps,
        None => Unit::Instructions,
    });
    let units: Vec<_> = units.collect();
    let hertz = opts.mhz.unwrap_or(1_000_000_000);
    let viewer: Box<dyn Viewer + Send + '_> = match format {
        Format::Chrome => Box::new(Chrome::new(&mut output, hertz)),
        Format::Perfetto => Box::new(Perfetto::new(&mut output, hertz)),
        Format::Firefox => Box::new(Firefox::new(&mut output, hertz)),
    };
    let slices = SliceWriter::new(
        &clocks,
        &program,
        (limits, times),
        (&names, &threads),
        &units,
        only.as_ref(),
        viewer,
    )
    .in_nanoseconds(conversions);
    // What is wrong was said when it was counted.
    let within = Within { trace: &trace, again: true, has_funnel: true };
    let ends = |done: &Vec<SourceSlices>| report_ends(done.iter().filter_map(|source| source.end));
    let (done, decoded) = within.decode(&slices, ends)?;
    outcome = outcome.and(decoded.outcome);
    if slices.finish(&done, opts.output.as_os_str() == "-")? {
        output.finish()?;
    }
    // A recording has sources in several files, in most of which they have nothing.
    for SourceSlices { index, slices, messages, instants, cut, too_deep, .. } in
        done.iter().filter(|source| source.slices > 0 || source.messages > 0)
    {
        let unit = units.get(*index).copied().unwrap_or(Unit::Instructions);
        let name = names.get(*index).map_or("?", String::as_str);
        if *messages > 0 {
            let what = words::plural(*messages, "message");
            remark(&format!("{name}: {} {what}, times in {}", grouped(*messages), unit.words()));
        }
        if *slices == 0 {
            continue;
        }
        let what = words::plural(*slices, "slice");
        let rate = opts.mhz.map_or(String::new(), |hertz| unit.rate(hertz));
        remark(&format!("{name}: {} {what}, times in {}{rate}", grouped(*slices), unit.words()));
        if instants == slices && unit != Unit::Instructions {
            outcome = outcome.and(Outcome::lacks("no-cycles", true));
            report(&format!(
                "{name}: all slices have length 0: its {} do not tell how long anything took (--clock instructions)",
                unit.told_by()
            ));
        } else if *instants > 0 && unit.is_told_by_timestamps() {
            let (count, have) = (grouped(*instants), if *instants == 1 { "has" } else { "have" });
            remark(&format!("{name}: {count} of them {have} length 0: no timestamp lies in between"));
        }
        outcome = outcome.and(report_deep(name, *too_deep));
        if let Some(time) = cut {
            outcome = outcome.and(Outcome::lacks("stopped", true));
            report(&format!(
                "{name}: more than {} slices: what comes after {} {} is left out (--from-cycle, --min, --most)",
                grouped(opts.most),
                unit.words(),
                grouped(*time)
            ));
        }
    }
    for (index, name) in names.iter().enumerate() {
        let source = &capture.sources[index];
        if !source.traces_instructions() && clocks.kind(index).is_none() && has_timestamps(source) {
            remark(&format!("{name}: its messages are left out: they have timestamps (--clock time)"));
        }
    }
    let is_empty = done.iter().all(|source| source.slices == 0 && source.messages == 0);
    if is_empty {
        report("there are no slices: the timeline is empty");
        report_unwritten(&opts.output);
        outcome = outcome.and(Outcome::lacks(words::NOTHING_RAN, true));
    }
    let (mut outside, mut shown) = (Outside::default(), Shown::default());
    for source in &done {
        outside += source.outside;
        shown.told += source.shown.told;
        shown.unwanted += source.shown.unwanted;
        shown.short += source.shown.short;
        shown.cut += source.shown.cut;
    }
    profile.funnel.in_output = shown.told;
    let mut known = reasons(outside);
    let too_short = if opts.min > 0 { "in slices that are too short (--min)" } else { "of no known time" };
    known.extend([
        (shown.unwanted, opts.part.filter.left_out("of no function")),
        (shown.short, too_short),
        (shown.cut, "after the last slice (--most)"),
    ]);
    let left = LeftOut { known: &known, rest: "of no known time" };
    // A slice may be of one instruction that waits, and retires later.
    match is_empty {
        true => funnel::report_all(&profile, &program, &left),
        false => funnel::report_steps(&profile, &program, &left),
    }
    Ok(outcome.and(funnel::report_names(symbols)))
}

/// Whether times are timestamps.
fn by_time(opts: &Opts, capture: &Capture) -> Result<bool, Error> {
    let has_window = opts.part.filter.window()?.cycles.is_some();
    match opts.clock {
        Some(TimelineClock::Time) if has_window => Err(Error::Message(
            "--from-cycle, --to-cycle: times are timestamps with --clock time, which --from-time and --to-time choose".into(),
        )),
        Some(clock) => Ok(clock == TimelineClock::Time),
        None => {
            let has_delta = capture.sources.iter().any(|source| source.delta.is_some());
            let is_told = capture.sources.iter().any(|source| source.time.is_some() && has_timestamps(source));
            // STMs have nothing else.
            let are_stamped = |source: &Source| !source.traces_instructions() && has_timestamps(source);
            let is_alone = !capture.sources.is_empty() && capture.sources.iter().all(are_stamped);
            Ok((is_told || is_alone) && !has_delta && !has_window)
        }
    }
}

/// Opens clocks that read cycles. It is an error if there are none.
fn cycles(opts: &Opts, trace: &Trace) -> Result<Clocks, Error> {
    let clocks = clocks::find(trace.capture())?;
    if clocks.any() {
        return Ok(clocks);
    }
    let path = opts.capture.capture.display();
    let others = match Clocks::timestamps(trace.capture())?.any() {
        true => "--clock time (timestamps) or --clock instructions",
        false => "--clock instructions",
    };
    Err(Error::Message(format!("--clock cycles: nothing tells cycles in {path}: choose {others}")))
}

/// Opens clocks that read timestamps. It is an error if there are none.
fn timestamps(opts: &Opts, trace: &Trace) -> Result<Clocks, Error> {
    let clocks = Clocks::timestamps(trace.capture())?;
    if clocks.any() {
        return Ok(clocks);
    }
    let path = opts.capture.capture.display();
    let others = match clocks::find(trace.capture())?.any() {
        true => "--clock cycles or --clock instructions",
        false => "--clock instructions",
    };
    Err(Error::Message(format!(
        "--clock time: {path} has no timestamps: {}, or choose {others}",
        how_to_get(Wanted::Timestamps, trace.capture())
    )))
}
