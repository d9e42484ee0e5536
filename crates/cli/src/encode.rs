//! `tracewright encode`: from a log of what was executed to a trace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use tracewright::words;
use tracewright_capture::encode::{self, EncodedInput};
use tracewright_capture::protocol::Traced;
use tracewright_capture::record::{Outputs, ReadOptions, read};
use tracewright_capture::{CaptureOptions, Protocols, Remark};
use tracewright_core::Isa;
use tracewright_input::{ImageFile, map_file};

use crate::args::image;
use crate::capture::{DeltaArgs, protocols, remarked};
use crate::control::ControlArgs;
use crate::json::line;
use crate::output::{
    Error, ForceArgs, Form, Outcome, Output, is_quiet, refuse_same, refuse_stream, report, say, write,
};
use crate::port::{self, PortArgs};
use crate::record::{Progress, delta_json, grouped, traced_lines, unknown_line};
use crate::retirement::{end_words, is_log, source_name};
use crate::stop;

/// Make a trace of what was executed, from a log.
///
/// Logs are tracewright's own (record --log), that of its plugin for QEMU (all threads; of Arm programs the trace is ETMv4), Spike's (-l, --log-commits), CVA6's, QEMU's (-d exec,nochain -singlestep; with --image),
/// retirements as CSV, and encoder inputs as CSV (itype_0,...), as the reference flow for E-Trace has them. The capture holds the
/// programs given with --image, and code that only the log tells. If a log of the plugin has accesses to memory (record --qemu --data),
/// E-Trace has data trace of them.
#[derive(Args)]
#[command(after_help = "\
Exit status: 0 complete; 1 the log had errors (they are printed; what came
before them is encoded), or the capture lacks code that ran; 2 bad usage, or
nothing could be read.

Examples:
  tracewright record --log run.log programs/bin/sort.elf
  tracewright encode run.log --image programs/bin/sort.elf -o run
  tracewright encode run.log --image programs/bin/sort.elf -o run \\
      --when 'start at main; stop at exit'
  tracewright encode spike.log -o run --option branch_prediction=off
  tracewright encode run.log -o run --port 1/2 --summary-json port.json
  tracewright encode cva6.log -o run --delta
  tracewright encode --option help")]
pub struct Opts {
    /// The log.
    #[arg(required_unless_present_any = ["options", "delta"])]
    log: Option<PathBuf>,

    /// Where the result is written: a file (- is standard output), or the folder of a capture, which is made.
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,

    /// A program that ran, ELF or raw, and the address it was loaded at, in hexadecimal (repeat for more).
    #[arg(long = "image", value_name = "FILE[@ADDR]", value_parser = image)]
    images: Vec<ImageFile>,

    /// The protocol of the trace.
    ///
    /// If not given, it is E-Trace for RISC-V, and ETMv4 for Arm.
    #[arg(long, value_parser = protocols(""))]
    protocol: Option<String>,

    /// A parameter or an option of the encoder, by its name in the specification (repeat for more; `--option help` lists all).
    #[arg(long = "option", value_name = "NAME=VALUE")]
    options: Vec<String>,

    /// The log is of an RV32 program (tracewright's own logs and ELF files given with --image say so themselves).
    #[arg(long)]
    rv32: bool,

    #[command(flatten)]
    delta: DeltaArgs,

    /// Only this thread, of a log of tracewright's plugin for QEMU.
    ///
    /// Otherwise all of them, each a source of its own.
    #[arg(long, value_name = "N")]
    thread: Option<u32>,

    #[command(flatten)]
    force: ForceArgs,

    /// Write totals to this file, as a JSON object.
    #[arg(long, value_name = "FILE")]
    summary_json: Option<PathBuf>,

    #[command(flatten)]
    control: ControlArgs,

