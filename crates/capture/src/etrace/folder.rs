//! Writes a capture folder.

use std::io;
use std::path::{Path, PathBuf};

use tracewright_core::{Block, MemorySpace};
use tracewright_image::{Bytes, Image};
use tracewright_input::file::{MAX_PROGRAM, read_plain};
use tracewright_input::{CaptureWriter, ImageFile, Process};

use super::{ExecutedCode, Finished, Seen, Settings, TraceFile, Tracer, executed_code};
use crate::protocol::{Place, Traced};
use crate::{Error, Remark, StopFlag};

/// A capture folder that is being written, with a source and a buffer for each hart or thread.
pub struct Folder {
    /// Folder that files are written to.
    pub dir: PathBuf,
    writer: CaptureWriter,
    settings: Settings,
    /// The files of the buffers, and of delta trace, in the order in which they were made.
    paths: Vec<(PathBuf, Option<PathBuf>)>,
    /// Programs that are in the folder.
    programs: Vec<ImageFile>,
    stop: StopFlag,
}

/// Most pieces of code that are kept: a description with more would be too large to read.
const MOST_PIECES: usize = 20_000;

impl Folder {
    /// Begins a capture in a folder. Nothing is traced yet.
    pub fn create(
        place: Place<'_>,
        settings: &Settings,
        description: &str,
        stop: &StopFlag,
    ) -> Result<Self, Error> {
        let folder = place.claim()?;
        let dir = folder.path().to_owned();
        let mut writer = CaptureWriter::within(folder)?;
        writer.reserve("run.log");
        writer.describe(description);
        let (settings, stop) = (settings.clone(), StopFlag::clone(stop));
        Ok(Self { writer, dir, settings, paths: Vec::new(), programs: Vec::new(), stop })
    }

    /// Adds a hart or thread as a source with this name; a thread with its thread ID. Returns a tracer that writes to a file of its
    /// own, `buffer`.
    pub fn source(&mut self, name: &str, buffer: &str, tid: Option<u32>) -> Result<Tracer<TraceFile>, Error> {
        let source = self.writer.source(name, self.settings.source.clone());
        if let Some(tid) = tid {
            self.writer.thread(source, tid);
        }
        let (path, file) = self.writer.buffer(buffer, &[source])?;
        let tracer = Tracer::new(&self.settings, TraceFile::new(file, self.settings.ring, &self.stop));
        if self.settings.delta.is_none() {
            self.paths.push((path, None));
            return Ok(tracer);
        }
        let (delta, file) = self.writer.delta(source)?;
        self.paths.push((path, Some(delta)));
        Ok(tracer.with_delta(&self.settings, TraceFile::new(file, self.settings.ring, &self.stop)))
    }

    /// Adds the process that was traced.
    pub fn process(&mut self, process: Process) {
        self.writer.process(process);
    }

    /// Adds programs that are not there yet. Called before anything runs, so that the trace can be read even after a crash.
    pub fn add_programs(&mut self, programs: &[ImageFile]) -> Result<(), Error> {
        for file in programs {
            if !self.programs.contains(file) {
                self.writer.image(&file.path, file.at)?;
                self.programs.push(file.clone());
            }
        }
        Ok(())
    }

    /// Removes the capture.
    pub fn discard(self) {
        self.writer.discard();
    }

    /// Ends the traces, which come in the order in which they were made, and adds the programs that ran and other executed code.
    /// `halfword` returns the code at an address that no tracer has seen. Returns the totals of each trace.
    pub fn finish<'a>(
        mut self,
        tracers: Vec<Tracer<TraceFile>>,
        programs: &[ImageFile],
        blocks: impl Iterator<Item = &'a Block>,
        mut halfword: impl FnMut(u64) -> Option<[u8; 2]>,
        remarks: &mut Vec<Remark>,
    ) -> Result<Vec<Traced>, Error> {
        remarks.extend(self.settings.remark());
        let mut all = Vec::with_capacity(tracers.len());
        let mut seen = Seen::new();
        let (mut failed, mut unfit) = (None, None);
        // If the disk is full, the trace so far should be readable.
        let mut fail = |path: &Path, error: io::Error| {
            failed.get_or_insert((path.to_owned(), error));
        };
        for (source, (tracer, (path, delta_path))) in tracers.into_iter().zip(&self.paths).enumerate() {
            let finished = tracer.finish().and_then(|finished| {
                let Finished { to, delta, traced, seen, handlers, unfit: of_this } = finished;
                unfit = unfit.or(of_this);
                Ok((Traced { kept: to.close()?, ..traced }, delta, seen, handlers))
            });
            let (mut traced, delta, by_this, (handlers, unknown)) = match finished {
                Ok(finished) => finished,
                Err(error) => {
                    fail(path, error);
                    continue;
                }
            };
            seen.merge(by_this);
            self.writer.handlers(source, handlers);
            remarks.extend(unknown.into_iter().map(Remark::SeveralHandlers));
            if let (Some(file), Some(path), Some(of)) = (delta, delta_path, &mut traced.delta) {
                match file.and_then(TraceFile::close) {
                    Ok(kept) => of.kept = kept,
                    Err(error) => fail(path, error),
                }
                if let Some(refused) = of.refused {
                    remarks.push(Remark::DeltaEnds(path.clone(), refused));
                }
            }
            all.push(traced);
        }
        if let Some(unfit) = unfit {
            // A reader would take it for another execution.
            self.writer.discard();
            return Err(Error::Unfit(unfit));
        }
        self.add_programs(programs)?;
        let mut builder = Image::builder();
        for file in programs {
            let bytes =
                read_plain(&file.path, MAX_PROGRAM).map_err(|error| Error::read(&file.path, error))?;
            // Readers of the capture report what is wrong with it.
            let _ = match (bytes.starts_with(b"\x7fELF"), file.at) {
                (true, at) => builder.elf("", Bytes::new(bytes), at, MemorySpace::ANY),
                (false, Some(at)) => builder.raw("", Bytes::new(bytes), at, MemorySpace::ANY),
                (false, None) => Ok(()),
            };
        }
        if let Some(address) = seen.changed {
            remarks.push(Remark::CodeChanged(address));
            all.iter_mut().for_each(|traced: &mut Traced| traced.lacks_code = true);
        }
        let code = |at| seen.halfword(at, &mut halfword);
        let ExecutedCode { mut pieces, unknown } = executed_code(blocks, &builder.build(), code);
        if let Some(address) = unknown {
            remarks.push(Remark::CodeMissing(address));
            all.iter_mut().for_each(|traced| traced.lacks_code = true);
        }
        if pieces.len() > MOST_PIECES {
            let of = pieces.len();
            remarks.push(Remark::ManyPieces { kept: MOST_PIECES, of, is_unnamed: true });
            pieces.truncate(MOST_PIECES);
        }
        if !pieces.is_empty() {
            self.writer.dump("code", &pieces)?;
        }
        match failed {
            None => Ok(self.writer.finish().map(|_| all)?),
            Some((path, error)) => Err(Error::Write { path, error, kept: self.writer.abandon().is_ok() }),
        }
    }
}
