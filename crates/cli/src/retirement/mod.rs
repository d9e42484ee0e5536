//! Retirement logs: what tracewright's plugin for QEMU writes.

mod info;
mod stats;

pub use tracewright_capture::retirement::{end_words, is_log, source_name};
use tracewright_capture::retirement::{hex, open};

pub use self::info::info;
pub use self::stats::stats;
