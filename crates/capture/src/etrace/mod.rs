//! E-Trace captures, made out of what harts and threads execute.
//!
//! [`Etrace`] makes capture folders. A [`Tracer`] alone takes what a hart executes, as a [`HartSink`](tracewright_hart::HartSink), and writes the trace
//! to anything. [`Settings`] has every parameter and option of the encoder by its name.

mod accesses;
mod code;
pub mod delta;
mod folder;
mod handlers;
mod logged;
mod output;
mod port;
mod seen;
mod settings;
#[cfg(test)]
mod tests;
mod tracer;
mod writer;

pub use code::{ExecutedCode, executed_code};
pub use delta::{DeltaSettings, DeltaTraced};
pub(crate) use folder::Folder;
pub use logged::LogData;
use logged::Logged;
use output::TraceFile;
pub use seen::Seen;
pub use settings::Settings;
pub use tracer::{Finished, Traced, Tracer};
use tracer::{WithData, WithoutCode};
pub use writer::Etrace;
