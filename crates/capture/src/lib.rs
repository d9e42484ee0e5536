//! Makes captures: runs a program, encodes what it executes, and writes the folder.
//!
//! The execution comes from a program on the hart ([`record::run`]), from a program under QEMU ([`qemu::Recorder`]), or from a log
//! ([`record::read`], [`encode`]). [`CaptureOptions`] describe the capture: the folder, the protocol and its encoder's options, trace
//! control, a port, a ring, delta trace. Nothing here prints. Remarks about a capture come back as [`Remark`]s and failures as an
//! [`Error`]; progress is reported to a closure.
//!
//! [`Protocols::register`] adds a [protocol](protocol::Protocol) of your own, which then works wherever captures are made.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use tracewright_capture::CaptureOptions;
//! use tracewright_capture::record::{self, Loaded, RunOptions};
//! use tracewright_hart::Hart;
//! use tracewright_hart::linux::{Linux, Options};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let program = Path::new("programs/bin/sort.elf");
//! let (core, machine) = Linux::load(program, Options::default())?;
//! let loaded = Loaded::Linux(Box::new(Hart::new(core, machine)));
//! let capture = Some(CaptureOptions::new(Path::new("run")));
//! let mut remarks = Vec::new();
//! let options = RunOptions { capture, ..RunOptions::new(program) };
//! let recording = record::run(loaded, options, &mut |_| {}, &mut remarks)?;
//! println!("{} instructions", recording.counts.instructions);
//! # Ok(())
//! # }
//! ```

/// Implements [`Debug`](std::fmt::Debug) with only the name of the type, since the contents would fill pages.
macro_rules! opaque {
    ($(($($of:tt)*) $type:ty: $name:literal),*) => {$(
        impl $($of)* std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct($name).finish_non_exhaustive()
            }
        }
    )*};
}

opaque!(
    () encode::ThreadInput<'_>: "ThreadInput",
    (<W>) etrace::Tracer<W>: "Tracer",
    () log::Log: "Log",
    (<W>) ntrace::Tracer<W>: "Tracer",
    (<W>) tacit::Tracer<W>: "Tracer",
    () protocol::Executed<'_>: "Executed",
    () qemu::Recorder: "Recorder",
    () record::HartRun<'_>: "HartRun",
    () record::Listing: "Listing",
    () record::LogRead<'_>: "LogRead"
);

pub mod control;
pub mod encode;
mod error;
pub mod etm;
pub mod etrace;
pub mod log;
pub mod ntrace;
pub mod options;
pub mod port;
pub mod protocol;
pub mod qemu;
pub mod record;
mod remark;
pub mod retirement;
mod sink;
mod stop;
pub mod tacit;

pub use error::{Condition, Error, EventAt, LogProblem};
pub use protocol::{CaptureOptions, Protocols};
pub use remark::{Remark, grouped};
pub use sink::{DynSink, DynTraceSink, Pair, TraceSink};
pub use stop::{Ending, StopFlag};
