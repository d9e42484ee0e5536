//! ETMv4 captures of what threads execute: a snapshot folder that OpenCSD opens.
//!
//! A folder has a tracer for each thread. A tracer is a [`HartSink`](tracewright_hart::HartSink) that encodes what the thread executes, as
//! the trace unit of a Cortex-A core would. Tracers can run on different threads of the host. Their bytes go to one buffer, in frames, in
//! the order in which they come.

mod folder;
mod output;
mod port;
mod settings;
mod tracer;
mod writer;

#[cfg(test)]
mod tests;

use folder::Folder;
pub use settings::Settings;
use tracer::Tracer;
pub use writer::PROTOCOL;
