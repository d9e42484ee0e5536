//! Whose elements they are.

use tracewright_etm as etm;
use tracewright_input::perf::TimeConversion;

/// A source within a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its index in the capture.
    pub index: usize,
    /// Its number in the buffer: the trace ID, or E-Trace's srcID.
    pub id: u16,
    /// What made its trace.
    pub unit: Unit<'a>,
    /// What its timestamps are on the recorder's clock.
    pub time: Option<TimeConversion>,
}

/// What makes trace, with what names depend on.
#[derive(Clone, Copy, Debug)]
pub enum Unit<'a> {
    /// ETMv4 or ETE.
    Etm(&'a etm::Params),
    /// RISC-V E-Trace.
    Etrace,
}

impl<'a> Source<'a> {
    /// Its parameters if it is an ETM.
    pub fn etm(&self) -> Option<&'a etm::Params> {
        match self.unit {
            Unit::Etm(params) => Some(params),
            Unit::Etrace => None,
        }
    }
}
