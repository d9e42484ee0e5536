//! E-Trace captures of what harts and threads execute.
//!
//! [`PROTOCOL`] makes capture folders. A [`Tracer`] alone is a [`HartSink`](tracewright_hart::HartSink) that encodes what a hart executes and
//! writes the trace to any writer. [`Settings`] has every parameter and option of the encoder by its name.

mod accesses;
mod code;
pub mod delta;
mod folder;
mod handlers;
mod logged;
mod output;
pub(crate) mod plain;
mod port;
mod seen;
mod settings;
#[cfg(test)]
mod tests;
mod tracer;
mod writer;

pub use code::{ExecutedCode, executed_code};
pub use delta::{DeltaSettings, DeltaTraced};
pub(crate) use folder::{Folder, HartSettings, HartTracer};
use logged::Logged;
pub(crate) use output::{Gather, TraceFile};
pub use seen::Seen;
pub use settings::Settings;
use tracer::{Asking, WithData, WithoutCode};
pub use tracer::{Finished, Tracer};
pub use tracewright_qemu::format::LogData;
pub use writer::PROTOCOL;
pub(crate) use writer::interval;
