//! E-Trace captures, made out of what harts and threads execute.
//!
//! [`Folder`] gives a [`Tracer`] for the hart, or for each thread, which takes what that executes as a
//! [`Sink`](tracewright_hart::Sink). [`Settings`] has every parameter and option of the encoder by its name.

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
pub use folder::Folder;
pub use logged::{LogData, Logged};
pub use output::TraceFile;
pub use seen::Seen;
pub use settings::Settings;
pub use tracer::{Finished, Traced, Tracer, WithData, WithoutCode};
pub use writer::Etrace;
