//! `tracewright packets`: every packet of a capture.

mod csv;
mod json;
mod opencsd;
mod text;

use std::collections::BTreeSet;
use std::io::{self, Write};

use clap::{Args, ValueEnum};
use tracewright::words;
use tracewright_engine::{Found, Options, Place, Problem, Source, Visitor};
use tracewright_frames::Lost;
use tracewright_input::{Buffer, Capture};

use crate::args::{CaptureArgs, OffsetArgs, SelectArgs};
use crate::etrace::is_etrace;
use crate::json::last_line;
use crate::output::{Error, Outcome, Output, remark, report, report_problem};
use crate::progress;
use crate::table::TableArgs;

/// Show every packet of a capture.
///
/// Columns: offset in the trace file, trace ID, bytes, what they say. A packet is shown when it ends, so with several
/// sources offsets go back and forth a little. After bytes that are no packet, reading goes on at the next A-Sync (E-Trace: where
/// packets begin again for certain), and what was passed over is shown as one line.
#[derive(Args)]
#[command(after_help = "Examples:
  tracewright packets samples/two-cores
  tracewright packets juno/ --id 0x10 | less
  tracewright packets juno/ --from 0x1234 --to 0x1240
  tracewright packets juno/ --json | jq 'select(.kind == \"Exception\")'
  tracewright packets juno/ --style opencsd
  tracewright packets etb.bin --packing coresight --source etm4,id=0x10
  tracewright packets samples/etrace
  tracewright packets median.te_inst_raw \\
      --source etrace,isa=rv64,encapsulation=smi,params=hardware_64.scf")]
pub struct Opts {
    #[command(flatten)]
    capture: CaptureArgs,

    #[command(flatten)]
    select: SelectArgs,

    #[command(flatten)]
    offsets: OffsetArgs,

    #[command(flatten)]
    table: TableArgs,

