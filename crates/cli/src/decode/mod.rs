//! `tracewright decode`: every instruction that ran.

mod bodies;
mod check;
mod cycles;
mod json;
pub mod listing;
mod opencsd;
mod rows;
mod summary;
pub mod text;

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tracewright::{Clocks, Trace};
use tracewright_core::Element;
use tracewright_engine::{At, Blocks, Consumer, Decoded, Engine, Limit, Options, Problem, Tally};
use tracewright_input::{Buffer, Protocol, Source};

use self::bodies::Bodies;
use self::json::Json;
use self::listing::Listing;
use self::opencsd::OpenCsd;
use self::rows::{EventName, Rows};
use self::text::{Detail, Text};
use crate::args::{CaptureArgs, LimitArgs, ProgramArgs, SelectArgs};
use crate::clocks;
use crate::etrace::is_etrace;
use crate::images;
use crate::line::Line;
use crate::output::{Error, Form, Outcome, Output, report, report_problem};
use crate::packets::report_unread;
use crate::progress;

/// Show every instruction that ran.
///
/// A line for each block: instructions that ran one after another, up to a branch. Columns: offset in the trace file of
/// the packet that told it, trace ID, address, number of instructions, how it ended, where that is. The program comes
/// from the capture's memory images and from --image.
#[derive(Args)]
#[command(after_help = "Examples:
  tracewright decode juno/
  tracewright decode juno/ --image vmlinux --image app@0xaaaac0000000 | less
  tracewright decode juno/ --instructions --id 0x10 --from 0x8000 --to 0x9000
  tracewright decode juno/ --instructions --json | jq -r .symbol | uniq -c
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
Cycle: that of the last branch or exception up to the row whose cycle the trace tells, in hexadecimal, from 0 at each On, \
Gap and Cyc; nothing if cycles are not counted (TRCCONFIGR.CCI)."
    )]
    no_image: bool,

    /// With --no-image: what to call an event, as 0=L1D_CACHE_REFILL (repeat for more).
    #[arg(long = "event", value_name = "N=NAME", requires = "no_image")]
    events: Vec<EventName>,

    /// Compare with what a log says ran (one of tracewright, Spike, CVA6 or QEMU, or retirements as CSV), and say where they
    /// part. Exit status 0 only if they are equal, also in length. With a log of tracewright's plugin for QEMU, source threadN is compared
    /// with thread N, and that for all of them.
    #[arg(long, value_name = "LOG", conflicts_with_all = ["detail", "style", "no_image", "from", "to", "max_instructions"])]
    check: Option<PathBuf>,

    /// With --check: one of the two may end before the other.
    #[arg(long, requires = "check")]
    check_prefix: bool,

    /// Only what packets from this offset of the trace file on tell.
    #[arg(long, value_name = "OFFSET", value_parser = offset, default_value = "0", hide_default_value = true)]
    from: u64,

    /// Only what packets before this offset of the trace file tell.
    #[arg(long, value_name = "OFFSET", value_parser = offset)]
    to: Option<u64>,

    /// One JSON object per line.
    #[arg(long, conflicts_with = "style")]
    json: bool,

    /// How elements are worded; tracewright's own way if not given.
    #[arg(long, value_enum)]
    style: Option<Style>,

    /// With --style opencsd: a range for each branch that a source address packet passes over, as trc_pkt_lister's
    /// -src_addr_n.
    #[arg(long, requires = "style")]
    src_addr_n: bool,

    #[command(flatten)]
    limits: LimitArgs,

    /// How many threads; 0: one for each core.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=256))]
    jobs: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Style {
    /// For people.
    Tracewright,
    /// The element lines of OpenCSD 1.8.0's trc_pkt_lister (first buffer only unless --buffer says more).
    Opencsd,
}

