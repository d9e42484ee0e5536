//! What the verbs share about E-Trace captures.

mod accesses;
mod code;
mod delta;
mod folder;
mod handlers;
mod logged;
mod output;
mod port;
mod seen;
mod settings;
mod tracer;

#[cfg(test)]
mod tests;

pub use code::{ExecutedCode, executed_code};
pub use delta::{DeltaArgs, DeltaSettings, DeltaTraced};
pub use folder::Folder;
pub use logged::{LogData, Logged};
pub use output::TraceFile;
pub use seen::Seen;
pub use settings::Settings;
pub use tracer::{Finished, Traced, Tracer, WithData, WithoutCode};

use tracewright_input::{Buffer, Capture, Protocol};

/// Whether a buffer holds E-Trace.
pub fn is_etrace(capture: &Capture, buffer: &Buffer) -> bool {
    let mut sources = buffer.sources.iter().map(|&source| &capture.sources[source]);
    sources.any(|source| matches!(source.protocol, Protocol::Etrace(_)))
}
