//! E-Trace as a protocol for captures.

use std::path::PathBuf;

use tracewright_etrace::encode::{Resync, ResyncMode};
use tracewright_input::ImageFile;

use super::{Asking, Folder, Logged, Settings, TraceFile, Tracer, WithData, WithoutCode};
use crate::encode::ThreadInput;
use crate::error::same;
use crate::protocol::{Executed, InputKind, Place, Protocol, Request, Subject, TraceWriter, Traced};
use crate::record::{HartRun, LogRead};
use crate::sink::{AnySink, DynTraceSink};
use crate::{Error, Remark};

/// RISC-V E-Trace.
pub static PROTOCOL: Protocol = Protocol {
    name: "etrace",
    about: "RISC-V E-Trace",
    help: Settings::help,
    supports: |isa| !isa.is_arm(),
    has_data: true,
    create,
};

fn create(place: Place<'_>, request: &Request<'_>) -> Result<Box<dyn TraceWriter>, Error> {
    let Request { isa, description, input, options, port, delta, ring, stop } = *request;
    let settings = match input {
        InputKind::Threads(data) => Settings::of_log(data, options)?,
        InputKind::Hart | InputKind::Log => {
            let mut settings = Settings::new(isa);
            settings.ring = ring;
            if let Some(ring) = ring {
                settings.resync = resync(ring, delta.is_some());
            }
            settings.with_delta(delta).with(options)?
        }
    };
    let settings = settings.with_port(port)?;
    if input == InputKind::Log {
        settings.refuse_data()?;
    }
    let folder = Folder::create(place, &settings, description, stop)?;
    Ok(Box::new(Writer { folder, settings, input, threads: Vec::new() }))
}

/// Returns when the encoder has to resynchronise, so that a ring always holds some synchronisation points; with delta trace, so that both
/// rings share some.
fn resync(ring: u64, has_delta: bool) -> Resync {
    let usual = Resync::default();
    match has_delta {
        false => Resync { max: interval(ring), ..usual },
        // Delta trace takes more room: about two bits per cycle.
        true => Resync { mode: ResyncMode::Cycles, max: exponent(ring).min(15), ..usual },
    }
}

/// Returns the exponent of the number of packets from one synchronisation to the next, less four, with which a ring always holds some.
pub fn interval(ring: u64) -> u8 {
    // Packets have about eight bytes.
    exponent(ring / 8 / 8).min(8)
}

fn exponent(count: u64) -> u8 {
    count.checked_ilog2().unwrap_or(0).saturating_sub(4) as u8
}

/// A capture that is being written.
struct Writer {
    folder: Folder<Settings>,
    settings: Settings,
    input: InputKind,
    /// Harts or threads, each with its file.
    threads: Vec<(Tracing, PathBuf)>,
}

/// A sink for what a hart or thread executes.
enum Tracing {
    Hart(Tracer<TraceFile>),
    HartData(WithData<TraceFile>),
    /// A thread, whose code comes from the log.
    Thread(WithoutCode<TraceFile>),
    ThreadData(Logged<TraceFile>),
}

impl Tracing {
    fn tracer(&self) -> &Tracer<TraceFile> {
        match self {
            Self::Hart(tracer) => tracer,
            Self::HartData(asking) => &asking.0,
            Self::Thread(asking) => &asking.0,
            Self::ThreadData(logged) => &logged.tracer,
        }
    }
}

impl TraceWriter for Writer {
    fn add_programs(&mut self, programs: &[ImageFile]) -> Result<(), Error> {
        self.folder.add_programs(programs)
    }

    fn add_thread(&mut self, subject: &Subject<'_>, remarks: &mut Vec<Remark>) -> Result<(), Error> {
        let (tracer, file) = self.folder.subject(subject, remarks)?;
        let thread = match (self.input, tracer.has_data()) {
            (InputKind::Threads(_), false) => Tracing::Thread(Asking(tracer)),
            (InputKind::Threads(_), true) => Tracing::ThreadData(Logged::new(&self.settings, tracer)),
            (InputKind::Hart | InputKind::Log, false) => Tracing::Hart(tracer),
            (InputKind::Hart | InputKind::Log, true) => Tracing::HartData(Asking(tracer)),
        };
        self.threads.push((thread, file));
        Ok(())
    }

    fn sink(&mut self, thread: usize) -> &mut dyn DynTraceSink {
        match &mut self.threads[thread].0 {
            Tracing::Hart(tracer) => tracer,
            Tracing::HartData(tracer) => tracer,
            Tracing::Thread(tracer) => tracer,
            Tracing::ThreadData(tracer) => tracer,
        }
    }

    fn run_hart(&mut self, run: &mut HartRun<'_>) {
        match self.threads.first_mut() {
            Some((Tracing::Hart(tracer), _)) => run.run(tracer),
            _ => run.run(&mut AnySink(self.sink(0))),
        }
    }

    fn read_log(&mut self, log: &mut LogRead<'_>) {
        match self.threads.first_mut() {
            Some((Tracing::Hart(tracer), _)) => log.run(tracer),
            _ => log.run(&mut AnySink(self.sink(0))),
        }
    }

    fn read_thread(&mut self, thread: usize, input: &mut ThreadInput<'_>) {
        match &mut self.threads[thread].0 {
            Tracing::Thread(tracer) => input.run(tracer),
            Tracing::ThreadData(tracer) => input.run(tracer),
            Tracing::Hart(_) | Tracing::HartData(_) => input.run(&mut AnySink(self.sink(thread))),
        }
    }

    fn bytes(&self, thread: usize) -> u64 {
        self.threads[thread].0.tracer().bytes()
    }

    fn check(&self, thread: usize) -> Result<(), Error> {
        let (thread, path) = &self.threads[thread];
        thread.tracer().check().map_err(|error| Error::write(path, same(error)))
    }

    fn discard(self: Box<Self>) {
        self.folder.discard();
    }

    fn finish(self: Box<Self>, executed: Executed<'_>, remarks: &mut Vec<Remark>) -> Result<Traced, Error> {
        let mut unknown = 0;
        let tracers = self.threads.into_iter().map(|(thread, _)| match thread {
            Tracing::Hart(tracer) => tracer,
            Tracing::HartData(asking) => asking.0,
            Tracing::Thread(asking) => asking.0,
            Tracing::ThreadData(logged) => {
                unknown += logged.unknown;
                logged.tracer
            }
        });
        let tracers: Vec<_> = tracers.collect();
        Ok(Traced { unknown, ..self.folder.end(tracers, executed, remarks)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_hold_synchronisations() {
        assert_eq!([256, 4096, 65536, 1 << 30].map(|ring| resync(ring, false).max), [0, 2, 6, 8]);
        assert_eq!([256, 4096, 65536, 1 << 30].map(|ring| resync(ring, true).max), [4, 8, 12, 15]);
    }
}
