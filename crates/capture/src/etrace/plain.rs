//! Captures of harts and threads that need no more than a tracer for each: N-Trace, TACIT.

use std::path::PathBuf;

use tracewright_input::ImageFile;

use super::{Folder, HartSettings, HartTracer as _};
use crate::encode::ThreadInput;
use crate::error::same;
use crate::protocol::{Executed, Place, Request, Subject, TraceWriter, Traced};
use crate::record::{HartRun, LogRead};
use crate::sink::{DynTraceSink, TraceSink};
use crate::{Error, Remark};

/// Begins a capture in a folder.
pub fn create<S: HartSettings<Tracer: TraceSink>>(
    place: Place<'_>,
    settings: &S,
    request: &Request<'_>,
) -> Result<Box<dyn TraceWriter>, Error> {
    let folder = Folder::create(place, settings, request.description, request.stop)?;
    Ok(Box::new(Writer { folder, threads: Vec::new() }))
}

/// A capture that is being written.
struct Writer<S: HartSettings> {
    folder: Folder<S>,
    /// Harts or threads, each with its file.
    threads: Vec<(S::Tracer, PathBuf)>,
}

impl<S: HartSettings<Tracer: TraceSink>> TraceWriter for Writer<S> {
    fn add_programs(&mut self, programs: &[ImageFile]) -> Result<(), Error> {
        self.folder.add_programs(programs)
    }

    fn add_thread(&mut self, subject: &Subject<'_>, remarks: &mut Vec<Remark>) -> Result<(), Error> {
        self.threads.push(self.folder.subject(subject, remarks)?);
        Ok(())
    }

    fn sink(&mut self, thread: usize) -> &mut dyn DynTraceSink {
        &mut self.threads[thread].0
    }

    fn run_hart(&mut self, run: &mut HartRun<'_>) {
        run.run(&mut self.threads[0].0);
    }

    fn read_log(&mut self, log: &mut LogRead<'_>) {
        log.run(&mut self.threads[0].0);
    }

    fn read_thread(&mut self, thread: usize, input: &mut ThreadInput<'_>) {
        input.run(&mut self.threads[thread].0);
    }

    fn time(&mut self, thread: usize, nanoseconds: u64) {
        self.threads[thread].0.time(nanoseconds);
    }

    fn bytes(&self, thread: usize) -> u64 {
        self.threads[thread].0.bytes()
    }

    fn check(&self, thread: usize) -> Result<(), Error> {
        let (tracer, path) = &self.threads[thread];
        tracer.check().map_err(|error| Error::write(path, same(error)))
    }

    fn discard(self: Box<Self>) {
        self.folder.discard();
    }

    fn finish(self: Box<Self>, executed: Executed<'_>, remarks: &mut Vec<Remark>) -> Result<Traced, Error> {
        let tracers = self.threads.into_iter().map(|(tracer, _)| tracer).collect();
        self.folder.end(tracers, executed, remarks)
    }
}
