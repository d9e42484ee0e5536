//! `tracewright decode`: every instruction that ran.

mod bodies;
mod check;
mod cycles;
pub mod disassembly;
mod engine;
mod etm;
mod etrace;
mod incoming;
mod json;
mod lane;
pub mod names;
mod opencsd;
pub mod part;
mod protocol;
mod rows;
mod segment;
pub mod source;
mod summary;
pub mod text;
pub mod words;

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use clap::{Args, ValueEnum};
use tracewright_etm::decode;
use tracewright_etm::packet::Resync;
use tracewright_image::Image;
use tracewright_input::{Buffer, BufferFormat, Capture, EtraceSource, Source};

use self::engine::{Engine, Plan};
use self::etm::Etm;
use self::etrace::Etrace;
use self::incoming::{Incoming, Reading, format};
use self::json::Json;
use self::lane::{Lane, Lanes};
use self::opencsd::OpenCsd;
use self::part::{DecodeLimits, Limit, Print, Range, Tally, Totals};
use self::protocol::Protocol;
use self::rows::{EventName, Rows};
use self::text::{Detail, Text};
use crate::args::{CaptureArgs, LimitArgs, ProgramArgs, SelectArgs};
use crate::clocks::Clocks;
use crate::etrace::ends_inside;
use crate::images;
use crate::output::{Error, Form, Needs, Outcome, Output, report, report_problems};
use crate::packets::report_unread;
use crate::reader::Input;

/// Bytes read before --from, to be synchronised there, and beyond --to: a packet that begins before it may be committed
/// later.
const LEAD: u64 = 1 << 20;

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
    let capture = opts.capture.open()?;
    let (image, problems) =
        if opts.no_image { (Image::builder().build(), Vec::new()) } else { opts.program.image(&capture) };
    let needs = if opts.no_image { Needs::Trace } else { Needs::All };
    let mut outcome = report_problems(&capture.problems, needs);
    outcome = outcome.and(report_problems(&problems, needs));
    images::report_remarks(&image, &opts.program.images);
    let image = Arc::new(image);
    let opencsd = opts.style == Some(Style::Opencsd);
    let clocks = (opts.instructions && !opencsd).then(|| Clocks::open(&capture)).filter(Clocks::any);
    outcome = outcome.and(clocks.as_ref().map_or(Outcome::Good, Clocks::outcome));
    let jobs = match opts.jobs {
        // Cycles are summed up from the beginning.
        _ if opts.no_image || clocks.is_some() => 1,
        jobs => opts.limits.limits().jobs(number_of(jobs)),
    };
    let range = Range { from: opts.from, to: opts.to.unwrap_or(u64::MAX) };
    let threads = threads(jobs)?;
    let mut errors = 0;
    let wants = |id: u16| opts.select.wants_number(id);
    let checked = Mutex::new(Vec::new());
    for (index, buffer) in opts.select.buffers(&capture, opencsd)?.into_iter().enumerate() {
        let all = All {
            opts,
            capture: &capture,
            buffer,
            image: &image,
            wants: &wants,
            jobs,
            clocks: clocks.as_ref(),
            range,
            checked: &checked,
        };
        errors += threads.install(|| match buffer.format {
            BufferFormat::Etrace => all.etrace(),
            _ => all.etm(index > 0),
        })?;
    }
    if let Some(log) = opts.check.as_deref().filter(|_| opts.select.is_all()) {
        errors += check::unchecked(log, &checked.into_inner().unwrap_or_default())?;
    }
    outcome = outcome.and(images::report_left_out(&image));
    Ok(outcome.and(Outcome::from_errors(errors)))
}

/// So many threads as are asked for; 0: one for each core.
pub fn number_of(jobs: u16) -> usize {
    match jobs {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        jobs => jobs.into(),
    }
}

fn threads(jobs: usize) -> Result<rayon::ThreadPool, Error> {
    // One more than decode reads what comes next, unless all is to be one thread.
    let threads = rayon::ThreadPoolBuilder::new().num_threads(jobs + usize::from(jobs > 1)).build();
    threads.map_err(|error| Error::Message(format!("cannot start {jobs} threads: {error}")))
}

