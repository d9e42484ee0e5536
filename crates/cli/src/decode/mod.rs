//! `tracewright decode`: every instruction that ran.

mod by_time;
mod calls;
mod check;
mod cycles;
pub mod sources;
mod summary;
pub mod text;

use std::fmt::Write as _;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tracewright::csv::Objects;
use tracewright::listing::{Detail, Json, Lines, Listing, When};
use tracewright::opencsd::OpenCsdLines;
use tracewright::targets::{EventName, JsonRows, TargetRows, TextRows};
use tracewright::{ClockEnd, Clocks, Diagnostic, ExcerptOptions, Listed, Trace, words};
use tracewright_core::text::Printable;
use tracewright_engine::{At, Consumer, Engine, Limit, Options, Place, Problem, SourceTally, Tally};
use tracewright_image::Moment;
use tracewright_input::{Buffer, Protocol, Source};

use self::calls::Calls;
use self::text::Text;
use crate::args::{CaptureArgs, InlineArgs, ProgramArgs, SelectArgs, offset, refuse_past_end};
use crate::clocks::{self, report_ends};
use crate::etrace::riscv;
use crate::filter::FilterArgs;
use crate::images;
use crate::json::last_line;
use crate::output::{
    Error, Form, Outcome, Output, Readable, printable_path, remark, report, report_missing_code,
    report_problem,
};
use crate::progress;
use crate::table::TableArgs;
use crate::terminal::{END, HEADING, heading};
use tracewright_engine::Line;

/// Show every instruction that ran.
///
/// A line for each block: instructions that ran one after another, up to a branch. Columns: offset in the trace file of
/// the packet that told it, trace ID, address, number of instructions, how it ended, where that is. The program comes
/// from the capture's memory images and from --image. A trace has no values of registers: `record --listing` shows them, of programs
/// that it runs.
#[derive(Args)]
#[command(after_help = "Examples:
  tracewright decode juno/
  tracewright decode juno/ --image vmlinux --image app@0xaaaac0000000 | less
  tracewright decode juno/ --instructions --id 0x10 --from 0x8000 --to 0x9000
  tracewright decode perf.data --pid 1234 --function main --instructions
  tracewright decode juno/ --last 40 --instructions
  tracewright decode juno/ --around 0x8123 --count 40
  tracewright decode juno/ --calls | tail
  tracewright decode perf.data --by-time
  tracewright decode run/ --from-cycle 1000 --to-cycle 2000
  tracewright decode juno/ --instructions --json | jq -r .function | uniq -c
  tracewright decode juno/ --format csv > blocks.csv
  tracewright decode juno/ --elements --style opencsd
  tracewright decode run/ --instructions | less
  tracewright decode run/ --check run.log
  tracewright decode juno/ --no-image --event 0=L1D_CACHE_REFILL
  tracewright decode broadcast.bin --no-image --packing source \\
      --source etm4,TRCCONFIGR=0x19,TRCIDR0=0x20000ea1")]
pub struct Opts {
    #[command(flatten)]
    capture: CaptureArgs,

    #[command(flatten)]
    select: SelectArgs,

    #[command(flatten)]
    program: ProgramArgs,

    /// Blocks, exceptions, contexts and gaps (this is the default).
    #[arg(long, group = "detail")]
    blocks: bool,

    /// Each instruction, with source lines where the images have them.
    #[arg(long, group = "detail")]
    instructions: bool,

    #[command(flatten)]
    inline: InlineArgs,

    /// Everything: also timestamps, cycle counts and events.
    #[arg(long, group = "detail")]
    elements: bool,

    /// Nothing but what it came to: instructions, blocks, gaps.
    #[arg(long, group = "detail", conflicts_with = "style")]
    summary: bool,

