//! What a run under QEMU came to.

use std::path::Path;
use std::process::ExitStatus;

use tracewright_capture::encode::Tally;
use tracewright_capture::port::Report;
use tracewright_capture::qemu::{QemuRecording, Recorded, as_code, describe, signal, signal_name};
use tracewright_qemu::format::Off;

use crate::capture;
use crate::output::{Error, Outcome, Output, is_quiet, remark, report, say};
use crate::port;
use crate::record::{Opts, grouped, unknown_line};

/// What a run came to.
pub struct Summary {
    name: String,
    status: ExitStatus,
    interrupts: u32,
    seconds: f64,
    processes: Vec<Recorded>,
    instructions: u64,
    threads: u64,
    tally: Tally,
    trace_bytes: Option<u64>,
    port: Option<Report>,
    log_bytes: Option<u64>,
    /// Accesses that are not in the trace.
    unknown: u64,
}

/// Notes of a log that are told: more are the same again, most likely.
const MOST_NOTES: usize = 20;

impl Summary {
    /// Adds up what was recorded.
    pub fn new(recording: QemuRecording) -> Self {
        let QemuRecording { name, status, interrupts, seconds, processes } = recording;
        let sum = |of: fn(&Recorded) -> Option<u64>| -> Option<u64> {
            processes.iter().filter_map(of).reduce(|one, other| one + other)
        };
        let mut tally = Tally::default();
        processes.iter().for_each(|process| tally.add(&process.tally));
        let threads = processes.iter().flat_map(|process| &process.threads);
        Self {
            name,
            status,
            interrupts,
            seconds,
            instructions: threads.clone().map(|thread| thread.instructions).sum(),
            threads: threads.count() as u64,
            tally,
            trace_bytes: sum(|process| process.traced.map(|traced| traced.bytes)),
            port: Report::all(processes.iter().filter_map(|process| process.traced?.port)),
            log_bytes: sum(|process| process.log_bytes),
            unknown: sum(|process| process.traced.map(|traced| traced.unknown)).unwrap_or_default(),
            processes,
        }
    }

    /// Says it all, and how it ended.
    pub fn end(self, opts: &Opts, summary: Option<Output>) -> Result<Outcome, Error> {
        let is_limited = self.is_limited();
        let mut has_problems = false;
        self.processes.iter().flat_map(|process| &process.remarks).for_each(capture::remark);
        for process in &self.processes {
            let of = if process.header.forked_from == 0 {
                String::new()
            } else {
                format!("process {}: ", process.pid)
            };
            for note in process.notes.iter().take(MOST_NOTES) {
                remark(&format!("{of}{note}"));
            }
            if let Some(more) = process.notes.len().checked_sub(MOST_NOTES).filter(|more| *more > 0) {
                remark(&format!("{of}{more} more remarks like these"));
            }
            for problem in &process.problems {
                has_problems = true;
                report(&format!("{of}{problem}"));
            }
        }
        if let Some(how) = self.how(opts, has_problems) {
            report(&format!("{}: {how}", self.name));
        }
        if let Some(file) = summary {
            file.write_whole(self.json().as_bytes(), false)?;
        }
        if !is_quiet() {
            self.report(opts);
        }
        Ok(if has_problems || is_limited {
            Outcome::HadErrors
        } else {
            Outcome::Status(as_code(self.status))
        })
    }

    /// Whether it was stopped since enough was recorded.
    fn is_limited(&self) -> bool {
        let mut threads = self.processes.iter().flat_map(|process| &process.threads).peekable();
        signal(self.status) == Some(9)
            && threads.peek().is_some()
            && threads.all(|thread| thread.off == Some(Off::Limit))
    }

    /// How it ended, if it did not by itself.
    fn how(&self, opts: &Opts, has_problems: bool) -> Option<String> {
        let recorded = format!("{} instructions", grouped(self.instructions));
        let kept = if opts.output.is_some() || opts.log.is_some() { "; they are kept" } else { "" };
        if has_problems {
            // It was stopped, or had ended already.
            signal(self.status).filter(|signal| *signal == 9)?;
            let kept = if kept.is_empty() { "" } else { "; what could be written of them is kept" };
            return Some(format!("stopped: {recorded} were recorded until then{kept}"));
        }
        if self.is_limited() {
            return Some(format!("stopped after {recorded} (--max-instructions)"));
        }
        let signal = signal(self.status)?;
        Some(match self.interrupts {
            0 => {
                format!("killed by {}: {recorded} were recorded until then{kept}", signal_name(signal))
            }
            _ => format!("stopped by a signal (Ctrl-C, SIGTERM or SIGHUP) after {recorded}{kept}"),
        })
    }

    fn report(&self, opts: &Opts) {
        let Self { instructions, seconds, .. } = *self;
        let mips = instructions as f64 / seconds.max(1e-9) / 1e6;
        let line = |name: &str, count: u64, more: &str| {
            say(&format!("  {name:<16} {:>16}  {more}", grouped(count)));
        };
        let bits =
            |bytes: u64| format!("{:.4} bits an instruction", 8.0 * bytes as f64 / instructions as f64);
        let how = describe(self.status);
        report(&format!("{}: {how}; {seconds:.2} s, {mips:.0} million instructions/s", self.name));
        line("instructions", instructions, "");
        line("blocks", self.tally.blocks, "");
        line("threads", self.threads, "");
        if self.processes.len() > 1 {
            line("processes", self.processes.len() as u64, "");
        }
        for (name, count) in [
            ("system calls", self.tally.calls),
            ("exceptions", self.tally.exceptions),
            ("signals", self.tally.signals),
        ] {
            if count > 0 {
                line(name, count, "");
            }
        }
        let place = |path: Option<&Path>| path.map_or(String::new(), |path| path.display().to_string());
        if let Some(bytes) = self.trace_bytes {
            line("trace", bytes, &format!("bytes in {}, {}", place(opts.output.as_deref()), bits(bytes)));
        }
        unknown_line(self.unknown);
        if let Some(port) = &self.port {
            port::lines(port, "port").iter().for_each(|line| say(line));
        }
        if let Some(bytes) = self.log_bytes {
            line("log", bytes, &format!("bytes in {}, {}", place(opts.log.as_deref()), bits(bytes)));
        }
    }

    /// It as a JSON object.
    fn json(&self) -> String {
        let process = |process: &Recorded| {
            let threads = process.threads.iter().map(|thread| {
                serde_json::json!({
                    "thread": thread.index, "tid": thread.tid, "instructions": thread.instructions,
                    "complete": thread.off.is_some(),
                })
            });
            serde_json::json!({
                "pid": process.pid, "command": process.command, "processor": process.header.target.name(),
                "plugin_interface": process.header.api,
                "threads": threads.collect::<Vec<_>>(), "notes": process.notes,
                "problems": process.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "trace_bytes": process.traced.map(|traced| traced.bytes), "log_bytes": process.log_bytes,
            })
        };
        let object = serde_json::json!({
            "exit_status": self.status.code(), "signal": signal(self.status).map(signal_name),
            "seconds": self.seconds, "instructions": self.instructions, "blocks": self.tally.blocks,
            "system_calls": self.tally.calls, "exceptions": self.tally.exceptions, "signals": self.tally.signals,
            "threads": self.threads, "trace_bytes": self.trace_bytes, "log_bytes": self.log_bytes,
            "unknown_accesses": self.unknown,
            "port": self.port.as_ref().map(port::json),
            "processes": self.processes.iter().map(process).collect::<Vec<_>>(),
        });
        crate::json::line("record", object)
    }
}
