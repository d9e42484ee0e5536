//! TACIT captures of what harts and threads execute.

mod settings;
mod tracer;

use crate::Error;
use crate::etrace::plain;
use crate::protocol::{Place, Protocol, Request, TraceWriter};

pub use settings::Settings;
pub use tracer::Tracer;

/// RISC-V TACIT (L-Trace).
pub static PROTOCOL: Protocol = Protocol {
    name: "tacit",
    about: "RISC-V TACIT (L-Trace)",
    help: Settings::help,
    supports: |isa| !isa.is_arm(),
    has_data: false,
    create,
};

fn create(place: Place<'_>, request: &Request<'_>) -> Result<Box<dyn TraceWriter>, Error> {
    let Request { isa, options, port, delta, ring, .. } = *request;
    let given = [
        ("delta trace", delta.is_some()),
        ("a trace port", port.is_some()),
        ("a ring, since it is read from its first byte,", ring.is_some()),
    ];
    if let Some((what, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(Error::Unsupported { by: "TACIT", what });
    }
    plain::create(place, &Settings::new(isa).with(options)?, request)
}