    /// Without any program: where branches went, events and timestamps, with the cycle of each. The trace should have been
    /// made with branch broadcast.
    #[arg(
        long,
        conflicts_with_all = ["images", "detail", "style"],
        long_help = "Without any program: rows of type, cycle and value. The trace should have been made with branch broadcast \
(TRCCONFIGR.BB); otherwise only the targets of indirect branches are known.\n\
Types: Br the target of a branch, At an address that no branch led to (where tracing begins, an exception handler, a \
synchronisation point), Evt an event, Exc an exception, Ret a return from one, Ts a timestamp, Mark what a later one refers \
to, Ctx a context, On tracing begins, Gap trace is missing, Cyc an unknown count, Q an unknown path to an address, Ite \
instrumentation, Tx a transaction.\n\
Cycle: that of the last branch or exception up to the row whose cycle the trace tells, in hexadecimal. It is the sum of all counts, \
and goes on over On, Gap and Cyc, where it is not known how many passed; nothing if cycles are not counted (TRCCONFIGR.CCI)."
    )]
    no_image: bool,

    /// Only the last N instructions of each source, and what is between them: what ran before the end. A place where code or trace is missing
    /// counts as one. The rest is not even decoded, where the protocol allows (ETMv4 and ETE, without cycles). With --calls: the last N lines.
    /// With --by-time: the last N instructions of all sources together.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_LISTED), conflicts_with_all = ["around", "summary", "no_image", "style", "check"])]
    last: Option<u32>,

    /// Only instructions of each source around the packet at this offset of the trace file: --count of them before what it tells, and as
    /// many from there on.
    #[arg(long, value_name = "OFFSET", value_parser = offset, conflicts_with_all = ["summary", "no_image", "style", "check"])]
    around: Option<u64>,

    /// With --around: how many instructions before and after.
    #[arg(long, value_name = "N", default_value_t = 20, requires = "around", value_parser = clap::value_parser!(u32).range(1..=MOST_LISTED))]
    count: u32,

    /// Follow calls and returns.
    ///
    /// Functions entered and left, with exceptions, and at the end of the trace the call stack of each source (a backtrace). Calls are
    /// followed as in profile --calls; a function that ran when the trace began, or after a gap, was not seen entered.
    #[arg(long, group = "detail", conflicts_with_all = ["summary", "no_image", "style", "check", "around", "timestamps"])]
    calls: bool,

    /// A column with the last timestamp before each line, where the trace has any: in seconds of the recorder's clock where the capture
    /// tells how, otherwise as it is.
    #[arg(long, conflicts_with_all = ["summary", "no_image", "style", "check"])]
    timestamps: bool,

    /// Cores interleaved: the lines of all sources of all buffers, in the order of their timestamps, which are a column as with --timestamps.
    ///
    /// A line is as late as the last timestamp of its source at or before it, or as the first one if none came before. The lines of a source stay in
    /// their order, and a source without timestamps comes last. Instructions have no cycles.
    #[arg(long, conflicts_with_all = ["around", "calls", "style", "check", "summary", "no_image"])]
    by_time: bool,

    /// With --no-image: what to call an event, as 0=L1D_CACHE_REFILL (repeat for more).
    #[arg(long = "event", value_name = "N=NAME", requires = "no_image")]
    events: Vec<EventName>,

    /// Compare with what a log says ran (one of tracewright, Spike, CVA6 or QEMU, or retirements as CSV), and say where they
    /// part. Exit status 0 only if they are equal, also in length. With a log of tracewright's plugin for QEMU, source threadN is compared
    /// with thread N, and that for all of them.
    #[arg(long, value_name = "LOG", conflicts_with_all = ["detail", "style", "no_image", "from", "to", "max_instructions",
        "format", "functions", "ranges", "binaries", "from_cycle", "to_cycle", "from_time", "to_time", "pids", "tids"])]
    check: Option<PathBuf>,

    /// With --check: one of the two may end before the other.
    #[arg(long, requires = "check")]
    check_prefix: bool,

    /// With --check: pass over loops that only wait for memory to change (a host's answer, as in Spike's logs), where trace and log differ
    /// in how often they turn. How often and where is told.
    #[arg(long, requires = "check")]
    pass_waits: bool,

    #[command(flatten)]
    filter: FilterArgs,

    #[command(flatten)]
    table: TableArgs,

    /// How packets and elements are worded.
    #[arg(long, value_enum, conflicts_with_all = ["json", "format"])]
    style: Option<Style>,

    /// With --style opencsd: a range for each branch that a source address packet passes over, as trc_pkt_lister's
    /// -src_addr_n.
    #[arg(long, requires = "style")]
    src_addr_n: bool,

    /// How many threads; 0: one for each core.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=256))]
    jobs: u16,
}

