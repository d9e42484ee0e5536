//! Finds out how a raw trace file may be read.

use std::io;
use std::path::Path;

use tracewright_core::text::Printable;
pub use tracewright_engine::{Evidence, Fit, FoundSource, Speaks, Survey};
use tracewright_input::compressed::{Compression, Unpacked};
use tracewright_input::file::{compression, open_unpacked};

use crate::error::Error;
use crate::escape::shell_word;

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

/// Returns the words with which a shell writes a file, unpacked, from a byte on; the first is 1.
pub fn from_byte(path: &Path, byte: u64) -> String {
    let file = shell_word(&Printable(&path.to_string_lossy()).to_string());
    match compression(path) {
        Some(Compression::Gzip) => format!("gzip -dc {file} | tail -c +{byte}"),
        Some(Compression::Xz) => format!("xz -dc {file} | tail -c +{byte}"),
        Some(Compression::Zstd) => format!("zstd -dc {file} | tail -c +{byte}"),
        None => format!("tail -c +{byte} {file}"),
    }
}
