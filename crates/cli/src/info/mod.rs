//! `tracewright info`: what a capture holds.

mod delta;
mod etrace;
mod memory;
mod processes;
mod raw;

use std::io::Write;
use std::ops::ControlFlow;

use clap::Args;
use serde_json::{Value, json};
use tracewright::registers::{self, Explained};
use tracewright::{FileKind, Trace};
use tracewright_core::text::Printable;
use tracewright_input::{Buffer, Capture, EtraceSource, ImageFile, Packing, Piece, Protocol, Source};

use crate::args::{CaptureArgs, image};
use crate::decode::sources;
use crate::etrace::riscv;
use crate::images;
use crate::json::line;
use crate::output::{Error, Form, Outcome, Output, printable_path, report, report_problems};
use crate::retirement;
use crate::terminal::{END, HEADING, width};

/// Show what a capture holds: sources and what their registers mean, trace buffers, memory images; or what a log of tracewright's plugin
/// for QEMU holds; or how a raw trace file may be packed, and which trace IDs are in it.
///
/// Memory images are those of the capture and those given with --image, as `decode` would use them: where two are at one
/// address, the one listed first counts.
#[derive(Args)]
#[command(after_help = "Examples:
  tracewright info samples/two-cores
  tracewright info juno/ --image vmlinux --image app@0xaaaac0000000
  tracewright info dump.bin
  tracewright info juno/ --missing-code
  tracewright info juno/ --json | jq '.sources[].id'")]
pub struct Opts {
    #[command(flatten)]
    capture: CaptureArgs,

    /// A program that ran, ELF or raw, and the address it was loaded at, in hexadecimal (repeat for more).
    #[arg(long = "image", value_name = "FILE[@ADDR]", value_parser = image)]
    images: Vec<ImageFile>,

    /// Also decode the trace, and list where code ran that no image has: addresses, how often, by which sources, and the nearest image.
    #[arg(long)]
    missing_code: bool,

    /// Write JSON, for programs; the book lists its fields.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    if retirement::is_log(&opts.capture.capture) {
        return retirement::info(&opts.capture.capture, opts.json);
    }
    let path = &opts.capture.capture;
    let capture = match opts.capture.open() {
        Err(tracewright::Error::NotACapture(_, FileKind::Unknown)) => return raw::info(path, opts.json),
        opened => opened?,
    };
    let trace = Trace::new(capture, &opts.images, false);
    let (capture, image) = (trace.capture(), trace.image());
    let mut outcome = report_problems(trace.problems());
    let remarks = images::remarks(image, &opts.images);
    let decoded = opts
        .missing_code
        .then(|| trace.decode_in_order(&tracewright::Totals, |(), _| ControlFlow::Continue(())));
    let decoded = decoded.transpose()?;
    let mut out = Output::stdout(Form::json_if(opts.json));
    if opts.json {
        let mut json = json(capture);
        json["problems"] = trace.problems().map(ToString::to_string).collect();
        json["memory"] = memory::json(image);
        let absent: Vec<_> =
            image.absences().map(|(file, why)| json!({ "file": file, "reason": why })).collect();
        if !absent.is_empty() {
            json["absent"] = absent.into();
        }
        json["remarks"] = remarks.iter().map(ToString::to_string).collect();
        if let Some(decoded) = &decoded {
            json["missing_code"] = sources::missing_json(&decoded.sources, image);
        }
        out.write_all(line("info", json).as_bytes())?;
    } else {
        text(&mut out, capture)?;
        memory::text(&mut out, image, &remarks)?;
        if let Some(decoded) = &decoded {
            out.write_all(sources::missing_text(&decoded.sources, image).as_bytes())?;
        }
    }
    out.flush()?;
    if let Some(decoded) = &decoded {
        decoded.unread.iter().for_each(|line| report(line));
        outcome = outcome.and(Outcome::of(decoded));
    }
    Ok(outcome)
}