impl Opts {
    fn detail(&self) -> Detail {
        match (self.instructions, self.elements) {
            (true, _) => Detail::Instructions { inlined: self.inline.shows() },
            (_, true) => Detail::Elements,
            _ => Detail::Blocks,
        }
    }

    /// Whether lines are objects: JSON, or the rows of a table that are made of them.
    fn has_objects(&self) -> bool {
        self.table.json || self.table.is_csv()
    }

    /// The columns of the table, if lines are its rows.
    fn columns(&self) -> Option<&'static str> {
        self.table.is_csv().then_some(match self {
            Self { summary: true, .. } => SUMMARY,
            Self { no_image: true, .. } => ROWS,
            Self { calls: true, .. } => CALLS,
            Self { instructions: true, .. } => INSTRUCTIONS,
            _ => BLOCKS,
        })
    }

    /// The line before all others of objects, unless another buffer's lines came before.
    fn first_line(&self, again: bool) -> String {
        match self.columns() {
            _ if again => String::new(),
            Some(columns) => format!("{columns}\n"),
            None => crate::json::first_line("decode"),
        }
    }

    fn out(&self, out: Output) -> Objects<Output> {
        Objects::new(out, self.columns())
    }
}

/// Columns of tables: fields of the JSON objects.
const BLOCKS: &str = "buffer,offset,id,time,time_nanoseconds,kind,address,end,instructions,isa,ended,conditional,function,function_offset,more";
const INSTRUCTIONS: &str = "buffer,offset,id,time,time_nanoseconds,cycle,cycle_from,cycle_to,kind,address,isa,hex,text,function,function_offset,file,line,taken,more";
const CALLS: &str = "buffer,offset,id,depth,kind,function,address,how,instructions,more";
const ROWS: &str = "buffer,offset,id,cycle,kind,address,branch,event,name,more";
const SUMMARY: &str =
    "buffer,instructions,blocks,gaps,without_code,mismatches,unknown_paths,stopped,left_out";

