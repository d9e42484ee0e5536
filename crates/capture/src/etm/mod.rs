//! ETMv4, PTM and ETMv3 captures of what threads execute: a snapshot folder that OpenCSD opens.
//!
//! A folder has a tracer for each thread. A tracer is a [`HartSink`](tracewright_hart::HartSink) that encodes what the thread executes, as
//! the trace unit of a Cortex-A core would: ETMv4 (`etm4`), or one of the older two (`older`). Tracers can run on different threads of the host. Their bytes go to one buffer, in frames, in
//! the order in which they come.

mod etm4;
mod folder;
mod older;
mod output;
mod port;
mod settings;
mod tracer;
mod unit;
mod writer;

#[cfg(test)]
mod tests;

use folder::Folder;
pub use settings::Settings;
use tracer::Tracer;
pub use writer::{ETM3, PROTOCOL, PTM};
