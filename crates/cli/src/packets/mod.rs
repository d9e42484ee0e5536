//! `tracewright packets`: every packet of a capture.

mod etrace;
mod json;
mod opencsd;
mod text;

use std::io::Write;

use clap::{Args, ValueEnum};
use tracewright_core::TraceId;
use tracewright_engine::{BufferReader, Place, is_damage};
use tracewright_etm::packet::{Kind, Resync};
use tracewright_frames::Lost;
use tracewright_input::{Buffer, Capture};

use crate::args::{CaptureArgs, SelectArgs};
use crate::etrace::is_etrace;
use crate::output::{Error, Form, Needs, Outcome, Output, report, report_problems};
use crate::progress;
use crate::reader::{self, Found, SourceId, Visitor};

/// Show every packet of a capture.
///
/// Columns: offset in the trace file, trace ID, bytes, what they say. A packet is shown when it ends, so with several
/// sources offsets go back and forth a little. After bytes that are no packet, reading goes on at the next A-Sync (E-Trace: where
/// packets begin again for certain), and what was passed over is shown as one line.
#[derive(Args)]
#[command(after_help = "Examples:
  tracewright packets samples/two-cores
  tracewright packets juno/ --id 0x10 | less
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

    /// One JSON object per line.
    #[arg(long, conflicts_with = "style")]
    json: bool,

    /// How packets are worded.
    #[arg(long, value_enum, default_value_t = Style::Tracewright)]
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
    fn buffer(&mut self, out: &mut impl Write, capture: &Capture, buffer: &Buffer) -> std::io::Result<()>;
    /// A packet.
    fn packet(&mut self, out: &mut impl Write, found: &Found<'_>) -> std::io::Result<()>;
    /// Bytes passed over while not synchronised.
    fn skipped(
        &mut self,
        _out: &mut impl Write,
        _source: &SourceId<'_>,
        _place: Place,
        _bytes: &[u8],
    ) -> std::io::Result<()> {
        Ok(())
    }
    /// Bytes that belong to no source.
    fn lost(&mut self, out: &mut impl Write, lost: &Lost) -> std::io::Result<()>;
    /// After a buffer's packets.
    fn end(
        &mut self,
        _out: &mut impl Write,
        _buffer: &Buffer,
        _ids: &[TraceId],
        _bytes: u64,
    ) -> std::io::Result<()> {
        Ok(())
    }
    /// A barrier: what follows is a new recording.
    fn reset(&mut self, out: &mut impl Write, offset: u64) -> std::io::Result<()>;
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    match (opts.json, opts.style) {
        (true, _) => print(opts, json::Json::default()),
        (_, Style::Tracewright) => print(opts, text::Text::default()),
        (_, Style::Opencsd) => print(opts, opencsd::OpenCsd::default()),
    }
}

fn print(opts: &Opts, printer: impl Printer) -> Result<Outcome, Error> {
    let capture = opts.capture.open()?;
    let mut outcome = report_problems(&capture.problems, Needs::Trace);
    let opencsd = opts.style == Style::Opencsd;
    let resync = if opencsd { Resync::NextByte } else { Resync::NextAsync };
    let options = reader::Options { resync, ..reader::Options::default() };
    let mut visitor = Print {
        out: Output::stdout(Form::json_if(opts.json)),
        printer,
        unread: [0; 0x80],
        errors: 0,
        failed: Ok(()),
    };
    let buffers = opts.select.buffers(&capture, opencsd)?;
    if opencsd && opts.select.buffer.is_none() && capture.buffers.len() > 1 {
        report(&format!(
            "only the first of {} buffers is shown: --buffer all shows all",
            capture.buffers.len()
        ));
    }
    for buffer in buffers {
        if is_etrace(buffer) {
            if opencsd {
                let message = "--style opencsd is for Arm captures: OpenCSD cannot read E-Trace";
                return Err(Error::Message(message.into()));
            }
            visitor.errors += etrace::print(&mut visitor.out, &capture, buffer, &opts.select, opts.json)?;
            continue;
        }
        // Opened first: nothing is printed about a file that cannot be.
        let bar = progress::of(buffer);
        let advance = |bytes| bar.inc(bytes);
        let input = BufferReader::open(buffer, &capture.checksums, &advance)?;
        visitor.printer.buffer(&mut visitor.out, &capture, buffer)?;
        let read = reader::read(&capture, buffer, input, options, &|id| opts.select.wants(id), &mut visitor)?;
        visitor.failed?;
        visitor.failed = Ok(());
        visitor.errors += read.failures;
        let ids = buffer.sources.iter().filter_map(|&source| capture.sources[source].id());
        let ids: Vec<_> = ids.filter(|&id| opts.select.wants(id)).collect();
        visitor.printer.end(&mut visitor.out, buffer, &ids, read.bytes)?;
        visitor.out.flush()?;
        report_unread(&capture, buffer, &listed(&visitor.unread));
        visitor.unread = [0; 0x80];
    }
    outcome = outcome.and(Outcome::from_errors(visitor.errors));
    Ok(outcome)
}

