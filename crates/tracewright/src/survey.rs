//! Finds out how a raw trace file may be read.

use std::io;
use std::path::Path;

pub use tracewright_engine::{Evidence, Fit, FoundSource, Speaks, Survey};
use tracewright_input::compressed::Unpacked;
use tracewright_input::file::open_unpacked;

use crate::error::Error;

/// Reads a raw trace file (`-` is standard input), and returns the ways to read it: packings, trace IDs, protocols.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn survey(path: &Path) -> Result<Survey, Error> {
    let survey = match path.to_str() {
        Some("-") => Unpacked::new(io::stdin()).and_then(tracewright_engine::survey),
        _ => open_unpacked(path).and_then(tracewright_engine::survey),
    };
    survey.map_err(|error| Error::Unreadable(path.into(), error))
}
