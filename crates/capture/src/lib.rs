//! Make captures: run a program, encode what it executes, write the folder.

/// Gives types a [`Debug`](std::fmt::Debug) that tells only their name: what is in them would fill pages.
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
pub mod options;
mod pair;
pub mod port;
pub mod protocol;
pub mod qemu;
pub mod record;
mod remark;
pub mod retirement;
mod sink;
mod stop;

pub use error::{Condition, Error, EventAt, LogProblem};
pub use pair::Pair;
pub use protocol::{CaptureOptions, Protocols};
pub use remark::{Remark, grouped};
pub use sink::{DynSink, DynTraceSink, TraceSink};
pub use stop::{Ending, StopFlag};
