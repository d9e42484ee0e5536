//! N-Trace as a protocol for captures.

use std::path::PathBuf;

use tracewright_input::ImageFile;

use super::{Settings, Tracer};
use crate::encode::ThreadInput;
use crate::error::same;
use crate::etrace::{Folder, HartTracer as _, TraceFile, interval};
use crate::protocol::{Executed, Place, Protocol, Request, Subject, TraceWriter, Traced};
use crate::record::{HartRun, LogRead};
use crate::sink::{DynTraceSink, TraceSink as _};
use crate::{Error, Remark};

/// RISC-V N-Trace.
pub static PROTOCOL: Protocol = Protocol {
    name: "ntrace",
    about: "RISC-V N-Trace",
    help: Settings::help,
    supports: |isa| !isa.is_arm(),
    has_data: false,
    create,
};

fn create(place: Place<'_>, request: &Request<'_>) -> Result<Box<dyn TraceWriter>, Error> {
    let Request { isa, description, options, port, delta, ring, stop, .. } = *request;
    let given = [("delta trace", delta.is_some()), ("a trace port", port.is_some())];
    if let Some((what, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(Error::Unsupported { by: "N-Trace", what });
    }
    let mut settings = Settings { ring, ..Settings::new(isa) };
    if let Some(ring) = ring {
        settings.config.resync.max = interval(ring);
    }
    let folder = Folder::create(place, &settings.with(options)?, description, stop)?;
    Ok(Box::new(Writer { folder, threads: Vec::new() }))
}

/// A capture that is being written.
struct Writer {
    folder: Folder<Settings>,
    /// Harts or threads, each with its file.
    threads: Vec<(Tracer<TraceFile>, PathBuf)>,
}

impl TraceWriter for Writer {
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
