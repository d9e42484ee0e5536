//! `tracewright demo`: runs a program, traces it, decodes the trace and checks it against what ran.

mod keep;
#[cfg_attr(not(target_os = "linux"), path = "no_run.rs")]
mod run;
mod story;

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use tracewright::check::{Checked, Checker, Item, Told};
use tracewright_capture::protocol::Traced;
use tracewright_core::{Isa, MemorySpace};
use tracewright_engine::{Consumer, Engine, Limits, Options, Range, Request, Tally};
use tracewright_image::{Bytes, Image};
use tracewright_input::{Capture, EtraceSource, OutputFolder, Packing, RawSource};

use self::story::Story;
use crate::decode::bodies::Bodies;
use crate::decode::text::{Detail, Text};
use crate::output::{Error, Form, Outcome, Output};

/// See it work: run a program, trace it, decode the trace, check every instruction.
///
/// Needs nothing: a RISC-V program is inside (programs/recursion.c), and so is the hart that runs it.
/// What it executes is traced as E-Trace while it runs; the trace is decoded, with nothing but the program's ELF file; and what comes
/// out is compared with what ran.
#[derive(Args)]
#[command(after_help = "\
Exit status: 0 the trace tells exactly what ran; 1 it does not.

Examples:
  tracewright demo
  tracewright demo --keep run; tracewright decode run --instructions | less")]
pub struct Opts {
    /// Keep the capture, and the log of what ran, in this folder, which is made.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,

    /// One JSON object.
    #[arg(long)]
    json: bool,
}

/// The program: a copy of `programs/bin/recursion.elf`, so that the package has it.
const PROGRAM: &[u8] = include_bytes!("recursion.elf");
const NAME: &str = "recursion.elf";
const ISA: Isa = Isa::Rv64;
/// The function that is shown.
const SHOWN: &str = "fibonacci";

/// What ran, and its trace.
struct Ran {
    pub instructions: u64,
    pub system_calls: u64,
    /// What the program printed.
    pub printed: String,
    /// All that was executed, as `record --log` writes it.
    pub log: Vec<u8>,
    pub source: EtraceSource,
    pub trace: Vec<u8>,
    pub traced: Traced,
    /// Code that was executed and is not the program's: pieces with their addresses.
    pub code: Vec<(u64, Vec<u8>)>,
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let kept = opts.keep.as_deref().map(OutputFolder::claim).transpose()?;
    let ran = run::run(kept.as_ref())?;
    let image = image(&ran)?;
    let (checked, tally, shown) = check(&ran, &image)?;
    if let Some(folder) = kept {
        keep::keep(folder, &ran)?;
    }
    let equal = checked.is_equal() && checked.equal.instructions == ran.instructions;
    let story = Story { ran: &ran, tally: &tally, checked: &checked, equal, kept: opts.keep.as_deref() };
    let mut out = Output::stdout(Form::json_if(opts.json));
    if opts.json {
        out.write_all(story.json().as_bytes())?;
    } else {
        let snippet = shown.map(|offset| snippet(&ran, &image, offset)).transpose()?;
        out.write_all(story.text(snippet.as_deref()).as_bytes())?;
    }
    out.flush()?;
    Ok(Outcome::from_errors(u64::from(!equal)))
}

/// The program, and what was executed besides.
fn image(ran: &Ran) -> Result<Image, Error> {
    let mut builder = Image::builder();
    let failed = |error: &dyn std::fmt::Display| Error::Message(format!("{NAME}: {error}"));
    builder
        .elf(NAME, Bytes::new(PROGRAM.to_vec()), None, MemorySpace::ANY)
        .map_err(|error| failed(&error))?;
    for (address, code) in &ran.code {
        let code = Bytes::new(code.clone());
        builder.raw("code", code, *address, MemorySpace::ANY).map_err(|error| failed(&error))?;
    }
    Ok(builder.build())
}

/// Decodes the trace and compares what it tells with what ran. Also returns where in it the function begins that is shown.
fn check(ran: &Ran, image: &Image) -> Result<(Checked, Tally, Option<u64>), Error> {
    let mut checker = Checker::of_bytes(ran.log.clone(), image, ISA);
    let records = checker.records();
    let mut shown = None;
    let begins = |told: &&Told| {
        matches!(told.item, Item::Run(run) if image.symbols().symbol(run.start, MemorySpace::ANY)
            .is_some_and(|symbol| symbol.start == run.start && symbol.name == SHOWN))
    };
    let tally = decode(ran, image, &records, Range::ALL, |records, range| {
        let records = &records[range];
        shown = shown.or_else(|| records.iter().find(begins).map(|told| told.offset));
        checker.take(records)
    })?;
    Ok((checker.finish(false), tally, shown))
}

/// What the packet at this offset of the trace tells, instruction by instruction.
fn snippet(ran: &Ran, image: &Image, offset: u64) -> Result<String, Error> {
    let mut text = Vec::new();
    let range = Range { from: offset, to: offset + 1 };
    let lines = Text { detail: Detail::Instructions, clocks: None, bodies: Bodies::new() };
    decode(ran, image, &lines, range, |line, range| {
        text.extend_from_slice(&line.bytes()[range]);
        ControlFlow::Continue(())
    })?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Decodes the trace in memory.
fn decode<C: Consumer>(
    ran: &Ran,
    image: &Image,
    consumer: &C,
    range: Range,
    take: impl FnMut(&C::Output, std::ops::Range<usize>) -> ControlFlow<()> + Send,
) -> Result<Tally, Error> {
    let source = RawSource::Etrace(Box::new(ran.source.clone()));
    let capture = Capture::raw("".as_ref(), Packing::Source, &[source])?;
    let request = Request {
        capture: &capture,
        buffer: &capture.buffers[0],
        bytes: Some(&ran.trace),
        image,
        wants: &|_| true,
        options: &Options::default(),
        range,
        limits: Limits::NONE,
        refuse_mismatch: false,
        progress: &|_| {},
    };
    Ok(Engine::new(1)?.decode(&request, consumer, take)?.tally)
}