    /// How packets and elements are worded.
    #[arg(long, value_enum, default_value_t = Style::Tracewright, conflicts_with_all = ["json", "format"])]
    style: Style,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Style {
    /// For people: offsets in the file, names of the specification.
    Tracewright,
    /// The lines of OpenCSD 1.8.0's trc_pkt_lister (first buffer only unless --buffer says more).
    Opencsd,
}

/// What prints packets of one style.
trait Printer {
    /// Before a buffer's packets.
    fn buffer(&mut self, out: &mut impl Write, capture: &Capture, buffer: &Buffer) -> io::Result<()>;
    /// A packet.
    fn packet(&mut self, out: &mut impl Write, found: &Found<'_>) -> io::Result<()>;
    /// Packets in a row that only fill the line: how many, their kind, and where the first begins.
    fn fillers(&mut self, _: &mut impl Write, _offset: u64, _kind: &str, _count: u64) -> io::Result<()> {
        Ok(())
    }
    /// Bytes passed over while not synchronised.
    fn skipped(&mut self, _: &mut impl Write, _: &Source<'_>, _: Place, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }
    /// Bytes that belong to no source.
    fn lost(&mut self, out: &mut impl Write, lost: &Lost) -> io::Result<()>;
    /// After a buffer's packets.
    fn end(&mut self, _: &mut impl Write, _: &Buffer, _ids: &[u16], _bytes: u64) -> io::Result<()> {
        Ok(())
    }
    /// A barrier: what follows is a new recording.
    fn reset(&mut self, out: &mut impl Write, offset: u64) -> io::Result<()>;
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    match (opts.table.json, opts.style) {
        _ if opts.table.is_csv() => print(opts, csv::Rows::default()),
        (true, _) => print(opts, json::Json::default()),
        (_, Style::Tracewright) => print(opts, text::Text::default()),
        (_, Style::Opencsd) => print(opts, opencsd::OpenCsd::default()),
    }
}

fn print(opts: &Opts, mut printer: impl Printer) -> Result<Outcome, Error> {
    let opencsd = opts.style == Style::Opencsd;
    let (trace, mut outcome) = opts.select.open(&opts.capture, opencsd)?;
    let options = Options { like_opencsd: opencsd, ..Options::default() };
    let trace = opts.offsets.of(trace.options(options))?;
    let capture = trace.capture();
    let mut out = Output::paged(opts.table.form());
    let buffers = trace.buffers()?;
    if opencsd && opts.select.buffer.is_none() && capture.buffers.len() > 1 {
        remark(&format!(
            "only the first of {} buffers is shown: --buffer all shows all",
            capture.buffers.len()
        ));
    }
    let mut reasons = BTreeSet::new();
    for buffer in buffers {
        if opencsd && is_etrace(capture, buffer) {
            let message = "--style opencsd is for Arm captures: OpenCSD cannot read E-Trace";
            return Err(Error::Message(message.into()));
        }
        let (out, printer) = (&mut out, &mut printer);
        let mut print = Print { out, printer, capture, buffer, fillers: None, failed: Ok(()) };
        let read = progress::on(&trace, buffer).visit_buffer(buffer, &mut print)?;
        print.end_fillers();
        print.failed?;
        let ids = buffer.sources.iter().filter_map(|&source| capture.sources[source].number());
        let ids: Vec<_> = ids.filter(|&id| trace.is_chosen(id)).collect();
        print.printer.end(print.out, buffer, &ids, read.value)?;
        print.out.flush()?;
        outcome = outcome.and(report_read(buffer, &read));
        reasons.extend(read.reason_ids());
    }
    if opts.table.json {
        out.write_all(last_line("packets", &reasons).as_bytes())?;
        out.flush()?;
    }
    Ok(outcome)
}

/// Reports what is wrong with the packets of a buffer; says whether all are there. Damage is in the output already.
pub fn report_read<T>(buffer: &Buffer, read: &tracewright::Outcome<T>) -> Outcome {
    let is_new = |problem: &Problem| !matches!(problem, Problem::Damage(_));
    read.diagnostics.iter().filter(|of| is_new(&of.problem)).for_each(report_problem);
    read.unread.iter().for_each(|line| report(line));
    for line in words::packet_faults(&read.tally) {
        report(&format!("{}: {line}", buffer.name));
    }
    Outcome::of(read)
}

struct Print<'a, W, P> {
    out: &'a mut W,
    printer: &'a mut P,
    capture: &'a Capture,
    buffer: &'a Buffer,
    /// Where a row of packets began that only fill the line, their kind, and how many there were.
    fillers: Option<(u64, &'static str, u64)>,
    failed: io::Result<()>,
}

impl<W: Write, P: Printer> Print<'_, W, P> {
    fn print(&mut self, print: impl FnOnce(&mut P, &mut W) -> io::Result<()>) {
        if self.fillers.is_some() {
            self.end_fillers();
        }
        if self.failed.is_ok() {
            self.failed = print(self.printer, self.out);
        }
    }

    /// A row of fillers is one line.
    fn end_fillers(&mut self) {
        if let Some((offset, kind, count)) = self.fillers.take() {
            self.print(|printer, out| printer.fillers(out, offset, kind, count));
        }
    }
}

impl<W: Write, P: Printer> Visitor for Print<'_, W, P> {
    fn opened(&mut self) {
        let Self { capture, buffer, .. } = *self;
        self.print(|printer, out| printer.buffer(out, capture, buffer));
    }

    fn packet(&mut self, found: &Found<'_>) {
        if found.is_filler {
            self.fillers.get_or_insert((found.place.offset, found.kind.name, 0)).2 += 1;
        } else {
            self.print(|printer, out| printer.packet(out, found));
        }
    }

    fn skipped(&mut self, source: &Source<'_>, place: Place, bytes: &[u8]) {
        self.print(|printer, out| printer.skipped(out, source, place, bytes));
    }

    fn lost(&mut self, lost: &Lost) {
        self.print(|printer, out| printer.lost(out, lost));
    }

    fn reset(&mut self, offset: u64) {
        self.print(|printer, out| printer.reset(out, offset));
    }

    fn is_done(&self) -> bool {
        self.failed.is_err()
    }
}