/// Decodes what is wanted of a capture, as far as the limits allow, with `jobs` threads, and gives it to `print`, which writes
/// nothing. Use more than one only if `print` keeps no state between elements. Returns totals and how many things were wrong.
pub fn within<P: Print>(
    capture: &Capture,
    image: &Image,
    (select, program): (&SelectArgs, &ProgramArgs),
    print: &P,
    (range, limits): (Range, DecodeLimits),
    jobs: usize,
) -> Result<(Tally, u64), Error> {
    let jobs = limits.jobs(jobs);
    let threads = threads(jobs)?;
    let wants = |id: u16| select.wants_number(id);
    let (mut all, mut errors) = (Tally::default(), 0);
    let accept_mismatch = program.accept_mismatch;
    for buffer in select.buffers(capture, false)? {
        let (out, tally) = (&mut std::io::sink(), &mut Tally::default());
        errors += if buffer.format == BufferFormat::Etrace {
            let options = etrace::Options { handlers: program.handlers() };
            let plan = Plan { options, range, limits, jobs };
            let what = What::<Etrace> {
                capture,
                buffer,
                image,
                wants: &wants,
                plan,
                no_image: false,
                accept_mismatch,
            };
            threads.install(|| what.decode_into(print, "", out, tally))?
        } else {
            let options = etm::Options { decode: decode::Options::default(), resync: Resync::NextAsync };
            let plan = Plan { options, range, limits, jobs };
            let what =
                What::<Etm> { capture, buffer, image, wants: &wants, plan, no_image: false, accept_mismatch };
            threads.install(|| what.decode_into(print, "", out, tally))?
        };
        all += tally;
    }
    Ok((all, errors))
}

/// A buffer to decode, and all that is known of it.
struct All<'a> {
    opts: &'a Opts,
    capture: &'a Capture,
    buffer: &'a Buffer,
    image: &'a Arc<Image>,
    wants: &'a (dyn Fn(u16) -> bool + Sync),
    jobs: usize,
    /// What tells the cycles of instructions, if these are shown.
    clocks: Option<&'a Clocks>,
    range: Range,
    /// Threads of the log that were compared.
    checked: &'a Mutex<Vec<u32>>,
}

impl All<'_> {
    fn what<T: Protocol>(&self, options: T::Options) -> What<'_, T> {
        let Self { opts, capture, buffer, image, wants, jobs, range, .. } = *self;
        let limits = opts.limits.limits();
        let plan = Plan { options, range, limits, jobs };
        let accept_mismatch = opts.program.accept_mismatch;
        What { capture, buffer, image, wants, plan, no_image: opts.no_image, accept_mismatch }
    }

    /// Decodes ETMv4 and ETE. `again`: this is not the first buffer. Returns how many things were wrong.
    fn etm(&self, again: bool) -> Result<u64, Error> {
        let opts = self.opts;
        let opencsd = opts.style == Some(Style::Opencsd);
        let what = self.what::<Etm>(etm::Options {
            decode: decode::Options {
                trust_images: opencsd,
                join_source_walks: opencsd && !opts.src_addr_n,
                repeat_no_code: opencsd,
                no_image: opts.no_image,
            },
            resync: if opencsd { Resync::NextByte } else { Resync::NextAsync },
        });
        if let Some(log) = &opts.check {
            self.check(&what, log)
        } else if opencsd {
            what.decode(&OpenCsd { again }, "", Form::Text)
        } else if opts.no_image {
            let json = opts.json.then(|| serde_json::to_string(&self.buffer.name).unwrap_or_default());
            let rows = Rows { json, ids: what.has_several_sources(), events: opts.events.clone() };
            what.report_no_broadcast();
            what.decode(&rows, rows.columns(), Form::json_if(opts.json))
        } else {
            self.show(&what)
        }
    }

    /// Decodes RISC-V E-Trace.
    fn etrace(&self) -> Result<u64, Error> {
        let what = self.what::<Etrace>(etrace::Options { handlers: self.opts.program.handlers() });
        if let Some(log) = &self.opts.check {
            return self.check(&what, log);
        }
        let refused = [
            ("--style opencsd", self.opts.style == Some(Style::Opencsd)),
            ("--no-image", self.opts.no_image),
        ];
        if let Some((option, _)) = refused.iter().find(|(_, given)| *given) {
            let message =
                format!("{}: {option} is for Arm's ETMv4 and ETE, and this is E-Trace", self.buffer.name);
            return Err(Error::Message(message));
        }
        self.show(&what)
    }

    /// In our own words.
    fn show<T: Protocol>(&self, what: &What<'_, T>) -> Result<u64, Error> {
        let opts = self.opts;
        let detail = match (opts.instructions, opts.elements) {
            (true, _) => Detail::Instructions,
            (_, true) => Detail::Elements,
            _ => Detail::Blocks,
        };
        if opts.summary {
            let form = Form::json_if(opts.json);
            match opts.limits.any() {
                true => what.decode(&Totals::<true> { json: opts.json }, "", form),
                false => what.decode(&Totals::<false> { json: opts.json }, "", form),
            }
        } else if opts.json {
            let buffer = serde_json::to_string(&self.buffer.name).unwrap_or_default();
            what.decode(&Json { buffer, detail, clocks: self.clocks }, "", Form::Json)
        } else {
            let text = Text { detail, clocks: self.clocks };
            what.decode(&text, text.columns(), Form::Text)
        }
    }
}

