//! Runs QEMU, and takes what its plugin records.

mod capture;
mod command;
mod keep;
mod process;
mod program;
mod recorder;
mod session;
mod tools;

use super::{Counts, QemuOptions, QemuRecording, Recorded, RecordedThread, status};

pub use self::recorder::Recorder;
pub use self::session::Interrupter;