/// Most instructions of a source that --last and --around show: they are kept in memory.
const MOST_LISTED: i64 = 1 << 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Style {
    /// For people.
    Tracewright,
    /// The element lines of OpenCSD 1.8.0's trc_pkt_lister (first buffer only unless --buffer says more).
    Opencsd,
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let opencsd = opts.style == Some(Style::Opencsd);
    let (trace, mut outcome) = if opts.no_image {
        opts.select.open(&opts.capture, opencsd)?
    } else {
        let (trace, outcome) = opts.program.open(&opts.capture)?;
        (opts.select.of(trace, opencsd), outcome)
    };
    let trace = trace
        .options(Options {
            like_opencsd: opencsd,
            split_source_walks: opts.src_addr_n,
            no_image: opts.no_image,
            handlers: opts.program.handlers(),
        })
        .jobs(opts.jobs.into());
    let trace = opts.filter.of(trace, &opts.inline)?;
    let clocks = (opts.instructions && !opencsd && !opts.by_time)
        .then(|| clocks::open(trace.capture()))
        .filter(Clocks::any);
    outcome = outcome.and(clocks.as_ref().map_or(Outcome::Good, clocks::outcome));
    outcome = outcome.and(clocks::outcome(trace.window_clocks()));
    let (mut all, mut checked) = (Shown::default(), Vec::new());
    refuse_past_end(&trace, "--around", opts.around.unwrap_or(0))?;
    let engine = trace.engine()?;
    if opts.by_time {
        all = by_time::show(&trace, &engine, opts)?;
    }
    let buffers = if opts.by_time { Vec::new() } else { trace.buffers()? };
    let (mut readable, has_several) = (buffers.len(), buffers.len() > 1);
    for (index, buffer) in buffers.into_iter().enumerate() {
        let (trace, engine, opts) = (&trace, &engine, opts);
        let decode = BufferDecode {
            trace,
            engine,
            buffer,
            no_image: opts.no_image,
            again: false,
            has_funnel: false,
            opts: Some(opts),
        };
        let shown = match &opts.check {
            Some(log) => check::check(&decode, opts, log, &mut checked)?,
            None => match decode.show(opts, clocks.as_ref(), has_several.then_some(index)) {
                // Totals of the other buffers are worth something without this.
                Err(error @ Error::Message(_)) if opts.summary && readable > 1 => {
                    error.report();
                    readable -= 1;
                    outcome = outcome.and(Outcome::lacks("unread-source", true));
                    continue;
                }
                shown => shown?,
            },
        };
        all.add(shown);
    }
    let is_excerpt = opts.last.is_some() || opts.around.is_some();
    let is_part = all.tally.left_out > 0 || is_excerpt && opts.filter.is_part();
    if all.tally.instructions == 0 && is_part {
        outcome = outcome.and(opts.filter.report_nothing(&trace));
    }
    if let Some(log) = opts.check.as_deref().filter(|_| opts.select.is_all()) {
        outcome = outcome.and(check::unchecked(log, &checked)?);
    }
    sources::report_missing(&all.sources, trace.image());
    outcome = outcome.and(report_missing_code(&trace, &all.tally));
    outcome = outcome.and(images::report_left_out(trace.image()));
    outcome = outcome.and(all.outcome);
    if opts.table.json && opts.check.is_none() && !opts.summary {
        let mut out = Output::paged(Form::Json);
        out.write_all(last_line("decode", &outcome).as_bytes())?;
        out.flush()?;
    }
    all.readable.refuse_nothing()?;
    Ok(outcome)
}

/// What was shown: totals, and whether it is complete.
#[derive(Debug, Default)]
pub struct Shown {
    pub tally: Tally,
    readable: Readable,
    sources: Vec<SourceTally>,
    pub outcome: Outcome,
}

impl Shown {
    /// Says how many instructions a listing lacks.
    fn and_unlisted(mut self, buffer: &str, instructions: u64) -> Self {
        if instructions > 0 {
            report(&format!("{buffer}: {}", words::unlisted(instructions)));
        }
        self.outcome.add(Outcome::lacks("no-code", instructions > 0));
        self
    }

    /// Says how many calls are left out because they are too deep.
    fn and_deep(mut self, buffer: &str, too_deep: u64) -> Self {
        self.outcome.add(report_deep(buffer, too_deep));
        self
    }

    fn add(&mut self, other: Self) {
        self.tally += &other.tally;
        self.readable.add(other.readable);
        self.sources.extend(other.sources);
        self.outcome.add(other.outcome);
    }
}

/// Says how many calls are left out because they are too deep.
pub fn report_deep(of: &str, calls: u64) -> Outcome {
    if calls > 0 {
        report(&format!("{of}: {}", words::too_deep(calls)));
    }
    Outcome::lacks(words::TOO_DEEP, calls > 0)
}

/// A trace that a verb decodes.
pub struct Within<'a> {
    pub trace: &'a Trace,
    /// Set when the trace has been decoded before, so that problems are not reported twice.
    pub again: bool,
    /// Set when a funnel follows, so that totals are not reported twice.
    pub has_funnel: bool,
}