/// The trace IDs that have bytes, and how many.
pub fn listed(unread: &[u64; 0x80]) -> Vec<(u16, u64)> {
    (0..).zip(unread.iter().copied()).filter(|(_, bytes)| *bytes > 0).collect()
}

/// Says which sources of a buffer were passed over because nothing here can read them.
pub fn report_unread(capture: &Capture, buffer: &Buffer, unread: &[(u16, u64)]) {
    let name = &buffer.name;
    let (mut strangers, mut stranger_bytes) = (Vec::new(), 0);
    for &(id, len) in unread {
        let id = TraceId::from_low_bits(id as u8);
        let mut sources = buffer.sources.iter().map(|&source| &capture.sources[source]);
        match sources.find(|source| source.id().unwrap_or(TraceId::NULL) == id) {
            Some(source) => report(&format!(
                "{name}: {len} bytes of {} (ID {id}) not read: tracewright cannot read {} yet",
                source.name,
                source.protocol_name()
            )),
            None => {
                strangers.push(id);
                stranger_bytes += len;
            }
        }
    }
    if !strangers.is_empty() {
        let ids: Vec<_> = strangers.iter().take(4).map(ToString::to_string).collect();
        let more =
            if strangers.len() > 4 { format!(" and {} more", strangers.len() - 4) } else { String::new() };
        report(&format!(
            "{name}: {stranger_bytes} bytes not read: no source of this buffer has trace ID {}{more}",
            ids.join(", ")
        ));
    }
}

struct Print<W, P> {
    out: W,
    printer: P,
    unread: [u64; 0x80],
    errors: u64,
    failed: std::io::Result<()>,
}

impl<W: Write, P: Printer> Visitor for Print<W, P> {
    fn packet(&mut self, found: &Found<'_>) {
        let kind = found.packet.kind();
        // A ring buffer starts anywhere and stops anywhere: neither is an error.
        self.errors += u64::from(kind.is_error() && kind != Kind::NotSync && kind != Kind::Incomplete);
        if self.failed.is_ok() {
            self.failed = self.printer.packet(&mut self.out, found);
        }
    }

    fn skipped(&mut self, source: &SourceId<'_>, place: Place, bytes: &[u8]) {
        if self.failed.is_ok() {
            self.failed = self.printer.skipped(&mut self.out, source, place, bytes);
        }
    }

    fn lost(&mut self, lost: &Lost) {
        self.errors += u64::from(is_damage(lost));
        if self.failed.is_ok() {
            self.failed = self.printer.lost(&mut self.out, lost);
        }
    }

    fn reset(&mut self, offset: u64) {
        if self.failed.is_ok() {
            self.failed = self.printer.reset(&mut self.out, offset);
        }
    }

    fn unread(&mut self, id: TraceId, len: u64) {
        self.unread[usize::from(id.get())] += len;
    }

    fn is_done(&self) -> bool {
        self.failed.is_err()
    }
}
