use std::any::Any;

use tracewright_core::Exception;
use tracewright_input as input;

use crate::protocol;
use crate::stream::Plug;
use crate::syntax::Skips;

/// A source within a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its index in the capture.
    pub index: usize,
    /// Its number in the buffer: the trace ID, or E-Trace's srcID.
    pub id: u16,
    /// Its description in the capture.
    pub of: &'a input::Source,
}

impl<'a> Source<'a> {
    /// Returns the source with this index in a capture.
    pub fn new(capture: &'a input::Capture, index: usize) -> Self {
        let of = &capture.sources[index];
        Self { index, id: of.number().unwrap_or(0), of }
    }

    /// Returns its protocol, if one is registered for it.
    pub(crate) fn plug(&self) -> Option<&'static dyn Plug> {
        self.of.number().and_then(|_| protocol::of(self.of))
    }

    /// Returns whether it traces a RISC-V hart.
    pub fn is_riscv(&self) -> bool {
        self.of.is_riscv()
    }

    /// Returns the name of an exception on the core that it traces.
    pub fn exception_name(&self, exception: &Exception) -> String {
        self.plug().map_or_else(String::new, |plug| plug.exception_name(self.of, exception))
    }

    /// Returns the name by which OpenCSD's packet lister knows its protocol, if it does.
    pub fn opencsd_protocol(&self) -> Option<&'static str> {
        self.plug()?.opencsd_protocol(self.of)
    }

    /// Returns how OpenCSD's packet lister cuts its skipped bytes into lines.
    pub fn opencsd_skips(&self) -> Skips {
        self.plug().map_or(Skips::Eights, Plug::opencsd_skips)
    }

    /// Returns what OpenCSD's packet lister writes after skipped bytes.
    pub fn opencsd_skipped(&self) -> &'static str {
        self.plug().map_or("", |plug| plug.opencsd_skipped())
    }

    /// Returns its parameters, if it is an ETMv4 or ETE.
    pub fn etm(&self) -> Option<&'a tracewright_etm::Params> {
        match &self.of.protocol {
            input::Protocol::Etm(params) => Some(params),
            _ => None,
        }
    }

    /// Returns its parameters, if it is an ITM.
    pub fn itm(&self) -> Option<&'a tracewright_coresight::itm::Params> {
        match &self.of.protocol {
            input::Protocol::Registered(params) => (&**params as &dyn Any).downcast_ref(),
            _ => None,
        }
    }
}