impl Within<'_> {
    /// Decodes all buffers that are wanted and reports what is wrong with them, after `before` has reported what is wrong with the
    /// output of a buffer. Returns the merged output, with totals and whether all is there.
    pub fn decode<C: Consumer>(
        &self,
        consumer: &C,
        before: impl Fn(&C::Output) -> Outcome,
    ) -> Result<(C::Output, Shown), Error> {
        let Self { trace, again, has_funnel } = *self;
        let (mut all, mut shown) = (C::Output::default(), Shown::default());
        let engine = &trace.engine()?;
        for buffer in trace.buffers()? {
            let decode =
                BufferDecode { trace, engine, buffer, no_image: false, again, has_funnel, opts: None };
            let decoded = decode.decode(consumer, false, |_, _| ControlFlow::Continue(()))?;
            let before = before(&decoded.value);
            shown.add(decode.shown(&decoded));
            shown.outcome = before.and(shown.outcome);
            consumer.merge(&mut all, decoded.value);
        }
        shown.readable.refuse_nothing()?;
        if !again {
            if has_funnel {
                sources::report(&shown.sources);
            }
            sources::report_missing(&shown.sources, trace.image());
            shown.outcome = shown.outcome.and(report_missing_code(trace, &shown.tally));
        }
        Ok((all, shown))
    }
}

/// A buffer to decode, and how.
struct BufferDecode<'a> {
    trace: &'a Trace,
    engine: &'a Engine,
    buffer: &'a Buffer,
    no_image: bool,
    again: bool,
    has_funnel: bool,
    /// What is asked for, if lines are written.
    opts: Option<&'a Opts>,
}

fn source(trace: &Trace, index: usize, id: u16) -> tracewright::Source<'_> {
    tracewright::Source { index, id, of: &trace.capture().sources[index] }
}

/// Writes the lines of an element that was kept.
fn line(
    trace: &Trace,
    lines: &impl Lines,
    text: &mut Line,
    source: &tracewright::Source<'_>,
    listed: &Listed,
) {
    let place = Place { offset: listed.offset, opencsd_index: listed.offset };
    let (space, image, moment) = (listed.space, &**trace.image(), Moment::LAST);
    let at = At { source, place, space, image, moment };
    lines.lines(text, &at, &listed.element, When { stamps: listed.stamps.as_deref(), time: listed.time });
}

