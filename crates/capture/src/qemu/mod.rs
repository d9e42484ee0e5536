//! Records any Linux program for Arm or RISC-V that QEMU runs, and traces it while it runs.
//!
//! [`Recorder::new`] finds the program, QEMU and the plugin, and creates the capture; [`Recorder::run`] runs the program. On hosts other
//! than Linux, [`Recorder::new`] fails.

#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
mod linux;
mod status;

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::AtomicU64;

use tracewright_input::file::open_plain;
use tracewright_qemu::format::{Header, Off};

pub use self::linux::{Interrupter, Recorder};
pub use self::status::{as_code, describe, signal, signal_name};
use crate::encode::Tally;
use crate::etrace::LogData;
use crate::port::Report;
use crate::protocol::Traced;
use crate::record::LogOutput;
use crate::{CaptureOptions, Error, Remark};

/// Options of a recording under QEMU.
#[derive(Debug, Default)]
pub struct QemuOptions {
    /// The program: its file, or its path in `symfs`.
    pub program: PathBuf,
    /// The program's arguments.
    pub arguments: Vec<OsString>,
    /// Variables of the program's environment, `NAME=VALUE`, besides those of this process.
    pub environment: Vec<OsString>,
    /// The folder with the program's libraries; if not given, the one that `QEMU_LD_PREFIX` names.
    pub symfs: Option<PathBuf>,
    /// QEMU itself; if not given, the one in `PATH`.
    pub qemu: Option<PathBuf>,
    /// Options for QEMU.
    pub qemu_options: Vec<OsString>,
    /// How much of memory accesses is recorded, if anything.
    pub data: Option<LogData>,
    /// An address or a symbol where recording begins.
    pub start: Option<String>,
    /// An address or a symbol where recording stops.
    pub stop: Option<String>,
    /// Whether processes that the program forks are recorded, too.
    pub follows_forks: bool,
    /// Instructions after which recording stops, if there is a limit.
    pub limit: Option<u64>,
    /// Whether a terminal interrupts the program when it interrupts this process.
    pub has_terminal: bool,
    /// The file for the retirement log, if it is kept.
    pub log: Option<LogOutput>,
    /// The capture that is made, if any.
    pub capture: Option<CaptureOptions>,
}

/// Returns whether a program, here or in `symfs`, is an ELF file for another processor than RISC-V: only QEMU can run such.
pub fn is_foreign(program: &Path, symfs: Option<&Path>) -> bool {
    let inside = symfs.map(|symfs| symfs.join(program.strip_prefix("/").unwrap_or(program)));
    let path = [Some(program.to_owned()), inside].into_iter().flatten().find(|path| path.is_file());
    let mut header = Vec::new();
    let read = path.and_then(|path| open_plain(&path).ok()?.take(20).read_to_end(&mut header).ok());
    read == Some(20) && header.starts_with(b"\x7fELF") && !matches!(header[18..], [0xf3, 0] | [0, 0xf3])
}

/// Totals of what was recorded so far, for all threads and processes.
#[derive(Debug, Default)]
pub struct Counts {
    /// Instructions.
    pub instructions: AtomicU64,
    /// Threads.
    pub threads: AtomicU64,
    /// Bytes of trace.
    pub bytes: AtomicU64,
}

/// Result of a recording under QEMU.
#[derive(Debug)]
pub struct QemuRecording {
    /// The name of the program's file.
    pub name: String,
    /// How the program ended.
    pub status: ExitStatus,
    /// Number of times it was interrupted.
    pub interrupts: u32,
    /// Duration in seconds.
    pub seconds: f64,
    /// The processes; the first is the one that was started.
    pub processes: Vec<Recorded>,
}

impl QemuRecording {
    /// Adds up what was recorded of all processes.
    pub fn totals(&self) -> QemuTotals {
        let sum = |of: fn(&Recorded) -> Option<u64>| -> Option<u64> {
            self.processes.iter().filter_map(of).reduce(|one, other| one + other)
        };
        let mut tally = Tally::default();
        self.processes.iter().for_each(|process| tally.add(&process.tally));
        QemuTotals {
            instructions: self.threads().map(|thread| thread.instructions).sum(),
            threads: self.threads().count() as u64,
            tally,
            trace_bytes: sum(|process| process.traced.map(|traced| traced.bytes)),
            port: Report::all(self.processes.iter().filter_map(|process| process.traced?.port)),
            log_bytes: sum(|process| process.log_bytes),
            unknown: sum(|process| process.traced.map(|traced| traced.unknown)).unwrap_or_default(),
        }
    }

    /// Returns whether the program was stopped because it reached [`QemuOptions::limit`].
    pub fn is_limited(&self) -> bool {
        let is_limited = |thread: &RecordedThread| thread.off == Some(Off::Limit);
        signal(self.status) == Some(9) && self.threads().next().is_some() && self.threads().all(is_limited)
    }

    fn threads(&self) -> impl Iterator<Item = &RecordedThread> {
        self.processes.iter().flat_map(|process| &process.threads)
    }
}

/// Totals of a recording under QEMU.
#[derive(Clone, Copy, Debug)]
pub struct QemuTotals {
    /// Instructions.
    pub instructions: u64,
    /// Threads.
    pub threads: u64,
    /// Counts of what they executed.
    pub tally: Tally,
    /// Bytes of trace, if there is a capture.
    pub trace_bytes: Option<u64>,
    /// Report of all ports together, if there are any.
    pub port: Option<Report>,
    /// Bytes of logs, if they are kept.
    pub log_bytes: Option<u64>,
    /// Accesses to memory that are missing in the trace.
    pub unknown: u64,
}

/// Recording of a process.
#[derive(Debug)]
pub struct Recorded {
    /// The header of its log.
    pub header: Header,
    /// Its process ID.
    pub pid: u32,
    /// Its threads.
    pub threads: Vec<RecordedThread>,
    /// Counts of what they executed.
    pub tally: Tally,
    /// Notes of the plugin.
    pub notes: Vec<String>,
    /// The command that ran.
    pub command: Vec<String>,
    /// Bytes of the log, if it is kept.
    pub log_bytes: Option<u64>,
    /// Totals of the trace, if there is one.
    pub traced: Option<Traced>,
    /// Remarks about the capture.
    pub remarks: Vec<Remark>,
    /// Errors, each of which leaves something incomplete.
    pub problems: Vec<Error>,
}

/// Recording of a thread.
#[derive(Clone, Copy, Debug)]
pub struct RecordedThread {
    /// Its index in the log.
    pub index: u32,
    /// Its Linux thread ID, if known.
    pub tid: Option<u32>,
    /// Instructions that it executed.
    pub instructions: u64,
    /// Why its recording ended; `None` if it was cut off before.
    pub off: Option<Off>,
}
