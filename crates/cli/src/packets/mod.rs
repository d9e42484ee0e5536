//! `tracewright packets`: every packet of a capture.

mod against;
mod channels;
mod text;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tracewright::csv::packets::Rows;
use tracewright::opencsd::OpenCsdPackets;
use tracewright::print::{JsonPackets, PacketPrinter, PrintPackets};
use tracewright::words;
use tracewright_engine::{Options, Problem};
use tracewright_input::Buffer;

use crate::args::{CaptureArgs, OffsetArgs, ProgramArgs, SelectArgs};
use crate::etrace::riscv;
use crate::json::{first_line, last_line};
use crate::output::{Error, Outcome, Output, Readable, remark, report, report_problem};
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
  tracewright packets swo.bin --packing source --source itm --text 0
  tracewright packets etb.bin --packing coresight --source etm4,id=0x10
  tracewright packets samples/etrace
  tracewright packets samples/etrace --against rtl.bin
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

    /// Show the text that software wrote to this stimulus port of an ITM or channel of an STM, and nothing else (several: 0,1).
    ///
    /// Values of more than a byte are text, too: the lowest byte first, without zero bytes.
    #[arg(long, value_name = "PORT", value_delimiter = ',', conflicts_with = "style")]
    text: Vec<u32>,

    /// Compare with another trace of the same execution, packet by packet: a capture, or a trace file of this one.
    ///
    /// What a specification leaves to an encoder is told apart from errors, of which the first is shown. This capture is the reference.
    #[arg(long, value_name = "CAPTURE", conflicts_with_all = ["style", "text", "format"])]
    against: Option<PathBuf>,

    #[command(flatten)]
    program: ProgramArgs,

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

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    if let Some(other) = &opts.against {
        return against::run(opts, other);
    }
    if !opts.text.is_empty() {
        return channels::run(opts);
    }
    match (opts.table.json, opts.style) {
        _ if opts.table.is_csv() => print(opts, Rows::default()),
        (true, _) => print(opts, JsonPackets::new(first_line("packets"))),
        (_, Style::Tracewright) => print(opts, text::Text::default()),
        (_, Style::Opencsd) => print(opts, OpenCsdPackets::new(|lost| report(&lost.to_string()))),
    }
}

fn print(opts: &Opts, mut printer: impl PacketPrinter) -> Result<Outcome, Error> {
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
    let mut readable = Readable::default();
    for buffer in buffers {
        if let Some(name) = riscv(capture, buffer).filter(|_| opencsd) {
            let message = format!("--style opencsd is for Arm captures: OpenCSD cannot read {name}");
            return Err(Error::Message(message));
        }
        let mut print = PrintPackets::new(&mut out, &mut printer, capture, buffer);
        let read = progress::on(&trace, buffer).visit_buffer(buffer, &mut print)?;
        print.finish()?;
        let ids = buffer.sources.iter().filter_map(|&source| capture.sources[source].number());
        let ids: Vec<_> = ids.filter(|&id| trace.is_chosen(id)).collect();
        printer.end(&mut out, buffer, &ids, read.value)?;
        out.flush()?;
        outcome = outcome.and(report_read(buffer, &read, true));
        readable.note(capture, buffer, &read);
    }
    if opts.table.json {
        out.write_all(last_line("packets", &outcome).as_bytes())?;
        out.flush()?;
    }
    readable.refuse_nothing()?;
    Ok(outcome)
}

/// Reports what is wrong with the packets of a buffer; says whether all are there. Damage may be in the output already.
pub fn report_read<T>(buffer: &Buffer, read: &tracewright::Outcome<T>, shows_damage: bool) -> Outcome {
    let is_new = |problem: &Problem| !(shows_damage && matches!(problem, Problem::Damage(_)));
    read.diagnostics.iter().filter(|of| is_new(&of.problem)).for_each(report_problem);
    read.unread.iter().for_each(|line| report(line));
    for line in words::packet_faults(&read.tally) {
        report(&format!("{}: {line}", buffer.name));
    }
    Outcome::of(read)
}
