//! What a run under QEMU came to.

use std::path::Path;

use tracewright_capture::qemu::{
    QemuRecording, QemuTotals, Recorded, as_code, describe, signal, signal_name,
};

use crate::capture;
use crate::output::{Error, Outcome, Output, is_quiet, remark, report, say};
use crate::port;
use crate::record::{Opts, grouped, unknown_line};

/// What a run came to.
pub struct Summary {
    run: QemuRecording,
    totals: QemuTotals,
}

/// Notes of a log that are told: more are the same again, most likely.
const MOST_NOTES: usize = 20;

impl Summary {
    pub fn new(run: QemuRecording) -> Self {
        Self { totals: run.totals(), run }
    }

    /// Says it all, and how it ended.
    pub fn end(self, opts: &Opts, summary: Option<Output>) -> Result<Outcome, Error> {
        let is_limited = self.run.is_limited();
        let mut has_problems = false;
        self.run.processes.iter().flat_map(|process| &process.remarks).for_each(capture::remark);
        for process in &self.run.processes {
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
            report(&format!("{}: {how}", self.run.name));
        }
        if let Some(file) = summary {
            file.write_whole(self.json().as_bytes(), false)?;
        }
        if !is_quiet() {
            self.report(opts);
        }
        Ok(if has_problems || is_limited {
            Outcome::lacks("stopped", true)
        } else {
            Outcome::Status(as_code(self.run.status))
        })
    }

    /// How it ended, if it did not by itself.
    fn how(&self, opts: &Opts, has_problems: bool) -> Option<String> {
        let recorded = format!("{} instructions", grouped(self.totals.instructions));
        let kept = if opts.output.is_some() || opts.log.is_some() { "; they are kept" } else { "" };
        if has_problems {
            // It was stopped, or had ended already.
            signal(self.run.status).filter(|signal| *signal == 9)?;
            let kept = if kept.is_empty() { "" } else { "; what could be written of them is kept" };
            return Some(format!("stopped: {recorded} were recorded until then{kept}"));
        }
        if self.run.is_limited() {
            return Some(format!("stopped after {recorded} (--max-instructions)"));
        }
        let signal = signal(self.run.status)?;
        Some(match self.run.interrupts {
            0 => {
                format!("killed by {}: {recorded} were recorded until then{kept}", signal_name(signal))
            }
            _ => format!("stopped by a signal (Ctrl-C, SIGTERM or SIGHUP) after {recorded}{kept}"),
        })
    }

    fn report(&self, opts: &Opts) {
        let (QemuTotals { instructions, tally, .. }, seconds) = (self.totals, self.run.seconds);
        let mips = instructions as f64 / seconds.max(1e-9) / 1e6;
        let line = |name: &str, count: u64, more: &str| {
            say(&format!("  {name:<16} {:>16}  {more}", grouped(count)));
        };
        let bits =
            |bytes: u64| format!("{:.4} bits an instruction", 8.0 * bytes as f64 / instructions as f64);
        let how = describe(self.run.status);
        report(&format!("{}: {how}; {seconds:.2} s, {mips:.0} million instructions/s", self.run.name));
        line("instructions", instructions, "");
        line("blocks", tally.blocks, "");
        line("threads", self.totals.threads, "");
        if self.run.processes.len() > 1 {
            line("processes", self.run.processes.len() as u64, "");
        }
        for (name, count) in
            [("system calls", tally.calls), ("exceptions", tally.exceptions), ("signals", tally.signals)]
        {
            if count > 0 {
                line(name, count, "");
            }
        }
        let place = |path: Option<&Path>| path.map_or(String::new(), |path| path.display().to_string());
        if let Some(bytes) = self.totals.trace_bytes {
            line("trace", bytes, &format!("bytes in {}, {}", place(opts.output.as_deref()), bits(bytes)));
        }
        unknown_line(self.totals.unknown);
        if let Some(port) = &self.totals.port {
            port::lines(port, "port").iter().for_each(|line| say(line));
        }
        if let Some(bytes) = self.totals.log_bytes {
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
        let QemuTotals { instructions, threads, tally, trace_bytes, port, log_bytes, unknown } = &self.totals;
        let object = serde_json::json!({
            "exit_status": self.run.status.code(), "signal": signal(self.run.status).map(signal_name),
            "seconds": self.run.seconds, "instructions": instructions, "blocks": tally.blocks,
            "system_calls": tally.calls, "exceptions": tally.exceptions, "signals": tally.signals,
            "threads": threads, "trace_bytes": trace_bytes, "log_bytes": log_bytes,
            "unknown_accesses": unknown,
            "port": port.as_ref().map(port::json),
            "processes": self.run.processes.iter().map(process).collect::<Vec<_>>(),
        });
        crate::json::line("record", object)
    }
}
