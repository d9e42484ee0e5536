//! What the verbs share about RISC-V captures.

use tracewright_input::{Buffer, Capture, Source};

/// Returns the name of a buffer's protocol, if it is RISC-V's: E-Trace, N-Trace or TACIT.
pub fn riscv(capture: &Capture, buffer: &Buffer) -> Option<String> {
    let mut sources = buffer.sources.iter().map(|&source| &capture.sources[source]);
    sources.find(|source| source.riscv_isa().is_some()).map(Source::protocol_name)
}
