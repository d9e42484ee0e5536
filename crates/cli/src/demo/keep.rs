use std::io::Write;
use std::path::Path;

use tracewright_input::{CaptureWriter, OutputFolder};

use super::NAME;
use super::Ran;
use crate::output::Error;

/// Writes a capture folder, and `run.log`, what ran.
pub fn keep(folder: OutputFolder, ran: &Ran) -> Result<(), Error> {
    let failed = |path: &Path, error: &std::io::Error| {
        Error::Message(format!("{}: cannot write: {error}", path.display()))
    };
    let program = folder.path().join(NAME);
    folder.replace("run.log", &ran.log)?;
    let mut writer = CaptureWriter::within(folder)?;
    writer.reserve("run.log");
    writer.describe(NAME);
    let source = writer.source("hart0", ran.source.clone());
    let (path, mut file) = writer.buffer("trace", &[source])?;
    file.write_all(&ran.trace).map_err(|error| failed(&path, &error))?;
    // It ran there.
    writer.image(&program, None)?;
    if !ran.code.is_empty() {
        writer.dump("code", &ran.code)?;
    }
    writer.finish()?;
    Ok(())
}
