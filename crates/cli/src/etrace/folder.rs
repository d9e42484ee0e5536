//! The capture folder that a trace goes to.

use std::fs::File;
use std::path::{Path, PathBuf};

use tracewright_core::{Block, MemorySpace};
use tracewright_image::{Bytes, Image};
use tracewright_input::{CaptureWriter, ImageFile};

use super::{ExecutedCode, Settings, Traced, Tracer, executed_code};
use crate::output::{Error, report};

/// A capture folder that is being written.
pub struct Folder {
    writer: CaptureWriter,
    path: PathBuf,
}

/// Pieces of code that are kept at most: a description with more is no longer read.
const MOST_PIECES: usize = 20_000;

impl Folder {
    /// Makes the folder, and what writes a trace into it.
    pub fn create(dir: &Path, settings: &Settings, description: &str) -> Result<(Self, Tracer<File>), Error> {
        let mut writer = CaptureWriter::create(dir)?;
        for name in ["run.log", "summary.json"] {
            writer.reserve(name);
        }
        writer.describe(description);
        let source = writer.source("hart0", settings.source.clone());
        let (path, file) = writer.buffer("trace", &[source])?;
        Ok((Self { writer, path }, Tracer::new(settings, file)))
    }

    /// Ends the trace, and adds the programs that ran, and what was executed besides. `halfword` tells what is at an address,
    /// where nothing was seen that ran there.
    pub fn finish<'a>(
        mut self,
        tracer: Tracer<File>,
        programs: &[ImageFile],
        blocks: impl Iterator<Item = &'a Block>,
        mut halfword: impl FnMut(u64) -> Option<[u8; 2]>,
    ) -> Result<Traced, Error> {
        let (_, traced, seen) = tracer
            .finish()
            .map_err(|error| Error::Message(format!("{}: cannot write: {error}", self.path.display())))?;
        let mut builder = Image::builder();
        for file in programs {
            self.writer.image(&file.path, file.at)?;
            let bytes = std::fs::read(&file.path)
                .map_err(|error| Error::Message(format!("{}: cannot read: {error}", file.path.display())))?;
            // What is wrong with it is told by whoever reads the capture.
            let _ = match (bytes.starts_with(b"\x7fELF"), file.at) {
                (true, at) => builder.elf("", Bytes::new(bytes), at, MemorySpace::ANY),
                (false, Some(at)) => builder.raw("", Bytes::new(bytes), at, MemorySpace::ANY),
                (false, None) => Ok(()),
            };
        }
        if let Some(address) = seen.changed() {
            report(&format!(
                "code was changed while it ran, or is another in another context, at {address:#x} for one: the capture has what ran \
                 first, and decode may go wrong there"
            ));
        }
        let code = |at| seen.halfword(at).or_else(|| halfword(at));
        let ExecutedCode { mut pieces, unknown } = executed_code(blocks, &builder.build(), code);
        if let Some(address) = unknown {
            report(&format!(
                "the capture lacks code that ran, at {address:#x} for one: decode will need it (--image FILE[@ADDR])"
            ));
        }
        if pieces.len() > MOST_PIECES {
            report(&format!(
                "only {MOST_PIECES} of {} pieces of code that is in no program are kept: name the program",
                pieces.len()
            ));
            pieces.truncate(MOST_PIECES);
        }
        if !pieces.is_empty() {
            self.writer.dump("code", &pieces)?;
        }
        self.writer.finish()?;
        Ok(traced)
    }
}
