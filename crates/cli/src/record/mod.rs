//! `tracewright record`: runs a program and records what it executes.

mod machine;
mod pair;
mod places;
mod summary;
mod watch;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueEnum};
use tracewright_hart::log::own::Writer;
use tracewright_hart::timing::{Config, Model, Stats, Timed};
use tracewright_hart::{Hart, Machine, Sink, Stop};
use tracewright_isa::riscv::Xlen;

use self::machine::{Kind, Loaded};
use self::pair::Pair;
use self::summary::Summary;
use self::watch::Watch;
use crate::output::{Error, Outcome, report};

/// Run a RISC-V program and record every instruction it executes.
///
/// No hardware is needed: the machine is inside. Programs for Linux (RV64, static, or dynamic with --root) see files, arguments and
/// environment; programs without an operating system get a machine with memory at 0x80000000, a timer, a serial port and a
/// host (HTIF, semihosting). What was executed goes to --log; what it came to is said at the end, on standard error.
#[derive(Args)]
#[command(after_help = "\
Exit status: the program's own, if it ran to its end; 1 if it did not; 2 bad usage.

Examples:
  tracewright record programs/bin/sort.elf
  tracewright record --log sort.log programs/bin/sort.elf -- 1000
  tracewright record --root sysroot usr/bin/cjpeg -- -outfile out.jpg in.ppm
  tracewright record --timing cva6_like programs/bin/tasks.elf")]
pub struct Opts {
    /// The program: an ELF file. With --root, a path there.
    program: PathBuf,

    /// Its arguments.
    #[arg(last = true)]
    arguments: Vec<std::ffi::OsString>,

    /// Write what is executed to this file, as `tracewright` reads it.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,

    /// What the log holds of each instruction.
    #[arg(long, value_enum, default_value_t = Details::Blocks, requires = "log")]
    details: Details,

    /// Give each instruction its cycle by a model of a core: a file of settings, or one of the models rocket_like, cva6_like, dual_issue, tiny.
    /// `--timing print` prints all settings.
    #[arg(long, value_name = "FILE|MODEL")]
    timing: Option<String>,

    /// Write what it came to to this file, as a JSON object.
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,

    /// Say nothing at the end if all went well.
    #[arg(long, short)]
    quiet: bool,

    /// What the program runs on. If not given: bare for programs that talk to a host by `tohost` or are loaded at 0x80000000 or
    /// above, and for RV32; else linux.
    #[arg(long, value_enum)]
    machine: Option<Kind>,

    /// Stop after so many instructions.
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    max_instructions: u64,

    /// The most memory the program may touch, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 4096)]
    memory: usize,

    #[command(flatten)]
    linux: machine::LinuxArgs,

    #[command(flatten)]
    bare: machine::BareArgs,
}

/// What a log holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Details {
    /// Where execution went.
    Blocks,
    /// Also each instruction's bits, and each memory access: address, size and value.
    All,
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    if opts.timing.as_deref() == Some("print") {
        let mut out = crate::output::stdout();
        out.write_all(Config::default().to_text().as_bytes())?;
        out.flush()?;
        return Ok(Outcome::Good);
    }
    let timing = opts.timing.as_deref().map(timing).transpose()?;
    match machine::load(opts)? {
        Loaded::Linux(hart) => {
            let mut hart = *hart;
            let ran = record(opts, timing, &mut hart)?;
            for warning in hart.machine.warnings() {
                report(warning);
            }
            let places = places::linux(hart.machine.mapped());
            ran.end(opts, &mut hart, &places)
        }
        Loaded::Bare(hart) => {
            let mut hart = *hart;
            let ran = record(opts, timing, &mut hart)?;
            let places = places::file(&opts.program);
            ran.end(opts, &mut hart, &places)
        }
    }
}