/// What to decode, and how.
struct What<'a, T: Protocol> {
    capture: &'a Capture,
    buffer: &'a Buffer,
    image: &'a Image,
    wants: &'a (dyn Fn(u16) -> bool + Sync),
    plan: Plan<T::Options>,
    /// Whether there is no program.
    no_image: bool,
    /// Whether to count also if the program does not explain the trace.
    accept_mismatch: bool,
}

impl<T: Protocol> What<'_, T> {
    /// Decodes a buffer, prints it, says what was wrong with it. Returns how many things were.
    fn decode<P: Print>(&self, print: &P, columns: &str, form: Form) -> Result<u64, Error> {
        self.decode_into(print, columns, &mut Output::stdout(form), &mut Tally::default())
    }

    /// The same; what is printed goes to `out`. `told` is what it came to; if `out` takes no more, until then.
    fn decode_into<P: Print>(
        &self,
        print: &P,
        columns: &str,
        out: &mut impl Write,
        told: &mut Tally,
    ) -> Result<u64, Error> {
        let Self { capture, buffer, image, wants, plan, no_image, accept_mismatch } = *self;
        let mut input = Input::open(buffer, &capture.checksums)?;
        // What lies long before --from is not needed. DSTREAM's blocks are counted from the start, and so are cycles. E-Trace's
        // options are told at the start.
        let start = plan.range.from.saturating_sub(LEAD) & !0xf;
        let counts = matches!(buffer.format, BufferFormat::DstreamCoreSight | BufferFormat::Etrace)
            || print.needs_all();
        if start > 0 && !counts {
            input.skip_to(start);
        }
        let mut lanes = Lanes::<T>::new(capture, buffer, wants);
        let mut incoming = Incoming::new(&lanes, wants);
        let mut reading = Reading::new(input, buffer, capture);
        let (mut engine, unsupported) = Engine::new(&lanes, image, print, plan);
        out.write_all(columns.as_bytes())?;
        let upto = plan.range.to.saturating_add(LEAD);
        let mut wanted = 0;
        // What came of the file with the windows that were decoded.
        let (mut bytes, mut unread) = (0, incoming.unread);
        let mut is_first = true;
        while !engine.is_stopped()
            && let Some(piece) = reading.next_piece()?
        {
            if !std::mem::replace(&mut is_first, false) {
                engine.interrupt(&lanes, out)?;
            }
            if piece.offset >= upto {
                break;
            }
            lanes.begin(piece.offset, piece.moment, &mut incoming);
            engine.begin(&lanes);
            let mut more = reading.window(engine.window(), &mut incoming)?;
            let mut at;
            loop {
                lanes.advance(&mut incoming);
                more &= reading.at < upto;
                (bytes, at, unread) = (reading.bytes, reading.at, incoming.unread);
                let window = engine.window();
                let mut came = Ok(false);
                // The next window is read while this one is decoded.
                let done = rayon::in_place_scope(|scope| {
                    if more {
                        scope.spawn(|_| came = reading.window(window, &mut incoming));
                    }
                    engine.window_done(&mut lanes, out)
                });
                if let Err(error) = done.and_then(|_| print.written()) {
                    *told = engine.tally;
                    return Err(error.into());
                }
                if !more || engine.is_stopped() {
                    break;
                }
                more = came?;
            }
            wanted += at.min(plan.range.to).saturating_sub(piece.offset.max(plan.range.from));
        }
        engine.finish(&lanes, out)?;
        let is_refused = !P::LISTS && !accept_mismatch;
        let doubts: Vec<_> = engine
            .doubtful(&lanes)
            .map(|(lane, tally)| {
                // Otherwise it is said with the totals.
                let first = summary::first_mismatch(tally, image).filter(|_| is_refused);
                let first = first.map_or(String::new(), |first| format!("; the first at {first}"));
                format!("{}: {}{first}", self.source(&lanes.lanes[lane]), summary::doubt(tally))
            })
            .collect();
        if !doubts.is_empty() && is_refused {
            return Err(summary::refusal(&buffer.name, &doubts));
        }
        out.write_all(print.totals(&buffer.name, &engine.tally).as_bytes())?;
        out.flush()?;
        let mut failures = reading.take_faults();
        drop(reading);
        for (lane, error) in unsupported {
            failures.push(format!("{}: {error}", self.source(&lanes.lanes[lane])));
        }
        if bytes == 0 {
            failures.push("is empty".into());
        } else if format(buffer.format).is_some() && !incoming.any_frame {
            failures.push(match buffer.format {
                BufferFormat::CoreSight => "holds no data of any source".into(),
                _ => format!(
                    "no frame sync in {bytes} bytes: are these memory-aligned frames (--packing coresight)?"
                ),
            });
        }
        for (lane, bytes) in engine.unsynchronised(&lanes) {
            let source = self.source(&lanes.lanes[lane]);
            let what = T::SYNCHRONISATION;
            let plural = if bytes == 1 { "" } else { "s" };
            failures.push(format!("{source}: no {what} in {bytes} byte{plural}, nothing could be read"));
        }
        failures.extend(doubts);
        if let Some((offset, len)) = engine.tally.cut.filter(|_| plan.range.to == u64::MAX) {
            // Buffers in memory that are written round and round may end inside a packet, and nothing is wrong with them.
            match buffer.format {
                _ if P::AGAIN => {}
                BufferFormat::Etrace | BufferFormat::SourceData => failures.push(ends_inside(offset, len)),
                _ => report(&format!("{}: the trace ends inside a packet, at {offset:#x}", buffer.name)),
            }
        }
        for damage in &incoming.damage {
            failures.push(format!("{} bytes at {:#x} lost: {}", damage.len, damage.offset, damage.reason));
        }
        let stopped: Vec<_> = engine.stopped().collect();
        for (lane, limit) in &stopped {
            let DecodeLimits { instructions, memory } = plan.limits;
            let why = match limit {
                Limit::Instructions => {
                    format!("stopped after {instructions} instructions (--max-instructions)")
                }
                Limit::Memory => format!(
                    "stopped: what the trace tells takes more than {} MiB (--max-memory allows more)",
                    memory >> 20
                ),
                Limit::Text => format!(
                    "stopped: text of several sources waits to be sorted, and takes more than {} MiB; --id shows one source \
                     without waiting",
                    memory >> 20
                ),
                // Why it could not be written was returned.
                Limit::Output => continue,
            };
            failures
                .push(format!("{}: {why}: all that follows is left out", self.source(&lanes.lanes[*lane])));
        }
        let asked_for_all = plan.range.from == 0 && plan.range.to == u64::MAX;
        if failures.is_empty() && engine.tally.instructions == 0 && asked_for_all && !no_image {
            failures.push("nothing could be decoded".into());
        }
        if P::AGAIN {
            // What was decoded before did not need as much memory.
            let is_new = stopped.iter().any(|(_, limit)| *limit != Limit::Instructions);
            failures
                .iter()
                .filter(|_| is_new)
                .for_each(|failure| report(&format!("{}: {failure}", buffer.name)));
            return Ok(is_new.into());
        }
        for failure in &failures {
            report(&format!("{}: {failure}", buffer.name));
        }
        report_unread(capture, buffer, &incoming.unread);
        *told = engine.tally;
        told.count_bytes(bytes, wanted, &lanes, &engine.decoded(&lanes), &unread);
        if no_image {
            summary::report_targets(&buffer.name, &engine.tally);
        } else {
            summary::report(&buffer.name, &engine.tally, image);
        }
        let Tally { bad_gaps, mismatches, unknown_paths, .. } = engine.tally;
        Ok(failures.len() as u64 + bad_gaps + mismatches + unknown_paths)
    }

    /// The sources that can be decoded.
    fn sources(&self) -> impl Iterator<Item = &Source> {
        let all = self.buffer.sources.iter().map(|&source| &self.capture.sources[source]);
        all.filter(|source| T::params(&source.protocol).is_some() && source.number().is_some_and(self.wants))
    }

    fn has_several_sources(&self) -> bool {
        self.buffer.format != BufferFormat::SourceData && self.sources().nth(1).is_some()
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

    fn source(&self, lane: &Lane<'_, T>) -> String {
        format!("{} (ID {:#04x})", self.capture.sources[lane.source.index].name, lane.source.id)
    }
}

/// Decodes a source's E-Trace that is in memory; what is printed goes to `out`. Returns what it came to.
pub fn in_memory<P: Print>(
    source: &EtraceSource,
    bytes: &[u8],
    image: &Image,
    print: &P,
    range: Range,
    out: &mut impl Write,
) -> std::io::Result<Tally> {
    let mut lanes = Lanes::<Etrace>::single(source, source.source);
    let mut incoming = Incoming::new(&lanes, &|_| true);
    let (mut engine, _) = Engine::new(
        &lanes,
        image,
        print,
        Plan { options: etrace::Options::default(), range, limits: DecodeLimits::NONE, jobs: 1 },
    );
    let mut rest = bytes;
    while !rest.is_empty() {
        let (window, after) = rest.split_at(engine.window().min(rest.len()));
        incoming.unframed(window);
        lanes.advance(&mut incoming);
        engine.window_done(&mut lanes, out)?;
        rest = after;
    }
    engine.finish(&lanes, out)?;
    Ok(engine.tally)
}
