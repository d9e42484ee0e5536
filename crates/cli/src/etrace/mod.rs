//! What the verbs share about E-Trace captures.

use tracewright_input::{Buffer, Capture, Protocol};

/// Whether a buffer holds E-Trace.
pub fn is_etrace(capture: &Capture, buffer: &Buffer) -> bool {
    let mut sources = buffer.sources.iter().map(|&source| &capture.sources[source]);
    sources.any(|source| matches!(source.protocol, Protocol::Etrace(_)))
}
