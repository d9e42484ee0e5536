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

use tracewright_input::{Buffer, BufferFormat};

/// Whether a buffer holds E-Trace.
pub fn is_etrace(buffer: &Buffer) -> bool {
    buffer.format == BufferFormat::Etrace
}
