//! ETMv4, PTM and ETMv3 as protocols for captures.

use tracewright_core::Isa;

use super::older::{self, Etm3, Ptm};
use super::unit::UnitSettings;
use super::{Folder, Settings, Tracer};
use crate::encode::ThreadInput;
use crate::protocol::{Executed, InputKind, Place, Protocol, Request, Subject, TraceWriter, Traced};
use crate::sink::{DynTraceSink, TraceSink as _};
use crate::{Error, Remark, retirement};

/// Arm's ETMv4.
pub static PROTOCOL: Protocol = Protocol {
    name: "etm4",
    about: "Arm's ETMv4",
    help: Settings::help,
    supports: Isa::is_arm,
    has_data: false,
    create: |place, request| {
        let settings = Settings::new(request.isa).with(request.options)?.with_port(request.port);
        create(place, request, &settings)
    },
};

/// Arm's PTM.
pub static PTM: Protocol = Protocol {
    name: "ptm",
    about: "Arm's PTM, of Cortex-A9 to A17",
    help: older::Settings::<Ptm>::help,
    supports: is_32bit,
    has_data: false,
    create: create_older::<Ptm>,
};

/// Arm's ETMv3.
pub static ETM3: Protocol = Protocol {
    name: "etm3",
    about: "Arm's ETMv3, of Cortex-A5, A7 and A8",
    help: older::Settings::<Etm3>::help,
    supports: is_32bit,
    has_data: false,
    create: create_older::<Etm3>,
};

fn is_32bit(isa: Isa) -> bool {
    matches!(isa, Isa::A32 | Isa::T32)
}

fn create_older<P: older::Older>(
    place: Place<'_>,
    request: &Request<'_>,
) -> Result<Box<dyn TraceWriter>, Error> {
    let settings = older::Settings::<P>::new().with(request.options)?;
    if request.port.is_some() {
        return Err(Error::Unsupported {
            by: P::NAME,
            what: "model of a trace port: ETMv4 and E-Trace have one",
        });
    }
    create(place, request, &settings)
}

fn create<S: UnitSettings>(
    place: Place<'_>,
    request: &Request<'_>,
    settings: &S,
) -> Result<Box<dyn TraceWriter>, Error> {
    let Request { description, input, delta, ring, .. } = *request;
    let given = [("delta trace", delta.is_some()), ("ring", ring.is_some())];
    let given = given.iter().find(|(_, given)| *given).map(|(what, _)| *what);
    let hart = (!matches!(input, InputKind::Threads(_))).then_some("trace of a hart");
    if let Some(what) = given.or(hart) {
        return Err(Error::Unsupported { by: S::NAME, what });
    }
    let folder = Folder::create(place.claim()?, settings, description)?;
    Ok(Box::new(Writer { folder, tracers: Vec::new() }))
}

/// A capture that is being written.
struct Writer<S: UnitSettings> {
    folder: Folder<S>,
    tracers: Vec<Tracer<S::Unit>>,
}

impl<S: UnitSettings> TraceWriter for Writer<S> {
    fn add_thread(&mut self, subject: &Subject<'_>, _: &mut Vec<Remark>) -> Result<(), Error> {
        match *subject {
            Subject::Hart => Err(Error::Unsupported { by: S::NAME, what: "trace of a hart" }),
            Subject::Thread { index, tid, .. } => {
                self.tracers.push(self.folder.thread(index, tid)?);
                Ok(())
            }
        }
    }

    fn sink(&mut self, thread: usize) -> &mut dyn DynTraceSink {
        &mut self.tracers[thread]
    }

    fn read_thread(&mut self, thread: usize, input: &mut ThreadInput<'_>) {
        input.run(&mut self.tracers[thread]);
    }

    fn time(&mut self, thread: usize, nanoseconds: u64) {
        self.tracers[thread].time(nanoseconds);
    }

    fn bytes(&self, thread: usize) -> u64 {
        self.tracers[thread].bytes()
    }

    fn check(&self, _: usize) -> Result<(), Error> {
        self.folder.check()
    }

    fn finish(self: Box<Self>, executed: Executed<'_>, remarks: &mut Vec<Remark>) -> Result<Traced, Error> {
        let Executed::Process { header, definitions } = executed else {
            return Err(Error::Unsupported { by: S::NAME, what: "trace of a hart" });
        };
        let (process, code) = (retirement::process(header, definitions), retirement::code(definitions));
        Ok(self.folder.finish(self.tracers, process, code, remarks)?.0)
    }
}
