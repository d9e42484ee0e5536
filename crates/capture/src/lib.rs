//! Make captures: run a program, encode what it executes, write the folder.

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
