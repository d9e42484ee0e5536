//! `record --qemu`: any Linux program for Arm or RISC-V, run by QEMU, traced while it runs.

mod summary;

use std::ffi::OsString;
use std::io::{IsTerminal, stderr, stdin};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use tracewright_capture::etrace::LogData;
use tracewright_capture::qemu::{Counts, QemuOptions, Recorder};

use self::summary::Summary;
use super::Opts;
use crate::capture::remarked;
use crate::output::{Error, Outcome};
use crate::progress;

/// Of programs that QEMU runs.
#[derive(Args)]
#[command(next_help_heading = "Programs under QEMU")]
pub struct QemuArgs {
    /// Let QEMU run the program: any Linux program for aarch64, arm or riscv64, with its libraries, threads and signals. With -o, a capture
    /// is written while it runs, a source for each thread. The program sees your files and environment, and may change them.
    #[arg(long, conflicts_with_all = ["listing", "details", "timing", "from", "rv32", "machine", "memory", "root", "writable",
        "host_clock", "seed", "ram", "entry", "pmp_regions", "misaligned", "interrupt"])]
    pub qemu: bool,

    /// Where the program's libraries are: a folder with lib, usr and so on. The program itself may be there, too.
    #[arg(long, value_name = "DIR", requires = "qemu")]
    pub sysroot: Option<PathBuf>,

    /// What is recorded of accesses to memory, in the --log, and as data trace in E-Trace captures. (ETMv4 of Arm's application processors
    /// has no data trace.)
    #[arg(long, value_enum, requires = "qemu")]
    pub data: Option<Data>,

    /// Begin to record here: an address (0x...), or a symbol of the program or its libraries.
    #[arg(long, value_name = "ADDR|SYMBOL", requires = "qemu")]
    pub start: Option<String>,

    /// Stop to record here. The program goes on.
    #[arg(long, value_name = "ADDR|SYMBOL", requires = "qemu")]
    pub stop: Option<String>,

    /// Record processes that the program forks, too: each into a folder pidPID in the folder --output, and to a file FILE.PID beside --log.
    #[arg(long, requires = "qemu")]
    pub follow_forks: bool,

    /// QEMU itself. If not given: qemu-aarch64, qemu-arm or qemu-riscv64 in PATH.
    #[arg(long, value_name = "FILE", requires = "qemu")]
    pub qemu_path: Option<PathBuf>,

    /// An option for QEMU, such as -cpu, or its value (repeat for more).
    #[arg(long = "qemu-option", value_name = "TEXT", requires = "qemu", allow_hyphen_values = true)]
    pub qemu_options: Vec<OsString>,
}

/// What is recorded of accesses to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Data {
    /// Nothing.
    None,
    /// Which instruction, where, how many bytes.
    Addresses,
    /// Also what was read or written (QEMU 9.2 and later).
    Values,
}

/// Runs the program under QEMU.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let args = &opts.qemu;
    let Some(named) = &opts.program else {
        return Err(Error::Message("name a program to run".into()));
    };
    if opts.output.is_none() {
        let given = [
            ("--protocol", opts.protocol.is_some()),
            ("--option", !opts.options.is_empty()),
            ("--when", opts.control.is_given()),
            ("--port", opts.port.asked().is_some()),
        ];
        if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
            return Err(Error::Message(format!("{option}: say where the capture goes, with -o DIR")));
        }
    }
    let data = args.data.map(|data| match data {
        Data::None => LogData::Nothing,
        Data::Addresses => LogData::Addresses,
        Data::Values => LogData::Values,
    });
    if opts.output.is_none() && opts.log.is_none() && data.is_some_and(|data| data != LogData::Nothing) {
        return Err(Error::Message("--data: say where it goes, with -o DIR or --log FILE".into()));
    }
    let options = QemuOptions {
        program: named.clone(),
        arguments: opts.arguments.clone(),
        environment: opts.linux.environment.clone(),
        sysroot: args.sysroot.clone(),
        qemu: args.qemu_path.clone(),
        qemu_options: args.qemu_options.clone(),
        data,
        start: args.start.clone(),
        stop: args.stop.clone(),
        follows_forks: args.follow_forks,
        limit: Some(opts.max_instructions).filter(|limit| *limit != u64::MAX),
        has_terminal: stdin().is_terminal() || stderr().is_terminal(),
        log: opts.log.clone(),
        capture: opts.capture()?,
    };
    let recorder = remarked(|remarks| Recorder::new(options, remarks))?;
    let interrupter = recorder.interrupter();
    // Without it, Ctrl-C ends everything the first time.
    let _ = ctrlc::set_handler(move || interrupter.interrupt());
    let mut progress = Progress::new();
    let recording = recorder.run(&mut |counts| progress.show(counts));
    progress.finish();
    Summary::new(recording?).end(opts)
}

/// A line that tells of it.
struct Progress {
    bar: Option<ProgressBar>,
    start: Instant,
    /// When the speed was looked at last, how many instructions there were, and what it was.
    last: (Instant, u64, f64),
}

impl Progress {
    fn new() -> Self {
        let start = Instant::now();
        Self { bar: None, start, last: (start, 0, 0.0) }
    }

    /// Writes the line, if a person watches and it takes a while.
    fn show(&mut self, counts: &Counts) {
        if self.start.elapsed() < Duration::from_secs(1) || !stderr().is_terminal() {
            return;
        }
        let bar = self.bar.get_or_insert_with(progress::spinner);
        let instructions = counts.instructions.load(Ordering::Relaxed);
        // Chunks may take longer than from one line to the next.
        let (then, before, _) = self.last;
        let seconds = then.elapsed().as_secs_f64();
        if seconds >= 1.0 {
            let mips = instructions.saturating_sub(before) as f64 / seconds / 1e6;
            self.last = (Instant::now(), instructions, mips);
        }
        let mips = self.last.2;
        let threads = counts.threads.load(Ordering::Relaxed);
        let bytes = counts.bytes.load(Ordering::Relaxed);
        bar.set_message(line(instructions, mips, threads, bytes));
        bar.tick();
    }

    /// Takes the line away.
    fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

fn line(instructions: u64, mips: f64, threads: u64, bytes: u64) -> String {
    let millions = instructions / 1_000_000;
    let plural = if threads == 1 { "" } else { "s" };
    let mib = bytes as f64 / f64::from(1 << 20);
    format!("{millions} M instructions, {mips:.0} MIPS, {threads} thread{plural}, {mib:.1} MiB of trace")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_fits_80_columns() {
        let line = line(999_999_000_000, 9999.0, 9999, 1 << 40);
        // With a spinner, and days.
        assert!(line.len() + "x 99d ".len() <= 80, "{line}");
    }
}
