//! `tracewright conform`: what a trace encoder must make, and whether it does.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::json;
use tracewright::conform::{self, Kit, KitOptions, PROTOCOLS};

use crate::json::line;
use crate::output::{Error, ForceArgs, Form, Outcome, is_quiet, report, write};

/// Verify a trace encoder: write what it must make of a program, or compare what it made.
///
/// A kit is a folder of cases that reach every packet and every option of a protocol. Each has the bytes that an encoder must make, also for
/// $readmemh, and the fields of its packets; beside them is what was executed. With --compare, what an encoder made of the cases is compared
/// with that, packet by packet: what the specification leaves to an encoder is told apart from errors.
#[derive(Args)]
#[command(after_help = "\
Exit status: 0 all is as expected, or the specification allows it; 1 a case
is wrong, or was not found; 2 bad usage, or nothing could be read.

Examples:
  tracewright conform --protocol etrace -o kit
  tracewright conform --protocol etrace --params hw.scf -o kit
  tracewright conform --protocol ntrace --option implicit_return=off -o kit
  tracewright conform --compare mine --kit kit
  tracewright conform --compare mine/plain.hex --case plain --json")]
pub struct Opts {
    /// The protocol of the trace.
    #[arg(long, value_parser = PossibleValuesParser::new(PROTOCOLS), required_unless_present = "compare")]
    protocol: Option<String>,

    /// A file of the encoder's parameters (.scf), as --option FILE.scf. Cases that it cannot have are left out.
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,

    /// A parameter or an option of the encoder, by its name in the specification (repeat for more; `--option help` lists all).
    #[arg(long = "option", value_name = "NAME=VALUE")]
    options: Vec<String>,

    /// Where the result is written: a file (- is standard output), or the folder of a capture, which is made.
    #[arg(short, long, value_name = "PATH", required_unless_present = "compare")]
    output: Option<PathBuf>,

    /// Compare what an encoder made: a folder with CASE.bin or CASE.hex for each case, or a file of one (--case).
    #[arg(long, value_name = "THEIRS", conflicts_with_all = ["protocol", "params", "options", "output"])]
    compare: Option<PathBuf>,

    /// The kit that they are compared with [default: the current folder].
    #[arg(long, value_name = "FOLDER", requires = "compare")]
    kit: Option<PathBuf>,

    /// Only this case (repeat for more).
    #[arg(long = "case", value_name = "NAME", requires = "compare")]
    cases: Vec<String>,

    #[command(flatten)]
    force: ForceArgs,

    /// Write JSON, for programs; the book lists its fields.
    #[arg(long)]
    json: bool,
}

impl From<conform::Error> for Error {
    fn from(error: conform::Error) -> Self {
        match error {
            conform::Error::Capture(error) => error.into(),
            conform::Error::Trace(error) => error.into(),
            other => Self::Message(other.to_string()),
        }
    }
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    if let Some(theirs) = &opts.compare {
        return compare(opts, theirs);
    }
    let (Some(protocol), Some(dir)) = (&opts.protocol, &opts.output) else {
        return Err(Error::Message("give --protocol and -o, or --compare".into()));
    };
    let params = opts.params.iter().map(|file| format!("params={}", file.display()));
    let options = opts.options.iter().cloned().chain(params).collect();
    let force = opts.force.force;
    let kit = conform::write(&KitOptions { dir: dir.clone(), protocol: protocol.clone(), options, force })?;
    if opts.json {
        write("-".as_ref(), Form::Json, line("conform", kit.json()).as_bytes(), false)?;
    } else if !is_quiet() {
        report(&format!("{}: {}", dir.display(), kit.summary()));
    }
    Ok(Outcome::Good)
}

fn compare(opts: &Opts, theirs: &Path) -> Result<Outcome, Error> {
    let kit = Kit::open(opts.kit.as_deref().unwrap_or(".".as_ref()))?;
    let checked = kit.check(theirs, &opts.cases)?;
    let text = match opts.json {
        true => line("conform", json!({ "protocol": kit.protocol, "cases": checked.json() })),
        false => checked.text(),
    };
    write("-".as_ref(), if opts.json { Form::Json } else { Form::Text }, text.as_bytes(), false)?;
    Ok(Outcome::lacks("other-packets", checked.is_wrong())
        .and(Outcome::lacks("missing-cases", !checked.missing.is_empty())))
}
