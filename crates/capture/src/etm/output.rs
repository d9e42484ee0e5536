use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use tracewright_core::TraceId;
use tracewright_frames::{Framer, Options};
use tracewright_hart::FirstErrorWriter;

use crate::Error;
use crate::error::same;

/// The buffer for the trace of all threads, in frames.
pub struct Output {
    framer: Framer,
    frames: Vec<u8>,
    file: FirstErrorWriter<File>,
    path: PathBuf,
    /// Number of bytes written.
    pub bytes: u64,
}

impl Output {
    pub fn new(file: File, path: PathBuf) -> Self {
        // A snapshot cannot say that there are syncs.
        let framer = Framer::new(Options::default());
        Self { framer, frames: Vec::new(), file: FirstErrorWriter::new(file), path, bytes: 0 }
    }

    /// Adds bytes of a source's trace.
    pub fn push(&mut self, id: TraceId, bytes: &[u8]) {
        if self.framer.push(id, bytes, &mut self.frames).is_err() {
            self.file.write(|_| Err(io::Error::other("a source has a trace ID that is reserved")));
        }
        self.write();
    }

    /// Ends the last frame. Fails if not everything could be written; `bytes` then says how much was.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.framer.flush(&mut self.frames);
        self.write();
        self.file.write(File::flush);
        self.check()
    }

    /// Fails if not everything could be written so far.
    pub fn check(&self) -> Result<(), Error> {
        self.file.failed.as_ref().copied().map_err(|error| Error::write(&self.path, same(error)))
    }

    fn write(&mut self) {
        self.file.write(|file| {
            // Keep only whole frames.
            file.write_all(&self.frames).inspect_err(|_| drop(file.set_len(self.bytes)))?;
            self.bytes += self.frames.len() as u64;
            Ok(())
        });
        self.frames.clear();
    }
}
