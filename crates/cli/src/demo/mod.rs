//! `tracewright demo`: runs a program, traces it, decodes the trace and checks it against what ran.

mod run;
mod story;

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Args;
use tracewright::Trace;
use tracewright::listing::{Detail, Listing};
use tracewright_input::Capture;

use self::run::Temporary;
use self::story::Story;
use crate::decode::text::Text;
use crate::output::{Error, ForceArgs, Form, Outcome, Output};

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

    #[command(flatten)]
    force: ForceArgs,

    /// Write JSON, for programs; the book lists its fields.
    #[arg(long)]
    json: bool,
}

/// The program: a copy of `programs/bin/recursion.elf`, so that the package has it.
const PROGRAM: &[u8] = include_bytes!("recursion.elf");
const NAME: &str = "recursion.elf";
/// The log in the capture's folder.
const LOG: &str = "run.log";
/// The function that is shown.
const SHOWN: &str = "fibonacci";

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let temporary = Temporary::new()?;
    let folder = opts.keep.clone().unwrap_or_else(|| temporary.path().join("run"));
    refuse_others(&folder, opts.force)?;
    let ran = run::run(&temporary, &folder, opts.force)?;
    let trace = Trace::open(&folder)?;
    let checked = trace.check(folder.join(LOG), false)?;
    let (tally, checked) = (checked.tally, checked.value);
    let equal = checked.is_equal() && checked.equal.instructions == ran.instructions;
    let story = Story { ran: &ran, tally: &tally, checked: &checked, equal, kept: opts.keep.as_deref() };
    let mut out = Output::stdout(Form::json_if(opts.json));
    if opts.json {
        out.write_all(story.json().as_bytes())?;
    } else {
        out.write_all(story.text(&snippet(trace)?).as_bytes())?;
    }
    out.flush()?;
    Ok(Outcome::lacks("mismatch", !equal))
}

/// Refuses a folder with a capture that is not of this program: it is of somebody who has more than a demonstration.
fn refuse_others(folder: &Path, force: ForceArgs) -> Result<(), Error> {
    let Some(capture) = Capture::open(folder).ok().filter(|_| !force.force) else { return Ok(()) };
    match capture.description.as_deref() {
        Some(NAME) => Ok(()),
        other => Err(Error::Message(format!(
            "{}: holds a capture of {}: name a new folder, or add --force",
            folder.display(),
            other.unwrap_or("something else")
        ))),
    }
}

/// What the packet with the first call of the function tells, instruction by instruction.
fn snippet(trace: Trace) -> Result<String, Error> {
    let begins = |start, space| {
        let symbol = trace.image().symbols().symbol(start, space);
        symbol.is_some_and(|symbol| symbol.start == start && symbol.name == SHOWN)
    };
    let Some(shown) = trace.blocks().find(|block| begins(block.value.start, block.space)) else {
        return Ok(String::new());
    };
    let mut text = Vec::new();
    let lines = Listing {
        lines: Text::new(Detail::Instructions { inlined: true }, false, false),
        clocks: None,
        times: false,
        ended: |_| {},
    };
    trace.range(shown.offset..shown.offset + 1).decode_in_order(&lines, |line, range| {
        text.extend_from_slice(&line.bytes()[range]);
        ControlFlow::Continue(())
    })?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