/// `0x1f` or `31`.
pub fn offset(text: &str) -> Result<u64, String> {
    let value = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    value.map_err(|_| "expected an offset, decimal or with 0x".into())
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
        .range(opts.from..opts.to.unwrap_or(u64::MAX))
        .limits(opts.limits.limits())
        .jobs(opts.jobs.into());
    let clocks = (opts.instructions && !opencsd).then(|| clocks::open(trace.capture())).filter(Clocks::any);
    outcome = outcome.and(clocks.as_ref().map_or(Outcome::Good, clocks::outcome));
    let (mut errors, mut checked) = (0, Vec::new());
    let engine = trace.engine()?;
    for (index, buffer) in trace.buffers()?.into_iter().enumerate() {
        let (trace, engine) = (&trace, &engine);
        let decode = BufferDecode { trace, engine, buffer, no_image: opts.no_image, again: false };
        errors += match &opts.check {
            Some(log) => check::check(&decode, opts, log, &mut checked)?,
            None => decode.show(opts, clocks.as_ref(), index > 0)?,
        };
    }
    if let Some(log) = opts.check.as_deref().filter(|_| opts.select.is_all()) {
        errors += check::unchecked(log, &checked)?;
    }
    outcome = outcome.and(images::report_left_out(trace.image()));
    Ok(outcome.and(Outcome::from_errors(errors)))
}

/// A trace that a verb decodes.
pub struct Within<'a> {
    pub trace: &'a Trace,
    /// Set when the trace has been decoded before, so that problems are not reported twice.
    pub again: bool,
}

impl Within<'_> {
    /// Decodes all buffers that are wanted and reports what is wrong with them, after `before` has seen the output of a buffer. Returns
    /// the merged output, the totals, and how many things were wrong.
    pub fn decode<C: Consumer>(
        &self,
        consumer: &C,
        before: impl Fn(&C::Output),
    ) -> Result<(C::Output, Tally, u64), Error> {
        let Self { trace, again } = *self;
        let (mut all, mut tally, mut errors) = (C::Output::default(), Tally::default(), 0);
        let engine = &trace.engine()?;
        for buffer in trace.buffers()? {
            let decode = BufferDecode { trace, engine, buffer, no_image: false, again };
            let decoded = decode.decode(consumer, false, |_, _| ControlFlow::Continue(()))?;
            before(&decoded.output);
            errors += decode.report(&decoded);
            tally += &decoded.tally;
            consumer.merge(&mut all, decoded.output);
        }
        Ok((all, tally, errors))
    }
}

/// A buffer to decode, and how.
struct BufferDecode<'a> {
    trace: &'a Trace,
    engine: &'a Engine,
    buffer: &'a Buffer,
    no_image: bool,
    again: bool,
}

/// Counts instructions and blocks, and nothing else.
struct Totals;

impl Consumer for Totals {
    const BLOCKS: Blocks = Blocks::Summed;
    type State = ();
    type Output = ();

    fn element(&self, _: &mut (), _: &mut (), _: &At<'_>, _: &Element) {}

    fn merge(&self, (): &mut (), (): ()) {}
}

impl BufferDecode<'_> {
    /// Decodes the buffer. If it `lists` what ran and does not count it, the program need not explain the trace.
    fn decode<C: Consumer>(
        &self,
        consumer: &C,
        lists: bool,
        take: impl FnMut(&C::Output, std::ops::Range<usize>) -> ControlFlow<()> + Send,
    ) -> Result<Decoded<C::Output>, Error> {
        let Self { trace, engine, buffer, .. } = *self;
        let decoded = progress::on(trace, buffer).decode_buffer(engine, buffer, consumer, lists, take);
        decoded.map_err(|error| match error {
            tracewright::Error::Decode(tracewright_engine::Error::WrongProgram(doubts)) => {
                summary::refusal(&buffer.name, &doubts, trace.image())
            }
            error => error.into(),
        })
    }

