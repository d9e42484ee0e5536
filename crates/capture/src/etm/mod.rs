//! ETMv4 captures, made out of what threads execute: a snapshot folder that OpenCSD opens.
//!
//! A folder gives a tracer for each thread, which takes what that executes as a [`HartSink`](tracewright_hart::HartSink) and encodes it as the trace
//! unit of a Cortex-A core would. Tracers can be on different threads; their bytes go to one buffer, in frames, in the order in which they
//! come.

mod folder;
mod memory;
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