/// The model with this name, or in this file.
fn timing(name: &str) -> Result<Config, Error> {
    if let Some(config) = Config::preset(name) {
        return Ok(config);
    }
    let text = std::fs::read_to_string(name).map_err(|error| {
        Error::Message(format!(
            "--timing {name}: neither a model ({}) nor a file that can be read: {error}",
            Config::preset_names().collect::<Vec<_>>().join(", ")
        ))
    })?;
    Config::parse(&text).map_err(|error| Error::Message(format!("{name}: {error}")))
}

/// What was recorded.
struct Ran {
    stop: Stop,
    watch: Watch,
    seconds: f64,
    timing: Option<Stats>,
    log_bytes: Option<u64>,
}

fn record<M: Machine>(opts: &Opts, timing: Option<Config>, hart: &mut Hart<M>) -> Result<Ran, Error> {
    let Some(path) = &opts.log else { return timed(opts, timing, hart, ()).map(|(ran, ())| ran) };
    let file = File::create(path).map_err(|error| on(path, &error))?;
    let xlen = if hart.core.is_rv32 { Xlen::Rv32 } else { Xlen::Rv64 };
    let (mut ran, file) = match opts.details {
        Details::Blocks => {
            let writer = Writer::<_, false, false>::new(file, xlen).map_err(|error| on(path, &error))?;
            let (ran, writer) = timed(opts, timing, hart, writer)?;
            (ran, writer.finish())
        }
        Details::All => {
            let writer = Writer::<_, true, true>::new(file, xlen).map_err(|error| on(path, &error))?;
            let (ran, writer) = timed(opts, timing, hart, writer)?;
            (ran, writer.finish())
        }
    };
    let metadata = file.and_then(|file| file.metadata());
    ran.log_bytes = Some(metadata.map_err(|error| on(path, &error))?.len());
    Ok(ran)
}

fn timed<M: Machine, S: Sink>(
    opts: &Opts,
    timing: Option<Config>,
    hart: &mut Hart<M>,
    inner: S,
) -> Result<(Ran, S), Error> {
    let watch = Watch::new();
    let start = Instant::now();
    let (stop, pair, timing) = match timing {
        None => {
            let mut pair = Pair(watch, inner);
            (hart.run(opts.max_instructions, &mut pair), pair, None)
        }
        Some(config) => {
            let model = Model::new(&config).map_err(|error| Error::Message(error.to_string()))?;
            let mut timed = Timed::new(model, Pair(watch, inner));
            let stop = hart.run(opts.max_instructions, &mut timed);
            (stop, timed.inner, Some(timed.model.stats().clone()))
        }
    };
    let Pair(mut watch, inner) = pair;
    watch.finish();
    let seconds = start.elapsed().as_secs_f64();
    Ok((Ran { stop, watch, seconds, timing, log_bytes: None }, inner))
}

fn on(path: &Path, error: &std::io::Error) -> Error {
    Error::Message(format!("{}: {error}", path.display()))
}

impl Ran {
    /// Says what it came to.
    fn end<M>(self, opts: &Opts, hart: &mut Hart<M>, places: &places::Places) -> Result<Outcome, Error> {
        let summary = Summary::new(&self, hart);
        if let Some(path) = &opts.summary {
            std::fs::write(path, summary.json(&self)).map_err(|error| on(path, &error))?;
        }
        let failed = match &self.stop {
            Stop::Exit { .. } => None,
            Stop::Limit => Some(format!("stopped after {} instructions (--max-instructions)", hart.core.instret)),
            Stop::Fault(why) => Some(why.clone()),
        };
        if let Some(why) = &failed {
            report(&format!("{}: {why}", opts.program.display()));
            places.report(hart.core.pc, &self.watch);
        }
        if !opts.quiet || failed.is_some() {
            summary.report(&self, opts);
        }
        Ok(match self.stop {
            Stop::Exit { status } => Outcome::Status(status as u8),
            _ => Outcome::HadErrors,
        })
    }
}
