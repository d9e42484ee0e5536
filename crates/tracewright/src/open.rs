//! Opening captures of every kind.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use tracewright_input::debuginfod::Debuginfod;
use tracewright_input::file::existing;
use tracewright_input::{self as input, Capture, ImageFile, Packing, RawSource, perf};

use crate::error::Error;
use crate::file_kind::FileKind;
#[cfg(feature = "capture")]
use crate::log;
use crate::trace::Trace;

/// How to open a capture.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    symbol_folders: Vec<PathBuf>,
    packing: Option<Packing>,
    sources: Vec<RawSource>,
    images: Vec<ImageFile>,
    accept_mismatch: bool,
    debuginfod: Option<Debuginfod>,
    trace_file: Option<PathBuf>,
}

impl OpenOptions {
    /// Creates options for a capture that describes itself.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a program that ran: an ELF file, or raw bytes with the address they were loaded at (`None`: where the ELF file says).
    #[must_use]
    pub fn image(mut self, file: impl Into<PathBuf>, address: Option<u64>) -> Self {
        self.images.push(ImageFile { path: file.into(), at: address });
        self
    }

    /// Adds a folder to search for the programs that a recording of perf or simpleperf names.
    #[must_use]
    pub fn symbol_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.symbol_folders.push(folder.into());
        self
    }

    /// Describes a source of a raw trace file, or the encoders of a recording of perf with RISC-V trace. Its text form is that of the command's `--source`.
    #[must_use]
    pub fn source(mut self, source: RawSource) -> Self {
        self.sources.push(source);
        self
    }

    /// Sets how a raw trace file is packed. E-Trace and MTB have no packing; N-Trace has one only in frames.
    #[must_use]
    pub fn packing(mut self, packing: Packing) -> Self {
        self.packing = Some(packing);
        self
    }

    /// Accepts programs that differ from those recorded, and counts traces that contradict their program.
    #[must_use]
    pub fn accept_mismatch(mut self, accept: bool) -> Self {
        self.accept_mismatch = accept;
        self
    }

    /// Asks these servers for programs and debug files that are not here. Without it, nothing is fetched.
    #[must_use]
    pub fn debuginfod(mut self, debuginfod: Debuginfod) -> Self {
        self.debuginfod = Some(debuginfod);
        self
    }

    /// Reads another file in place of the trace file of a capture folder, which then only describes it.
    #[must_use]
    pub fn trace_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.trace_file = Some(file.into());
        self
    }

    /// Opens a capture folder, a recording of perf or simpleperf, a log of tracewright or, if a [`source`](Self::source) is described,
    /// a raw trace file, with the programs that ran.
    ///
    /// # Errors
    /// Fails if there is no capture that can be read. Lesser faults are in [`Trace::problems`].
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Trace, Error> {
        #[cfg_attr(not(feature = "capture"), allow(unused_mut))]
        let mut capture = Capture { debuginfod: self.debuginfod.clone(), ..self.open_capture(path)? };
        #[cfg(feature = "capture")]
        if self.images.is_empty() {
            let warning = log::lacks_code(&capture);
            capture.problems.extend(warning);
        }
        Ok(Trace::new(capture, &self.images, self.accept_mismatch))
    }

    /// Opens a capture without its programs; see [`open`](Self::open).
    ///
    /// # Errors
    /// Fails as [`open`](Self::open) does. If the file is of a kind that is not a capture, the error says which
    /// ([`Error::NotACapture`]).
    pub fn open_capture(&self, path: impl AsRef<Path>) -> Result<Capture, Error> {
        let path = path.as_ref();
        let failed = |message: &str| Error::from(input::Problem::file_error(path, message));
        let is_stdin = path.as_os_str() == "-";
        if !is_stdin && let Err(error) = existing(path).metadata() {
            let is_missing = error.kind() == ErrorKind::NotFound;
            return Err(if is_missing {
                Error::Missing(path.into())
            } else {
                Error::Unreadable(path.into(), error)
            });
        }
        if perf::is_recording(path) {
            let capture = perf::open_with(path, &self.symbol_folders, &self.sources)?;
            // Recordings of RISC-V harts lack what --source says.
            if self.packing.is_some()
                || !capture.recorded.as_ref().is_some_and(|recorded| recorded.is_riscv())
            {
                self.refuse_description(path, "a recording of perf")?;
            }
            return Ok(capture);
        }
        // What is no capture at all is told as such first.
        let refuse_folders = || match self.symbol_folders.is_empty() {
            true => Ok(()),
            false => Err(failed(
                "no recording of perf: --symfs says where programs of one are; name the programs of this capture with --image FILE[@ADDR]",
            )),
        };
        if path.is_dir() {
            self.refuse_description(path, "a capture folder")?;
            let mut capture = Capture::open(path)?;
            if let Some(file) = &self.trace_file {
                match capture.buffers.as_mut_slice() {
                    [buffer] if buffer.pieces.is_none() && buffer.ring.is_none() => {
                        (buffer.path, buffer.contents) = (file.clone(), None);
                    }
                    _ => return Err(failed("more than one trace buffer: no other file can take its place")),
                }
            }
            return refuse_folders().map(|()| capture);
        }
        #[cfg(feature = "capture")]
        if let Some(kind) = log::kind(path) {
            self.refuse_description(path, "a log of tracewright")?;
            refuse_folders()?;
            return Ok(log::open(path, kind)?);
        }
        let unframed = self.sources.iter().find_map(RawSource::unframed);
        if let (Some(name), Some(_)) = (&unframed, self.packing) {
            return Err(failed(&format!("{name} is not read from frames, and has no --packing")));
        }
        match self.packing.or_else(|| self.sources.iter().find_map(RawSource::usual_packing)) {
            Some(packing) => refuse_folders().and_then(|()| Ok(Capture::raw(path, packing, &self.sources)?)),
            None if self.sources.is_empty() => {
                let kind = if is_stdin { FileKind::of_stdin() } else { FileKind::of(path) };
                Err(Error::NotACapture(path.into(), kind))
            }
            None => Err(failed("a raw trace file needs a packing: say it with --packing")),
        }
    }

    /// Fails if packing or sources are given for a capture that describes itself.
    fn refuse_description(&self, path: &Path, what: &'static str) -> Result<(), Error> {
        match self.packing.is_none() && self.sources.is_empty() {
            true => Ok(()),
            false => Err(Error::DescribesItself(path.into(), what)),
        }
    }
}
