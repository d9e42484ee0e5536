//! What the verbs share about E-Trace and N-Trace captures.

use tracewright_input::{Buffer, Capture, Source};

/// Returns the name of a buffer's protocol, if its packets name their source: E-Trace or N-Trace.
pub fn riscv(capture: &Capture, buffer: &Buffer) -> Option<String> {
    let mut sources = buffer.sources.iter().map(|&source| &capture.sources[source]);
    sources.find(|source| source.names_sources()).map(Source::protocol_name)
}
