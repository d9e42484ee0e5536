//! Writes a capture folder.

use std::io;
use std::path::{Path, PathBuf};

use tracewright_core::{Block, MemorySpace};
use tracewright_image::{Bytes, Image};
use tracewright_input::file::{MAX_PROGRAM, read_plain};
use tracewright_input::{CaptureWriter, ImageFile, Protocol};

use super::{ExecutedCode, Finished, Seen, TraceFile, executed_code};
use crate::protocol::{Executed, Place, Subject, Traced};
use crate::retirement::{self, CodePages};
use crate::{Error, Remark, StopFlag};

/// Settings of an encoder that traces a hart or thread into a capture folder.
pub trait HartSettings: Clone + Send + 'static {
    /// What encodes with these settings.
    type Tracer: HartTracer;
    /// Returns the description of the source.
    fn source(&self) -> Protocol;
    /// Returns the size of the ring that keeps the newest bytes, if not all are kept.
    fn ring(&self) -> Option<u64>;
    /// Returns whether there is delta trace beside the trace.
    fn has_delta(&self) -> bool {
        false
    }
    /// Creates a tracer that writes to `to`, and delta trace to `delta`.
    fn tracer(&self, to: TraceFile, delta: Option<TraceFile>) -> Self::Tracer;
    /// Returns a remark about the settings, if there is one to make.
    fn remark(&self) -> Option<Remark>;
}

/// A tracer of a hart or thread.
pub trait HartTracer: Send {
    /// Fails if trace could not be written, so that the rest would be lost.
    fn check(&self) -> Result<(), &io::Error>;
    /// Sets the time of what comes next, in nanoseconds since the beginning.
    fn time(&mut self, _nanoseconds: u64) {}
    /// Ends the trace.
    fn finish(self) -> io::Result<Finished<TraceFile>>;
}

/// A capture folder that is being written, with a source and a buffer for each hart or thread.
pub struct Folder<S> {
    /// Folder that files are written to.
    pub dir: PathBuf,
    writer: CaptureWriter,
    settings: S,
    /// The files of the buffers, and of delta trace, in the order in which they were made.
    paths: Vec<(PathBuf, Option<PathBuf>)>,
    /// Programs that are in the folder.
    programs: Vec<ImageFile>,
    stop: StopFlag,
}

/// Most pieces of code that are kept: a description with more would be too large to read.
const MOST_PIECES: usize = 20_000;

impl<S: HartSettings> Folder<S> {
    /// Begins a capture in a folder. Nothing is traced yet.
    pub fn create(place: Place<'_>, settings: &S, description: &str, stop: &StopFlag) -> Result<Self, Error> {
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
    pub fn source(&mut self, name: &str, buffer: &str, tid: Option<u32>) -> Result<S::Tracer, Error> {
        let source = self.writer.source(name, self.settings.source());
        if let Some(tid) = tid {
            self.writer.thread(source, tid);
        }
        let (path, file) = self.writer.buffer(buffer, &[source])?;
        let delta = self.settings.has_delta().then(|| self.writer.delta(source)).transpose()?;
        let (delta_path, delta) = delta.unzip();
        self.paths.push((path, delta_path));
        let trace_file = |file| TraceFile::new(file, self.settings.ring(), &self.stop);
        Ok(self.settings.tracer(trace_file(file), delta.map(trace_file)))
    }

    /// Adds a hart or thread. Returns its tracer, and the file that it writes to.
    pub fn subject(
        &mut self,
        subject: &Subject<'_>,
        remarks: &mut Vec<Remark>,
    ) -> Result<(S::Tracer, PathBuf), Error> {
        let (tracer, file) = match *subject {
            Subject::Hart => (self.source("hart0", "trace", None)?, "trace.bin".to_owned()),
            Subject::Thread { index, tid, maps } => {
                self.add_programs(&retirement::programs(maps, remarks))?;
                let name = retirement::source_name(index);
                (self.source(&name, &name, Some(tid))?, format!("{name}.bin"))
            }
        };
        Ok((tracer, self.dir.join(file)))
    }

    /// Ends the traces, as [`finish`](Self::finish) does, and adds what ran. Returns the totals of all traces.
    pub fn end(
        mut self,
        tracers: Vec<S::Tracer>,
        executed: Executed<'_>,
        remarks: &mut Vec<Remark>,
    ) -> Result<Traced, Error> {
        let traced = match executed {
            Executed::Hart { programs, blocks, halfword } => {
                self.finish(tracers, programs, blocks, halfword, remarks)?
            }
            Executed::Process { header, definitions } => {
                self.writer.process(retirement::process(header, definitions));
                let programs = retirement::programs(definitions.maps(), remarks);
                let blocks: Vec<_> = retirement::translated(definitions).collect();
                let code: CodePages = retirement::code(definitions).collect();
                remarks.extend(code.changed.map(Remark::CodeChanged));
                let halfword = |at| code.halfword(at);
                self.finish(tracers, &programs, blocks.iter(), halfword, remarks)?
            }
        };
        Ok(Traced::sum(&traced))
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
        tracers: Vec<S::Tracer>,
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
