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
use std::sync::Arc;

use clap::{Args, ValueEnum};
use tracewright::Clocks;
use tracewright_core::Element;
use tracewright_engine::{
    At, Blocks, Consumer, Decoded, Engine, Limit, Limits, Options, Problem, Range, Request, Tally,
};
use tracewright_image::Image;
use tracewright_input::{Buffer, Capture, Protocol, Source};

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
use crate::output::{Error, Form, Needs, Outcome, Output, report, report_problems};
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
    let (capture, image, mut outcome) = if opts.no_image {
        let capture = opts.capture.open()?;
        let outcome = report_problems(&capture.problems, Needs::Trace);
        (capture, Image::builder().build(), outcome)
    } else {
        opts.program.open(&opts.capture)?
    };
    let image = Arc::new(image);
    let opencsd = opts.style == Some(Style::Opencsd);
    let clocks = (opts.instructions && !opencsd).then(|| clocks::open(&capture)).filter(Clocks::any);
    outcome = outcome.and(clocks.as_ref().map_or(Outcome::Good, clocks::outcome));
    let wants = |id: u16| opts.select.wants_number(id);
    let options = Options {
        like_opencsd: opencsd,
        split_source_walks: opts.src_addr_n,
        no_image: opts.no_image,
        handlers: opts.program.handlers(),
    };
    let (mut errors, mut checked) = (0, Vec::new());
    let engine = Engine::new(opts.jobs.into())?;
    for (index, buffer) in opts.select.buffers(&capture, opencsd)?.into_iter().enumerate() {
        let decode = BufferDecode {
            engine: &engine,
            capture: &capture,
            buffer,
            image: &image,
            wants: &wants,
            options: &options,
            range: Range { from: opts.from, to: opts.to.unwrap_or(u64::MAX) },
            limits: opts.limits.limits(),
            accept_mismatch: !opts.summary || opts.program.accept_mismatch,
            again: false,
        };
        errors += match &opts.check {
            Some(log) => check::check(&decode, &image, opts, log, &mut checked)?,
            None => decode.show(opts, clocks.as_ref(), index > 0)?,
        };
    }
    if let Some(log) = opts.check.as_deref().filter(|_| opts.select.is_all()) {
        errors += check::unchecked(log, &checked)?;
    }
    outcome = outcome.and(images::report_left_out(&image));
    Ok(outcome.and(Outcome::from_errors(errors)))
}

/// Which part of a capture a verb decodes, and how.
pub struct Within<'a> {
    pub capture: &'a Capture,
    pub image: &'a Image,
    pub asked: (&'a SelectArgs, &'a ProgramArgs),
    pub extent: (Range, Limits),
    /// Number of threads; 0 for one each core.
    pub jobs: usize,
    /// Set when the capture has been decoded before, so that problems are not reported twice.
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
        let Self { capture, image, asked: (select, program), extent: (range, limits), jobs, again } = *self;
        let engine = Engine::new(jobs)?;
        let wants = |id: u16| select.wants_number(id);
        let options = Options { handlers: program.handlers(), ..Options::default() };
        let (mut all, mut tally, mut errors) = (C::Output::default(), Tally::default(), 0);
        for buffer in select.buffers(capture, false)? {
            let decode = BufferDecode {
                engine: &engine,
                capture,
                buffer,
                image,
                wants: &wants,
                options: &options,
                range,
                limits,
                accept_mismatch: program.accept_mismatch,
                again,
            };
            let decoded = decode.decode(consumer, |_, _| ControlFlow::Continue(()))?;
            before(&decoded.output);
            errors += decode.report(&decoded);
            tally += &decoded.tally;
            consumer.merge(&mut all, decoded.output);
        }
        Ok((all, tally, errors))
    }
}

/// A buffer to decode, and how.
#[derive(Clone, Copy)]
struct BufferDecode<'a> {
    engine: &'a Engine,
    capture: &'a Capture,
    buffer: &'a Buffer,
    image: &'a Image,
    wants: &'a (dyn Fn(u16) -> bool + Sync),
    options: &'a Options,
    range: Range,
    limits: Limits,
    /// Whether to go on where the program does not explain the trace.
    accept_mismatch: bool,
    again: bool,
}

/// Counts instructions and blocks, and nothing else.
struct Totals;

impl Consumer for Totals {
    const BLOCKS: Blocks = Blocks::Summed;
    type State = ();
    type Output = ();

    fn element(&self, _: &mut (), _: &mut (), _: &At<'_>, _: &Element) {}
}

impl BufferDecode<'_> {
    /// Decodes the buffer.
    fn decode<C: Consumer>(
        &self,
        consumer: &C,
        take: impl FnMut(&C::Output, std::ops::Range<usize>) -> ControlFlow<()> + Send,
    ) -> Result<Decoded<C::Output>, Error> {
        let Self { capture, buffer, image, wants, options, range, limits, .. } = *self;
        let bar = progress::of(buffer);
        let request = Request {
            capture,
            buffer,
            bytes: None,
            image,
            wants,
            options,
            range,
            limits,
            refuse_mismatch: !self.accept_mismatch,
            progress: &|bytes| bar.inc(bytes),
        };
        let decoded = self.engine.decode(&request, consumer, take);
        bar.finish_and_clear();
        decoded.map_err(|error| match error {
            tracewright_engine::Error::WrongProgram(doubts) => summary::refusal(&buffer.name, &doubts, image),
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
            let decoded = self.decode(&Totals, |(), _| ControlFlow::Continue(()))?;
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
        let decoded = self.decode(lines, |line, range| {
            written = out.write_all(&line.bytes()[range]);
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        written?;
        out.flush()?;
        Ok(self.report(&decoded))
    }

    fn refuse_etrace(&self, option: &str) -> Result<(), Error> {
        if !is_etrace(self.capture, self.buffer) {
            return Ok(());
        }
        let name = &self.buffer.name;
        let message = format!("{name}: {option} is for Arm's ETMv4 and ETE, and this is E-Trace");
        Err(Error::Message(message))
    }

    /// Reports what is wrong with the buffer, and what was decoded. Returns how many things were wrong.
    fn report<O>(&self, decoded: &Decoded<O>) -> u64 {
        let Self { capture, buffer, image, .. } = *self;
        let (errors, remarks): (Vec<_>, Vec<_>) =
            decoded.problems.iter().partition(|problem| problem.is_error());
        if self.again {
            // What was decoded before did not need as much memory.
            let is_new = |problem: &&Problem| matches!(problem, Problem::Stopped(_, limit, _) if *limit != Limit::Instructions);
            let is_new = errors.iter().any(is_new);
            errors
                .iter()
                .filter(|_| is_new)
                .for_each(|problem| report(&format!("{}: {problem}", buffer.name)));
            return is_new.into();
        }
        for problem in remarks.iter().chain(&errors) {
            report(&format!("{}: {problem}", buffer.name));
        }
        report_unread(capture, buffer, decoded.unread.iter().copied());
        if self.options.no_image {
            summary::report_targets(&buffer.name, &decoded.tally);
        } else {
            summary::report(&buffer.name, &decoded.tally, image);
        }
        decoded.errors()
    }

    /// The sources that can be decoded.
    fn sources(&self) -> impl Iterator<Item = &Source> {
        let all = self.buffer.sources.iter().map(|&source| &self.capture.sources[source]);
        all.filter(|source| {
            !matches!(source.protocol, Protocol::Unsupported(..)) && source.number().is_some_and(self.wants)
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