    #[command(flatten)]
    port: PortArgs,
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    if opts.options.iter().any(|option| option == "help") {
        let is_asked = |name: &str| opts.protocol.as_deref().is_none_or(|asked| asked == name);
        let help: Vec<_> =
            Protocols::default().iter().filter(|of| is_asked(of.name)).map(|of| (of.help)()).collect();
        write("-".as_ref(), Form::Text, help.join("\n").as_bytes(), false)?;
        return Ok(Outcome::Good);
    }
    if let Some(help) = opts.delta.help(opts.log.as_deref()) {
        write("-".as_ref(), Form::Text, help.as_bytes(), false)?;
        return Ok(Outcome::Good);
    }
    let Some(path) = &opts.log else {
        return Err(Error::Message("name a log to encode".into()));
    };
    let Some(dir) = &opts.output else {
        return Err(Error::Message("say where the capture goes, with -o DIR".into()));
    };
    refuse_stream(dir, "-o", "a capture is a folder")?;
    refuse_same(&[("-o", Some(dir)), ("--summary-json", opts.summary_json.as_deref())])?;
    let capture = CaptureOptions {
        protocol: opts.protocol.clone(),
        options: opts.options.clone(),
        port: opts.port.asked(),
        control: opts.control.asked()?,
        delta: opts.delta.delta.clone(),
        replace: opts.force.replace(),
        ..CaptureOptions::new(dir)
    };
    let summary = opts.summary_json.as_ref().map(|path| Output::open_whole(path, Form::Json, opts.force));
    let summary = summary.transpose()?;
    let refuse = |why: &str| Err(Error::Message(format!("{}: {why}", path.display())));
    if is_log(path) {
        return match capture.delta {
            Some(_) => refuse("--delta: QEMU's log does not tell in which cycles instructions retire"),
            None => threads(opts, path, &capture, summary),
        };
    }
    if opts.thread.is_some() {
        return refuse("--thread: the log does not tell threads apart");
    }
    let (traced, instructions, is_good) = if !encode::is_encoder_input(path)? {
        log(opts, path, capture)?
    } else if capture.control.is_some() {
        return refuse("--when: encoder inputs go to the encoder as they are");
    } else if capture.delta.is_some() {
        return refuse("--delta: encoder inputs tell the cycle of a block, not of each instruction");
    } else if opts.protocol.as_deref().is_some_and(|protocol| protocol != "etrace") {
        return refuse("--protocol: encoder inputs are those of E-Trace");
    } else {
        let isa = if is_rv32(opts) { Isa::Rv32 } else { Isa::Rv64 };
        let encoded =
            |remarks: &mut Vec<Remark>| encode::encoder_input(path, isa, &opts.images, &capture, remarks);
        let EncodedInput { instructions, traced, error, is_contradicted } = remarked(encoded)?;
        if let Some(error) = &error {
            report(&format!("{}: {error}", path.display()));
        }
        (traced, instructions, error.is_none() && !is_contradicted)
    };
    if let Some(file) = summary {
        write_summary(file, instructions, &traced)?;
    }
    if !is_quiet() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let what = words::plural(instructions, "instruction");
        report(&format!("{name}: {} {what} encoded", grouped(instructions)));
        traced_lines(&traced, instructions, Some(dir));
    }
    Ok(Outcome::lacks("lost-trace", !is_good || traced.is_incomplete()))
}

/// Encodes a log of a hart. Returns what it came to, instructions, and whether all was read.
fn log(opts: &Opts, path: &Path, capture: CaptureOptions) -> Result<(Traced, u64, bool), Error> {
    let options = ReadOptions {
        log: path.to_owned(),
        thread: None,
        is_rv32: is_rv32(opts),
        programs: opts.images.clone(),
        image: Arc::new(encode::image(&opts.images)?),
        outputs: Outputs::default(),
        capture: Some(capture),
        stop: stop::flag(),
    };
    let mut progress = Progress::new();
    let read = remarked(|remarks| {
        let read = read(options, &mut |so_far| progress.show(&so_far.into()), remarks);
        progress.finish();
        read
    })?;
    let instructions = read.qualified.map_or(read.counts.instructions, |qualified| qualified.qualified);
    Ok((read.traced.unwrap_or_default(), instructions, read.log_error.is_none() && !read.is_contradicted))
}

/// Encodes a log of threads: E-Trace of RISC-V, ETMv4 of Arm.
fn threads(
    opts: &Opts,
    path: &Path,
    capture: &CaptureOptions,
    summary: Option<Output>,
) -> Result<Outcome, Error> {
    if let Some(image) = opts.images.first() {
        let message = format!(
            "--image {}: the log names its programs, and has the code that ran",
            image.path.display()
        );
        return Err(Error::Message(message));
    }
    let mut remarks = Vec::new();
    let encoded = encode::retirement_log(path, opts.thread, capture, &mut remarks);
    let is_of_log = |remark: &Remark| matches!(remark, Remark::Note(_) | Remark::LogDamaged(..));
    let (of_log, others): (Vec<_>, Vec<_>) = remarks.iter().partition(|remark| is_of_log(remark));
    of_log.into_iter().for_each(crate::capture::remark);
    let threads = encoded.as_ref().map_or(&[][..], |encoded| &encoded.threads);
    for thread in threads {
        if is_quiet() {
            continue;
        }
        let (name, end) = (source_name(thread.index), thread.off.map_or("damaged", end_words));
        let count = grouped(thread.instructions);
        say(&format!("  {name:<16} {count:>16}  instructions; {end}"));
    }
    others.into_iter().for_each(crate::capture::remark);
    let encoded = encoded?;
    let traced = &encoded.traced;
    if let Some(file) = summary {
        write_summary(file, encoded.instructions, traced)?;
    }
    if !is_quiet() {
        traced_lines(traced, encoded.encoded, opts.output.as_deref());
        unknown_line(traced.unknown);
    }
    Ok(Outcome::lacks("damage", encoded.is_damaged))
}

/// Writes what a trace came to to a file.
fn write_summary(to: Output, instructions: u64, traced: &Traced) -> Result<(), Error> {
    let object = serde_json::json!({
        "instructions": instructions, "trace_bytes": traced.bytes, "packets": traced.packets,
        "port": traced.port.as_ref().map(port::json), "delta": traced.delta.as_ref().map(delta_json),
    });
    to.write_whole(line("encode", object).as_bytes(), false)
}

/// Whether somebody says that it is RV32.
fn is_rv32(opts: &Opts) -> bool {
    let is_rv32 = |file: &ImageFile| {
        map_file(&file.path).is_ok_and(|bytes| bytes.as_slice().starts_with(b"\x7fELF\x01"))
    };
    opts.rv32 || opts.images.iter().any(is_rv32)
}