fn text(out: &mut impl Write, capture: &Capture) -> std::io::Result<()> {
    writeln!(out, "{HEADING}capture {}{END}", printable_path(&capture.path))?;
    if let Some(description) = &capture.description {
        for (i, line) in wrap(description, 65).iter().enumerate() {
            writeln!(out, "  {:<11}  {line}", if i == 0 { "description" } else { "" })?;
        }
    }
    if let Some(time) = capture.sources.iter().find_map(|source| source.time) {
        let hertz = time.hertz();
        writeln!(out, "  {:<11}  {hertz} times a second; decode tells them on perf's clock", "timestamps")?;
    }
    let mut explained: Vec<(&str, _)> = Vec::new();
    let mut alike: Vec<(&str, &EtraceSource)> = Vec::new();
    for source in &capture.sources {
        let id = source.number().map_or("unknown".into(), |id| format!("{id:#04x}"));
        writeln!(out, "\n{HEADING}source {} (ID {id}){END}: {}", Printable(&source.name), protocol(source))?;
        let name = source.name.as_str();
        let delta = source.delta.as_deref();
        if let Protocol::Etrace(source) = &source.protocol {
            match alike.iter().find(|(_, other)| other.config == source.config && other.isa == source.isa) {
                Some((name, _)) => writeln!(out, "  as {}", Printable(name))?,
                None => etrace::text(out, source)?,
            }
            alike.push((name, source));
            if let Some(path) = delta {
                delta::text(out, path)?;
            }
            continue;
        }
        if let Some((name, kind)) = &source.core {
            writeln!(out, "  traces {} ({})", Printable(name), Printable(kind))?;
        }
        for (name, value) in facts(source) {
            writeln!(out, "  {name:<18}  {}", Printable(&value))?;
        }
        let registers = registers::explain(source);
        // A chip has many alike: say it once.
        if let Some((name, _)) =
            explained.iter().find(|(_, other)| !registers.is_empty() && *other == registers)
        {
            writeln!(out, "  registers as {}", Printable(name))?;
            continue;
        }
        for Explained { register, value, verb, words } in &registers {
            let name = format!("{register} {value:#x}");
            let words = if words.is_empty() { "-".into() } else { format!("{verb}{}", words.join(", ")) };
            for (i, line) in wrap(&words, width() - 22).iter().enumerate() {
                writeln!(out, "  {:<18}  {line}", if i == 0 { name.as_str() } else { "" })?;
            }
        }
        explained.push((source.name.as_str(), registers));
    }
    for buffer in &capture.buffers {
        let size = buffer.bytes().map_or("unknown size".into(), |bytes| format!("{bytes} bytes"));
        let names: Vec<_> =
            buffer.sources.iter().map(|&source| capture.sources[source].name.as_str()).collect();
        writeln!(out, "\n{HEADING}buffer {}{END}: {size}", Printable(&buffer.name))?;
        writeln!(out, "  format   {}", format_words(capture, buffer))?;
        writeln!(out, "  file     {}", printable_path(&buffer.path))?;
        if let (Some(pieces), None) = (&buffer.pieces, buffer.ring) {
            let packed = if pieces.iter().any(|piece| piece.packed.is_some()) { ", compressed" } else { "" };
            writeln!(out, "  pieces   {}{packed}", pieces.len())?;
        }
        for (i, line) in wrap(&names.join(", "), width() - 12).iter().enumerate() {
            writeln!(out, "  {:<7}  {line}", if i == 0 { "sources" } else { "" })?;
        }
    }
    processes::text(out, &capture.processes)
}

fn json(capture: &Capture) -> Value {
    let sources = capture.sources.iter().map(|source| {
        let registers: serde_json::Map<_, _> = source
            .registers
            .iter()
            .map(|(name, value)| (name.clone(), format!("{value:#x}").into()))
            .collect();
        let words: serde_json::Map<_, _> = registers::explain(source)
            .into_iter()
            .map(|explained| (explained.register.to_owned(), explained.words.into()))
            .collect();
        let mut object = json!({
            "name": source.name,
            "id": source.number(),
            "protocol": source.protocol_name(),
            "supported": !matches!(source.protocol, Protocol::Unsupported(..)),
            "core": source.core.as_ref().map(|(name, kind)| json!({"name": name, "type": kind})),
            "registers": registers,
            "meaning": words,
        });
        if let Protocol::Etrace(source) = &source.protocol {
            object["etrace"] = etrace::json(source);
        }
        if let Protocol::Registered(_) = source.protocol {
            object["facts"] = facts(source)
                .into_iter()
                .map(|(name, value)| (name.to_owned(), Value::from(value)))
                .collect();
        }
        if let Some(path) = &source.delta {
            object["delta"] = delta::json(path);
        }
        object
    });
    let buffers = capture.buffers.iter().map(|buffer| {
        let names: Vec<_> = buffer.sources.iter().map(|&source| &capture.sources[source].name).collect();
        let mut object = json!({
            "name": buffer.name,
            "file": buffer.path.display().to_string(),
            "bytes": buffer.bytes(),
            "format": format_words(capture, buffer),
            "sources": names,
        });
        if let (Some(pieces), None) = (&buffer.pieces, buffer.ring) {
            object["pieces"] = pieces.iter().map(piece).collect();
        }
        object
    });
    let mut object = json!({
        "capture": capture.path.display().to_string(),
        "description": capture.description,
        "sources": sources.collect::<Vec<_>>(),
        "buffers": buffers.collect::<Vec<_>>(),
    });
    if let Some(time) = capture.sources.iter().find_map(|source| source.time) {
        object["timestamp_hertz"] = time.hertz().into();
    }
    if !capture.processes.is_empty() {
        object["processes"] = processes::json(&capture.processes);
    }
    object
}

/// Where a piece of trace is, when it was written, and by whom.
fn piece(piece: &Piece) -> Value {
    let Piece { offset, len, moment, packed } = piece;
    let nanoseconds = Some(moment.time).filter(|time| *time != u64::MAX);
    json!({
        "offset": offset, "bytes": len, "nanoseconds": nanoseconds, "tid": moment.thread, "compressed": packed.is_some(),
    })
}

/// What is to be known of a source whose protocol was registered.
fn facts(source: &Source) -> Vec<(&'static str, String)> {
    match &source.protocol {
        Protocol::Registered(params) => params.facts(),
        _ => Vec::new(),
    }
}

fn protocol(source: &Source) -> String {
    let unsupported = matches!(source.protocol, Protocol::Unsupported(..));
    let note = if unsupported { " (cannot be read)" } else { "" };
    format!("{}{note}", Printable(&source.protocol_name()))
}

fn format_words(capture: &Capture, buffer: &Buffer) -> String {
    match (buffer.format, riscv(capture, buffer)) {
        (Packing::Source, Some(name)) => format!("{name} messages"),
        (Packing::Source, None) if tracewright::log::is_log(capture) => "chunks of a log".into(),
        (packing, _) => packing.words().into(),
    }
}

/// Returns lines of at most `width` characters, broken at blanks. What must not be printed is escaped.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let text = &*Printable(text).to_string();
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last().map_or(0, String::len);
        if line > 0 && line + 1 + word.len() > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
