//! ETMv4 as a protocol for captures.

use tracewright_core::Isa;

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
    create,
};

/// Its name in messages.
const NAME: &str = "ETMv4";

fn create(place: Place<'_>, request: &Request<'_>) -> Result<Box<dyn TraceWriter>, Error> {
    let Request { isa, description, input, options, port, delta, ring, .. } = *request;
    let given = [("delta trace", delta.is_some()), ("ring", ring.is_some())];
    let given = given.iter().find(|(_, given)| *given).map(|(what, _)| *what);
    let hart = (!matches!(input, InputKind::Threads(_))).then_some("trace of a hart");
    if let Some(what) = given.or(hart) {
        return Err(Error::Unsupported { by: NAME, what });
    }
    let settings = Settings::new(isa).with(options)?.with_port(port);
    let folder = Folder::create(place.claim()?, &settings, description)?;
    Ok(Box::new(Writer { folder, tracers: Vec::new() }))
}

/// A capture that is being written.
struct Writer {
    folder: Folder,
    tracers: Vec<Tracer>,
}

impl TraceWriter for Writer {
    fn add_thread(&mut self, subject: &Subject<'_>, _: &mut Vec<Remark>) -> Result<(), Error> {
        match *subject {
            Subject::Hart => Err(Error::Unsupported { by: NAME, what: "trace of a hart" }),
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
            return Err(Error::Unsupported { by: NAME, what: "trace of a hart" });
        };
        let (process, code) = (retirement::process(header, definitions), retirement::code(definitions));
        Ok(self.folder.finish(self.tracers, process, code, remarks)?.0)
    }
}
