//! What the verbs share about E-Trace captures.

mod kind;
mod reader;

pub use kind::Kind;
pub use reader::{Found, Visitor, read};

use tracewright_input::{Buffer, BufferFormat, Capture};

use crate::output::report;

/// Whether a buffer holds E-Trace.
pub fn is_etrace(buffer: &Buffer) -> bool {
    buffer.format == BufferFormat::Etrace
}

/// Bytes and messages from sources that the capture does not describe.
#[derive(Debug, Default)]
pub struct Strangers(Vec<(u16, u64)>);

impl Strangers {
    /// Counts a message.
    pub fn add(&mut self, source: u16, len: usize) {
        match self.0.iter_mut().find(|(known, _)| *known == source) {
            Some((_, bytes)) => *bytes += len as u64,
            None => self.0.push((source, len as u64)),
        }
    }

    /// Each with its bytes, by ID.
    pub fn sorted(&self) -> Vec<(u16, u64)> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted
    }

    /// Says which they are.
    pub fn report(&self, capture: &Capture, buffer: &Buffer) {
        if self.0.is_empty() {
            return;
        }
        let bytes: u64 = self.0.iter().map(|(_, bytes)| bytes).sum();
        let ids: Vec<_> = self.sorted().iter().take(4).map(|(id, _)| format!("{id:#04x}")).collect();
        let more = if self.0.len() > 4 { format!(" and {} more", self.0.len() - 4) } else { String::new() };
        let known = buffer.sources.iter().filter_map(|&source| capture.sources[source].number());
        let known: Vec<_> = known.map(|id| format!("{id:#04x}")).collect();
        report(&format!(
            "{}: {bytes} bytes not read: no source of this buffer has ID {}{more} (there are {})",
            buffer.name,
            ids.join(", "),
            known.join(", ")
        ));
    }
}
