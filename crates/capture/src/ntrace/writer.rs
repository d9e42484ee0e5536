//! N-Trace as a protocol for captures.

use super::Settings;
use crate::Error;
use crate::etrace::{interval, plain};
use crate::protocol::{Place, Protocol, Request, TraceWriter};

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
    let Request { isa, options, port, delta, ring, .. } = *request;
    let given = [("delta trace", delta.is_some()), ("a trace port", port.is_some())];
    if let Some((what, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(Error::Unsupported { by: "N-Trace", what });
    }
    let mut settings = Settings { ring, ..Settings::new(isa) };
    if let Some(ring) = ring {
        settings.config.resync.max = interval(ring);
    }
    plain::create(place, &settings.with(options)?, request)
}
