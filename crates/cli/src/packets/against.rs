//! `packets --against`: two traces of one execution, packet by packet.

use std::io::Write;
use std::path::Path;

use serde_json::json;
use tracewright::compare::compare;

use super::Opts;
use crate::json::line;
use crate::output::{Error, Outcome, Output};

/// Runs the verb.
pub fn run(opts: &Opts, other: &Path) -> Result<Outcome, Error> {
    let (reference, outcome) = opts.program.open(&opts.capture)?;
    let reference = opts.select.of(reference, false);
    // A trace file may be of the capture that describes it.
    let mut capture = opts.capture.of(other);
    if other.is_file() && opts.capture.sources.is_empty() && opts.capture.capture.is_dir() {
        (capture.capture, capture.trace_file) = (opts.capture.capture.clone(), Some(other.to_owned()));
    }
    let theirs = opts.program.open(&capture)?.0;
    let compared = compare(&reference, &theirs)?;
    let mut out = Output::paged(opts.table.form());
    match opts.table.json {
        true => {
            let sources: Vec<_> = compared.iter().map(|of| of.json(&reference)).collect();
            out.write_all(line("packets", json!({ "sources": sources })).as_bytes())?;
        }
        false => compared.iter().try_for_each(|of| out.write_all(of.text(&reference).as_bytes()))?,
    }
    out.flush()?;
    Ok(outcome.and(Outcome::lacks("other-packets", compared.iter().any(|of| of.difference.is_some()))))
}
