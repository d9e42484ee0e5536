//! Recording any Linux program for Arm or RISC-V, run by QEMU, and traced while it runs.
//!
//! [`Recorder::new`] finds the program, QEMU and the plugin, and makes the capture; [`Recorder::run`] runs the program. Elsewhere than on
//! Linux, the first fails.

#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
mod linux;
mod status;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::AtomicU64;

use tracewright_qemu::format::{Header, Off};

pub use self::linux::{Interrupter, Recorder};
pub use self::status::{as_code, describe, signal, signal_name};
use crate::encode::Tally;
use crate::etrace::LogData;
use crate::protocol::Traced;
use crate::{CaptureOptions, Error, Remark};

/// What QEMU runs, and what is made of it.
#[derive(Debug, Default)]
pub struct QemuOptions {
    /// The program, as it is named: its file, or its path in the sysroot.
    pub program: PathBuf,
    /// The program's arguments.
    pub arguments: Vec<OsString>,
    /// Variables of the program's environment, `NAME=VALUE`, besides those of this process.
    pub environment: Vec<OsString>,
    /// The folder with the program's libraries; if not given, the one that `QEMU_LD_PREFIX` names.
    pub sysroot: Option<PathBuf>,
    /// QEMU itself; if not given, the one in `PATH`.
    pub qemu: Option<PathBuf>,
    /// Options for QEMU.
    pub qemu_options: Vec<OsString>,
    /// What is recorded of accesses to memory.
    pub data: Option<LogData>,
    /// An address or a symbol where recording begins.
    pub start: Option<String>,
    /// An address or a symbol where recording stops.
    pub stop: Option<String>,
    /// Whether processes that the program forks are recorded, too.
    pub follows_forks: bool,
    /// Instructions after which recording stops, if it does.
    pub limit: Option<u64>,
    /// Whether a terminal interrupts the program when it interrupts this process.
    pub has_terminal: bool,
    /// The file that the retirement log goes to, if it is kept.
    pub log: Option<PathBuf>,
    /// The capture that is made, if any.
    pub capture: Option<CaptureOptions>,
}

/// How much was recorded so far, of all threads and processes.
#[derive(Debug, Default)]
pub struct Counts {
    /// Instructions.
    pub instructions: AtomicU64,
    /// Threads.
    pub threads: AtomicU64,
    /// Bytes of trace.
    pub bytes: AtomicU64,
}

/// What was recorded.
#[derive(Debug)]
pub struct QemuRecording {
    /// The name of the program's file.
    pub name: String,
    /// How the program ended.
    pub status: ExitStatus,
    /// How often it was interrupted.
    pub interrupts: u32,
    /// How long it ran.
    pub seconds: f64,
    /// The processes; the first is the one that was started.
    pub processes: Vec<Recorded>,
}

/// What was recorded of a process.
#[derive(Debug)]
pub struct Recorded {
    /// The header of its log.
    pub header: Header,
    /// Its number.
    pub pid: u32,
    /// Its threads.
    pub threads: Vec<RecordedThread>,
    /// What they executed.
    pub tally: Tally,
    /// What the plugin has to say.
    pub notes: Vec<String>,
    /// The command that ran.
    pub command: Vec<String>,
    /// Bytes of the log, if it is kept.
    pub log_bytes: Option<u64>,
    /// Totals of the trace, if there is one.
    pub traced: Option<Traced>,
    /// What should be known of the capture.
    pub remarks: Vec<Remark>,
    /// What went wrong: each keeps something from being whole.
    pub problems: Vec<Error>,
}

/// What was recorded of a thread.
#[derive(Clone, Copy, Debug)]
pub struct RecordedThread {
    /// Its index in the log.
    pub index: u32,
    /// Linux's number of it, if that is known.
    pub tid: Option<u32>,
    /// Instructions that it executed.
    pub instructions: u64,
    /// Why its recording ended; `None` if it was cut before.
    pub off: Option<Off>,
}
