use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use tracewright_core::TraceId;
use tracewright_frames::{Framer, Options};

use crate::Error;
use crate::error::same;

/// The buffer for the trace of all threads, in frames.
pub struct Output {
    framer: Framer,
    frames: Vec<u8>,
    file: File,
    path: PathBuf,
    /// Number of bytes written.
    pub bytes: u64,
    failed: io::Result<()>,
}

impl Output {
    pub fn new(file: File, path: PathBuf) -> Self {
        // A snapshot cannot say that there are syncs.
        let framer = Framer::new(Options::default());
        Self { framer, frames: Vec::new(), file, path, bytes: 0, failed: Ok(()) }
    }

    /// Adds bytes of a source's trace.
    pub fn push(&mut self, id: TraceId, bytes: &[u8]) {
        if self.framer.push(id, bytes, &mut self.frames).is_err() && self.failed.is_ok() {
            self.failed = Err(io::Error::other("a source has a trace ID that is reserved"));
        }
        self.write();
    }

    /// Ends the last frame. Fails if not everything could be written; `bytes` then says how much was.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.framer.flush(&mut self.frames);
        self.write();
        if self.failed.is_ok() {
            self.failed = self.file.flush();
        }
        self.check()
    }

    /// Fails if not everything could be written so far.
    pub fn check(&self) -> Result<(), Error> {
        match &self.failed {
            Ok(()) => Ok(()),
            Err(error) => Err(Error::write(&self.path, same(error))),
        }
    }

    fn write(&mut self) {
        // After an error nothing more is written: a reader would misread what follows a hole.
        if self.failed.is_ok() {
            self.failed = self.file.write_all(&self.frames);
            match self.failed {
                Ok(()) => self.bytes += self.frames.len() as u64,
                // Keep only whole frames.
                Err(_) => drop(self.file.set_len(self.bytes)),
            }
        }
        self.frames.clear();
    }
}