    /// Decodes the buffer and writes its lines to standard output, in the way that is asked for. Returns how many things were wrong.
    fn show(&self, opts: &Opts, clocks: Option<&Clocks>, again: bool) -> Result<u64, Error> {
        let detail = match (opts.instructions, opts.elements) {
            (true, _) => Detail::Instructions,
            (_, true) => Detail::Elements,
            _ => Detail::Blocks,
        };
        let quoted = || serde_json::to_string(&self.buffer.name).unwrap_or_default();
        if opts.style == Some(Style::Opencsd) {
            self.refuse_etrace("--style opencsd")?;
            self.list(&OpenCsd { again }, "", Form::Text)
        } else if opts.no_image {
            self.refuse_etrace("--no-image")?;
            let json = opts.json.then(quoted);
            let rows = Rows { json, ids: self.has_several_sources(), events: opts.events.clone() };
            self.report_no_broadcast();
            self.list(&rows, rows.columns(), Form::json_if(opts.json))
        } else if opts.summary {
            let mut out = Output::stdout(Form::json_if(opts.json));
            let decoded = self.decode(&Totals, false, |(), _| ControlFlow::Continue(()))?;
            if opts.json {
                out.write_all(summary::json(&self.buffer.name, &decoded.tally).as_bytes())?;
            }
            out.flush()?;
            Ok(self.report(&decoded))
        } else if opts.json {
            let lines = Json { buffer: quoted(), detail, bodies: Bodies::new() };
            self.list(&Listing { lines, clocks }, "", Form::Json)
        } else {
            let lines = Text::new(detail, clocks.is_some());
            let columns = lines.columns();
            self.list(&Listing { lines, clocks }, columns, Form::Text)
        }
    }

    /// Decodes the buffer and writes its lines to standard output.
    fn list<C: Consumer<Output = Line>>(&self, lines: &C, columns: &str, form: Form) -> Result<u64, Error> {
        let mut out = Output::stdout(form);
        out.write_all(columns.as_bytes())?;
        let mut written = Ok(());
        let decoded = self.decode(lines, true, |line, range| {
            written = out.write_all(&line.bytes()[range]);
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        written?;
        out.flush()?;
        Ok(self.report(&decoded))
    }

    fn refuse_etrace(&self, option: &str) -> Result<(), Error> {
        if !is_etrace(self.trace.capture(), self.buffer) {
            return Ok(());
        }
        let name = &self.buffer.name;
        let message = format!("{name}: {option} is for Arm's ETMv4 and ETE, and this is E-Trace");
        Err(Error::Message(message))
    }

    /// Reports what is wrong with the buffer, and what was decoded. Returns how many things were wrong.
    fn report<O>(&self, decoded: &Decoded<O>) -> u64 {
        let Self { trace, buffer, .. } = *self;
        let (errors, remarks): (Vec<_>, Vec<_>) =
            decoded.problems.iter().partition(|problem| problem.is_error());
        if self.again {
            // What was decoded before did not need as much memory.
            let is_new = |problem: &&Problem| matches!(problem, Problem::Stopped(_, limit, _) if *limit != Limit::Instructions);
            let is_new = errors.iter().any(is_new);
            errors.iter().filter(|_| is_new).for_each(|problem| report_problem(buffer, problem));
            return is_new.into();
        }
        for problem in remarks.iter().chain(&errors) {
            report_problem(buffer, problem);
        }
        report_unread(trace.capture(), buffer, decoded.unread.iter().copied());
        if self.no_image {
            summary::report_targets(&buffer.name, &decoded.tally);
        } else {
            summary::report(&buffer.name, &decoded.tally, trace.image());
        }
        decoded.errors()
    }

    /// The sources that can be decoded.
    fn sources(&self) -> impl Iterator<Item = &Source> {
        let all = self.buffer.sources.iter().map(|&source| &self.trace.capture().sources[source]);
        all.filter(|source| {
            !matches!(source.protocol, Protocol::Unsupported(..))
                && source.number().is_some_and(|id| self.trace.is_chosen(id))
        })
    }

    fn has_several_sources(&self) -> bool {
        self.buffer.format.is_framed() && self.sources().nth(1).is_some()
    }

    /// Says of which sources the trace does not tell where all branches went.
    fn report_no_broadcast(&self) {
        for source in self.sources() {
            let on = source.register("TRCCONFIGR").is_some_and(|value| value >> 3 & 1 == 1);
            let what = match source.register("TRCBBCTLR") {
                _ if !on => {
                    "no branch broadcast (TRCCONFIGR.BB): only targets of indirect branches are known"
                }
                Some(1..) => "branch broadcast is limited to some addresses (TRCBBCTLR)",
                _ => continue,
            };
            report(&format!("{}: {}: {what}", self.buffer.name, source.name));
        }
    }
}
