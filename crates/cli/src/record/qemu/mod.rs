//! `record --qemu`: any Linux program for Arm or RISC-V, run by QEMU, traced while it runs.

mod summary;

use std::ffi::OsString;
use std::io::{IsTerminal, stderr, stdin};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tracewright_capture::etrace::LogData;
use tracewright_capture::qemu::{QemuOptions, Recorder};

use self::summary::Summary;
use super::{Details, MEMORY, Opts, Progress, first};
use crate::capture::remarked;
use crate::output::{Error, Outcome, is_quiet, report};

/// Of programs that QEMU runs.
#[derive(Args)]
#[command(next_help_heading = "Programs under QEMU")]
pub struct QemuArgs {
    /// Let QEMU run the program, with its libraries, threads and signals: it does so anyway with programs for aarch64 and arm. A capture has a
    /// source for each thread. The program sees your files and environment, and may change them.
    #[arg(long)]
    pub qemu: bool,

    /// A copy of the traced machine's files.
    ///
    /// The program's libraries are there: it is a folder with lib, usr and so on. The program itself may be there, too.
    #[arg(long, value_name = "FOLDER")]
    pub symfs: Option<PathBuf>,

    /// What is recorded of accesses to memory, in the --log, and as data trace in E-Trace captures. (ETMv4 of Arm's application processors
    /// has no data trace.)
    #[arg(long, value_enum)]
    pub data: Option<Data>,

    /// Begin to record here: an address (0x...), or a symbol of the program or its libraries.
    #[arg(long, value_name = "ADDR|SYMBOL")]
    pub start: Option<String>,

    /// Stop to record here. The program goes on.
    #[arg(long, value_name = "ADDR|SYMBOL")]
    pub stop: Option<String>,

    /// Record processes that the program forks, too: each into a folder pidPID in the folder --output, and to a file FILE.PID beside --log.
    #[arg(long)]
    pub follow_forks: bool,

    /// QEMU itself. If not given: qemu-aarch64, qemu-arm or qemu-riscv64 in PATH.
    #[arg(long, value_name = "FILE")]
    pub qemu_path: Option<PathBuf>,

    /// An option for QEMU, such as -cpu, or its value (repeat for more).
    #[arg(long = "qemu-option", value_name = "TEXT", allow_hyphen_values = true)]
    pub qemu_options: Vec<OsString>,
}

impl QemuArgs {
    /// Returns the first option that is given, besides `--qemu`.
    pub fn given(&self) -> Option<&'static str> {
        first(&[
            ("--symfs", self.symfs.is_some()),
            ("--data", self.data.is_some()),
            ("--start", self.start.is_some()),
            ("--stop", self.stop.is_some()),
            ("--follow-forks", self.follow_forks),
            ("--qemu-path", self.qemu_path.is_some()),
            ("--qemu-option", !self.qemu_options.is_empty()),
        ])
    }
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
    let Some(named) = opts.program() else {
        return Err(Error::Message("name a program to run".into()));
    };
    if let Some(option) = not_for_qemu(opts) {
        return Err(Error::Message(format!("{option} does not work with programs that run under QEMU")));
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
        program: named.to_owned(),
        arguments: opts.arguments().to_vec(),
        environment: opts.linux.environment.clone(),
        symfs: args.symfs.clone(),
        qemu: args.qemu_path.clone(),
        qemu_options: args.qemu_options.clone(),
        data,
        start: args.start.clone(),
        stop: args.stop.clone(),
        follows_forks: args.follow_forks,
        limit: Some(opts.max_instructions).filter(|limit| *limit != u64::MAX),
        has_terminal: stdin().is_terminal() || stderr().is_terminal(),
        log: opts.log(),
        capture: opts.capture()?,
    };
    let summary = opts.open_summary()?;
    let recorder = remarked(|remarks| Recorder::new(options, remarks))?;
    if !args.qemu && !is_quiet() {
        report(&format!("{}: a program for {}: QEMU runs it", opts.name(), recorder.target().name()));
    }
    let interrupter = recorder.interrupter();
    // Without it, Ctrl-C ends everything the first time.
    let _ = ctrlc::set_handler(move || interrupter.interrupt());
    let mut progress = Progress::new();
    let recording = recorder.run(&mut |counts| progress.show(&counts.into()));
    progress.finish();
    Summary::new(recording?).end(opts, summary)
}

/// Returns the first option that is given and that works on our own machine only.
fn not_for_qemu(opts: &Opts) -> Option<&'static str> {
    let machine = first(&[
        ("--delta", opts.delta.delta.is_some()),
        ("--timing", opts.timing.is_some()),
        ("--listing", opts.listing.is_some()),
        ("--details", opts.details != Details::Blocks),
        ("--from-log", opts.from_log.is_some()),
        ("--machine", opts.machine.is_some()),
        ("--memory", opts.memory != MEMORY),
        ("--ring", opts.ring.ring.is_some()),
    ]);
    machine.or(opts.linux.given()).or(opts.bare.given())
}