impl BufferDecode<'_> {
    /// Decodes the buffer. If it `lists` what ran and does not count it, the program need not explain the trace.
    fn decode<C: Consumer>(
        &self,
        consumer: &C,
        lists: bool,
        take: impl FnMut(&C::Output, std::ops::Range<usize>) -> ControlFlow<()> + Send,
    ) -> Result<tracewright::Outcome<C::Output>, Error> {
        let Self { trace, engine, buffer, .. } = *self;
        let decoded = progress::on(trace, buffer).decode_buffer(engine, buffer, consumer, lists, take);
        decoded.map_err(|error| self.failure(error))
    }

    fn failure(&self, error: tracewright::Error) -> Error {
        match error {
            tracewright::Error::Decode(tracewright_engine::Error::WrongProgram(doubts)) => {
                summary::refusal(&self.buffer.name, &doubts, self.trace.image())
            }
            error => error.into(),
        }
    }

    /// Decodes the buffer and writes its lines to standard output, in the way that is asked for.
    /// `number` tells which of several buffers it is.
    fn show(&self, opts: &Opts, clocks: Option<&Clocks>, number: Option<usize>) -> Result<Shown, Error> {
        let again = number.is_some_and(|number| number > 0);
        let named = |columns: &str| match number {
            None => heading(columns),
            Some(number) => {
                let before = if number > 0 { "\n" } else { "" };
                let path = printable_path(&self.buffer.path);
                format!(
                    "{before}{HEADING}buffer {}{END} ({path})\n{}",
                    Printable(&self.buffer.name),
                    heading(columns)
                )
            }
        };
        let (detail, times) = (opts.detail(), opts.timestamps);
        let ended = |end: ClockEnd| {
            report_ends([end]);
        };
        let excerpt = (opts.last.is_some() || opts.around.is_some()).then(|| ExcerptOptions {
            around: opts.around,
            count: opts.last.unwrap_or(opts.count).into(),
            shows: detail.filter(),
            clocks,
            times,
        });
        if opts.style == Some(Style::Opencsd) {
            self.refuse_riscv("--style opencsd")?;
            self.list(&OpenCsdLines { again }, "", Form::Text)
        } else if opts.no_image {
            self.refuse_riscv("--no-image")?;
            self.report_no_broadcast();
            let events = opts.events.clone();
            if opts.has_objects() {
                let rows = TargetRows(JsonRows::new(&self.buffer.name, events));
                return self.list(&rows, &opts.first_line(again), opts.table.form());
            }
            let rows = TextRows { ids: self.has_several_sources(), events };
            let columns = named(rows.columns());
            self.list(&TargetRows(rows), &columns, opts.table.form())
        } else if opts.summary {
            let mut out = opts.out(Output::stdout(opts.table.form()));
            if opts.table.is_csv() {
                out.write_all(opts.first_line(again).as_bytes())?;
            }
            let decoded = progress::on(self.trace, self.buffer).totals_of(self.engine, self.buffer);
            let decoded = decoded.map_err(|error| self.failure(error))?;
            if opts.has_objects() {
                out.write_all(summary::json(self.trace, &self.buffer.name, &decoded).as_bytes())?;
            }
            out.flush()?;
            Ok(self.shown(&decoded))
        } else if opts.calls {
            let first = if opts.has_objects() { opts.first_line(again) } else { named(calls::COLUMNS) };
            self.calls(opts, &first)
        } else if opts.has_objects() {
            let (first, form) = (opts.first_line(again), opts.table.form());
            let lines = Json::new(&self.buffer.name, detail, times);
            match excerpt {
                Some(options) => self.excerpts(&lines, &options, &first, form),
                None => self.list(&Listing { lines, clocks, times, ended }, &first, form),
            }
        } else {
            let lines = Text::new(detail, clocks.is_some(), times);
            let columns = named(&lines.columns());
            match excerpt {
                Some(options) => self.excerpts(&lines, &options, &columns, Form::Table),
                None => self.list(&Listing { lines, clocks, times, ended }, &columns, Form::Table),
            }
        }
    }

    /// Decodes the buffer and writes its lines to standard output.
    fn list<C: Consumer<Output = Line>>(&self, lines: &C, columns: &str, form: Form) -> Result<Shown, Error> {
        let mut out = Objects::new(Output::paged(form), self.opts.and_then(Opts::columns));
        out.write_all(columns.as_bytes())?;
        let mut written = Ok(());
        let decoded = self.decode(lines, true, |line, range| {
            written = out.write_all(&line.bytes()[range]);
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        written?;
        out.flush()?;
        Ok(self.shown(&decoded).and_unlisted(&self.buffer.name, decoded.value.unlisted()))
    }

    /// Writes the functions entered and left to standard output.
    fn calls(&self, opts: &Opts, first: &str) -> Result<Shown, Error> {
        let Self { trace, buffer, engine, .. } = *self;
        let mut out = opts.out(Output::stdout(opts.table.form()));
        out.write_all(first.as_bytes())?;
        let mut lines = Calls { trace, json: opts.has_objects().then_some(&*buffer.name), too_deep: 0 };
        if let Some(count) = opts.last {
            let last = progress::on(trace, buffer).last_calls_of(engine, buffer, count as usize)?;
            let mut text = Line::default();
            last.value.iter().for_each(|event| lines.line(&mut text, event));
            out.write_all(text.bytes())?;
            out.flush()?;
            return Ok(self.shown(&last).and_deep(&buffer.name, lines.too_deep));
        }
        let mut written = Ok(());
        let decoded = progress::on(trace, buffer).calls_of(engine, buffer, |events| {
            let mut text = Line::default();
            events.iter().for_each(|event| lines.line(&mut text, event));
            written = out.write_all(text.bytes());
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        written?;
        out.flush()?;
        Ok(self.shown(&decoded).and_deep(&buffer.name, lines.too_deep))
    }

    /// Writes the lines of excerpts to standard output.
    fn excerpts(
        &self,
        lines: &impl Lines,
        options: &ExcerptOptions<'_>,
        columns: &str,
        form: Form,
    ) -> Result<Shown, Error> {
        let Self { trace, buffer, engine, .. } = *self;
        let found = progress::on(trace, buffer).excerpts_of(engine, buffer, options)?;
        let mut out = Objects::new(Output::stdout(form), self.opts.and_then(Opts::columns));
        out.write_all(columns.as_bytes())?;
        let mut unlisted = 0;
        for (number, excerpt) in found.value.iter().enumerate() {
            let source = source(trace, excerpt.source, excerpt.id);
            let of = source.of;
            let mut text = Line::default();
            if form == Form::Table && found.value.len() > 1 {
                let _ = writeln!(text, "{}{}:", if number > 0 { "\n" } else { "" }, Printable(&of.name));
            }
            excerpt.before.iter().for_each(|listed| line(trace, lines, &mut text, &source, listed));
            if let (Some(around), Form::Table) = (options.around, form) {
                text.hex(around, 10).text(" ---\n");
            }
            excerpt.after.iter().for_each(|listed| line(trace, lines, &mut text, &source, listed));
            out.write_all(text.bytes())?;
            unlisted += text.unlisted();
            report_ends(excerpt.end);
            if excerpt.dropped > 0 {
                report(&format!(
                    "{}: {} elements between instructions are left out",
                    of.name, excerpt.dropped
                ));
            }
        }
        out.flush()?;
        Ok(self.shown(&found).and_unlisted(&buffer.name, unlisted))
    }

    fn shown<T>(&self, decoded: &tracewright::Outcome<T>) -> Shown {
        let mut readable = Readable::default();
        readable.note(self.trace.capture(), self.buffer, decoded);
        Shown {
            tally: decoded.tally,
            readable,
            sources: decoded.sources.clone(),
            outcome: self.report(decoded),
        }
    }

    fn refuse_riscv(&self, option: &str) -> Result<(), Error> {
        let Some(protocol) = riscv(self.trace.capture(), self.buffer) else { return Ok(()) };
        let name = &self.buffer.name;
        let message = format!("{name}: {option} is for Arm's ETMv4 and ETE, and this is {protocol}");
        Err(Error::Message(message))
    }

    /// Reports what is wrong with the buffer, and what was decoded. Returns whether all is there.
    fn report<T>(&self, decoded: &tracewright::Outcome<T>) -> Outcome {
        let Self { trace, buffer, .. } = *self;
        let (errors, remarks): (Vec<_>, Vec<_>) =
            decoded.diagnostics.iter().partition(|diagnostic| diagnostic.problem.is_error());
        if self.again {
            // What was decoded before did not need as much memory.
            let is_new = |of: &&Diagnostic| matches!(&of.problem, Problem::Stopped(_, limit, _) if *limit != Limit::Instructions);
            let is_new = errors.iter().any(is_new);
            errors.iter().filter(|_| is_new).for_each(|problem| report_problem(problem));
            return Outcome::lacks("stopped", is_new);
        }
        remarks.into_iter().chain(errors).for_each(report_problem);
        decoded.unread.iter().for_each(|line| report(line));
        if self.no_image {
            summary::report_targets(&buffer.name, &decoded.tally);
        } else {
            summary::report(trace.capture(), buffer, &decoded.tally, trace.image(), self.has_funnel);
            if !self.has_funnel {
                sources::report(&decoded.sources);
            }
        }
        Outcome::of(decoded)
    }

    /// The sources that can be decoded.
    fn sources(&self) -> impl Iterator<Item = &Source> {
        let all = self.buffer.sources.iter().map(|&source| &self.trace.capture().sources[source]);
        all.filter(|source| {
            !matches!(source.protocol, Protocol::Unsupported(..)) && self.trace.has_source(source)
        })
    }

    fn has_several_sources(&self) -> bool {
        self.buffer.format.is_framed() && self.sources().nth(1).is_some()
    }

    /// Says of which sources the trace does not tell where all branches went.
    fn report_no_broadcast(&self) {
        for source in self.sources() {
            if let Some(what) = tracewright::targets::lacks_targets(source) {
                remark(&format!("{}: {}: {what}", self.buffer.name, source.name));
            }
        }
    }
}
