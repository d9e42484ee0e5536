use tracewright_input as input;

/// A source within a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its index in the capture.
    pub index: usize,
    /// Its number in the buffer: the trace ID, or E-Trace's srcID.
    pub id: u16,
    /// What the capture says of it.
    pub of: &'a input::Source,
}

impl<'a> Source<'a> {
    /// Its parameters if it is an ETM.
    pub fn etm(&self) -> Option<&'a tracewright_etm::Params> {
        match &self.of.protocol {
            input::Protocol::Etm(params) => Some(params),
            _ => None,
        }
    }
}
