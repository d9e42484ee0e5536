//! `tracewright record`: runs a program and records what it executes.

mod machine;
mod qemu;
mod ring;
mod summary;

use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use tracewright_capture::record::{
    self, Listing, LogOutput, Outputs, ReadOptions, Recording, Ring, RunOptions, program_image,
};
use tracewright_capture::{CaptureOptions, Protocols};
use tracewright_core::Isa;
use tracewright_hart::Stop;
use tracewright_hart::timing::{Config, Model};
use tracewright_image::Image;
use tracewright_input::file::read_text;
use tracewright_input::{ImageFile, OutputFolder};

use self::machine::Kind;
pub use self::summary::{delta_json, grouped, traced_lines, unknown_line};
use crate::capture::{DeltaArgs, protocols, remarked};
use crate::control::ControlArgs;
use crate::output::{Error, Form, Outcome, Output, report, write};
use crate::port::PortArgs;
use crate::{progress, stop};

/// Run a program and record every instruction it executes.
///
/// No hardware is needed. With --qemu, QEMU runs any Linux program for aarch64, arm or riscv64. Without it, the machine is inside, and runs
/// RISC-V programs. Programs for Linux (RV64, static, or dynamic with --root) see files, arguments and
/// environment; programs without an operating system get a machine with memory at 0x80000000, a timer, a serial port and a
/// host (HTIF, semihosting). What was executed goes to --log; with --protocol, a trace of it goes to --output, encoded while the
/// program runs, as hardware does. What it came to is said at the end, on standard error.
#[derive(Args)]
#[command(after_help = "\
Exit status: the program's own, if it ran to its end (with --qemu: 128 and the signal that killed it); 1 if it did not; 2 bad usage.
Ctrl-C stops the program; what was recorded is kept.

Examples:
  tracewright record programs/bin/sort.elf
  tracewright record -o run --details all programs/bin/sort.elf -- 1000
  tracewright record --root sysroot usr/bin/cjpeg -- -outfile out.jpg in.ppm
  tracewright record --protocol etrace -o run programs/bin/sort.elf
  tracewright record --protocol etrace --option branch_prediction=off \\
      --option return_stack_size=3 -o run programs/bin/sort.elf
  tracewright record --protocol etrace -o run \\
      --when 'priv = u & pc in main..main_end' programs/bin/tasks.elf
  tracewright record --protocol etrace -o run --when isr programs/bin/timer.elf
  tracewright record --protocol etrace -o run \\
      --when 'start at main for 1000 instructions' programs/bin/sort.elf
  tracewright record --protocol etrace -o run --ring 64K \\
      --trigger 'cause = 2' --position 75 programs/bin/traps.elf
  tracewright record --timing cva6_like programs/bin/tasks.elf
  tracewright record --protocol etrace --timing cva6_like -o run \\
      --port 1/2 --buffer 64B --when-full drop programs/bin/sort.elf
  tracewright record --protocol etrace --timing rocket_like -o run \\
      --delta programs/bin/sort.elf
  tracewright record --listing - -q programs/bin/args.elf | less
  tracewright record --from spike.log --log ours.log
  tracewright record --qemu --sysroot /usr/aarch64-linux-gnu -o run app
  tracewright record --qemu --start main -o run app -- one two
  tracewright record --qemu --when 'pc in compute' -o run app
  tracewright record --qemu --data addresses -o run riscv-app")]
pub struct Opts {
    /// The program: an ELF file. With --root, a path there.
    #[arg(required_unless_present_any = ["from", "timing", "options", "delta"])]
    program: Option<PathBuf>,

    /// Its arguments.
    #[arg(last = true)]
    arguments: Vec<std::ffi::OsString>,

    /// Write run.log and summary.json, as --log and --summary do, into this folder, which is made. With --protocol: the trace, and
    /// all that is needed to read it (capture.toml, the programs).
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Trace the program, as an encoder beside the hart does, and write a capture to the folder --output. A bare machine's host (HTIF)
    /// then answers at once: programs do not wait for it in loops that no trace can count.
    #[arg(long, value_parser = protocols(" (with --qemu)"))]
    protocol: Option<String>,

    /// A parameter or an option of the encoder, by its name in the specification (repeat for more; `--option help` lists all).
    #[arg(long = "option", value_name = "NAME=VALUE")]
    options: Vec<String>,

    /// Write what is executed to this file, as `record --from` reads it.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,

    /// Write a line for each instruction that is executed: address, bits, text, memory access (- for standard output).
    #[arg(long, value_name = "FILE")]
    listing: Option<PathBuf>,

    /// What the log holds of each instruction.
    #[arg(long, value_enum, default_value_t = Details::Blocks)]
    details: Details,

    /// Give each instruction its cycle by a model of a core: a file of settings, or one of the models rocket_like, cva6_like, dual_issue, tiny.
    /// `--timing print` prints all settings.
    #[arg(long, value_name = "FILE|MODEL")]
    timing: Option<String>,

    /// Do not run anything: take what was executed from a log of tracewright, Spike (-l, --log-commits), CVA6 or QEMU (-d
    /// exec,nochain -singlestep; name the program, too).
    #[arg(long, value_name = "LOG", conflicts_with_all = ["timing", "machine", "arguments"])]
    from: Option<PathBuf>,

    /// With --from, and a log of tracewright's plugin for QEMU: this thread (0 if not given).
    #[arg(long, value_name = "N", requires = "from")]
    thread: Option<u32>,

    /// The log is of an RV32 program (tracewright's own logs say so themselves).
    #[arg(long, requires = "from")]
    rv32: bool,

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
    delta: DeltaArgs,

    #[command(flatten)]
    control: ControlArgs,

    #[command(flatten)]
    ring: ring::RingArgs,

    #[command(flatten)]
    port: PortArgs,

    #[command(flatten)]
    qemu: qemu::QemuArgs,

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
pub fn run(mut opts: Opts) -> Result<Outcome, Error> {
    let protocol = opts.protocol.as_deref().and_then(|name| Protocols::default().named(name));
    if opts.options.iter().any(|option| option == "help") {
        let help = protocol.or(Protocols::default().iter().next()).map_or_else(String::new, |of| (of.help)());
        write("-".as_ref(), Form::Text, help.as_bytes(), false)?;
        return Ok(Outcome::Good);
    }
    if let Some(help) = opts.delta.help(opts.program.as_deref()) {
        write("-".as_ref(), Form::Text, help.as_bytes(), false)?;
        return Ok(Outcome::Good);
    }
    if opts.qemu.qemu {
        if opts.delta.delta.is_some() {
            return Err(Error::Message(
                "--delta: QEMU does not tell in which cycles instructions retire: leave out --qemu, and add --timing MODEL"
                    .into(),
            ));
        }
        return qemu::run(&opts);
    }
    if let Some(name) =
        protocol.filter(|protocol| !(protocol.supports)(Isa::Rv64)).map(|protocol| protocol.name)
    {
        let message = format!("--protocol {name} is for Arm programs, which run under QEMU: add --qemu");
        return Err(Error::Message(message));
    }
    let for_traces = [
        ("--option", !opts.options.is_empty()),
        ("--when", opts.control.is_given()),
        ("--ring", opts.ring.ring.is_some()),
        ("--delta", opts.delta.delta.is_some()),
    ];
    if opts.protocol.is_none()
        && let Some((option, _)) = for_traces.iter().find(|(_, given)| *given)
    {
        return Err(Error::Message(format!("{option} is for traces: name a --protocol, too")));
    }
    if opts.protocol.is_none() && opts.port.asked().is_some() {
        return Err(Error::Message("--port is for traces: name a --protocol, too".into()));
    }
    for path in [&opts.output, &opts.log, &opts.listing, &opts.summary].into_iter().flatten() {
        opts.linux.refuse_inside(path)?;
    }
    if opts.protocol.is_some() {
        if opts.output.is_none() {
            return Err(Error::Message("--protocol: say where the capture goes, with -o DIR".into()));
        }
    } else if let Some(folder) = &opts.output {
        if opts.log.is_some() || opts.summary.is_some() {
            let message = "-o DIR writes run.log and summary.json there: leave out --log and --summary";
            return Err(Error::Message(message.into()));
        }
        let claimed = OutputFolder::claim(folder)?;
        // Files of an earlier recording are replaced when this one begins. Links are not written through.
        for name in ["run.log", "summary.json"] {
            if folder.join(name).is_symlink() {
                claimed.remove(name)?;
            }
        }
        (opts.log, opts.summary) = (Some(folder.join("run.log")), Some(folder.join("summary.json")));
        return run_with(&opts);
    }
    run_with(&opts)
}

/// Whether two names are of one file: also where one is a link to the other.
#[cfg(unix)]
fn is_same(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let which = |path| std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    which(one).is_some_and(|one| which(other) == Some(one))
}

/// Whether two names are of one file: hard links are not seen through.
#[cfg(not(unix))]
fn is_same(one: &Path, other: &Path) -> bool {
    let which = |path| std::fs::canonicalize(path).ok();
    which(one).is_some_and(|one| which(other) == Some(one))
}

/// Fails if `output` is the file that is read.
fn refuse_itself(input: &Path, output: &Path) -> Result<(), Error> {
    match is_same(input, output) {
        true => {
            Err(Error::Message(format!("{}: is the log that is read: write to another", output.display())))
        }
        false => Ok(()),
    }
}

fn run_with(opts: &Opts) -> Result<Outcome, Error> {
    if opts.timing.as_deref() == Some("print") {
        write("-".as_ref(), Form::Text, Config::default().to_text().as_bytes(), false)?;
        return Ok(Outcome::Good);
    }
    if let Some(log) = &opts.from {
        for output in [&opts.log, &opts.listing, &opts.summary].into_iter().flatten() {
            refuse_itself(log, output)?;
        }
        return from(opts, log);
    }
    let Some(program) = &opts.program else {
        return Err(Error::Message("name a program to run".into()));
    };
    let timing = opts.timing.as_deref().map(timing).transpose()?;
    if timing.is_none() && opts.delta.delta.is_some() {
        let models: Vec<_> = Config::preset_names().collect();
        return Err(Error::Message(format!(
            "--delta tells cycles, and there are none: add --timing MODEL ({})",
            models.join(", ")
        )));
    }
    let loaded = machine::load(opts, program)?;
    stop::on_ctrl_c();
    let options = RunOptions {
        limit: opts.max_instructions,
        timing,
        outputs: opts.outputs()?,
        capture: opts.capture()?,
        stop: stop::flag(),
        ..RunOptions::new(program)
    };
    let mut progress = Progress::new();
    let ran = remarked(|remarks| {
        let ran = record::run(loaded, options, &mut |blocks| progress.show(blocks), remarks);
        progress.finish();
        ran
    })?;
    let instructions = ran.counts.instructions;
    let failed = match &ran.stop {
        Stop::Exit { .. } => None,
        Stop::Limit => Some(format!("stopped after {instructions} instructions (--max-instructions)")),
        // Why is told at the end.
        Stop::Asked if ran.failed.is_some() => None,
        Stop::Asked => Some(format!("stopped by a signal (Ctrl-C) after {instructions} instructions")),
        Stop::Fault(why) => Some(why.clone()),
    };
    if let Some(why) = &failed {
        report(&format!("{}: {why}", opts.name()));
        summary::report_end(&ran);
    }
    end(ran, opts, failed.is_none())
}

/// Reads a log instead of running a program.
fn from(opts: &Opts, log: &Path) -> Result<Outcome, Error> {
    let image = opts.program.as_deref().map_or_else(|| Image::builder().build(), program_image);
    let programs = opts.program.iter().map(|path| ImageFile { path: path.clone(), at: None });
    let options = ReadOptions {
        log: log.to_owned(),
        thread: opts.thread,
        is_rv32: opts.rv32,
        programs: programs.collect(),
        image: Arc::new(image),
        outputs: opts.outputs()?,
        capture: opts.capture()?,
        stop: stop::flag(),
    };
    let mut progress = Progress::new();
    let read = remarked(|remarks| {
        let read = record::read(options, &mut |blocks| progress.show(blocks), remarks);
        progress.finish();
        read
    })?;
    let is_cut = read.traced.is_some_and(|traced| traced.is_cut());
    let is_good = read.log_error.is_none() && read.unlisted == 0 && !is_cut;
    end(read, opts, is_good)
}

/// Says what it came to.
fn end(mut ran: Recording, opts: &Opts, good: bool) -> Result<Outcome, Error> {
    if let Some(path) = &opts.summary {
        write(path, Form::Json, summary::json(&ran).as_bytes(), false)?;
    }
    if let Some(error) = ran.failed.take().map(Error::from) {
        return Err(match error.is_broken_pipe() {
            true => error,
            false => Error::Message(format!(
                "{error}; stopped after {} instructions: what was recorded until then is kept",
                ran.counts.instructions
            )),
        });
    }
    if !opts.quiet {
        summary::report_all(&ran, opts);
    }
    Ok(match ran.stop {
        // A process has eight bits for it; what is not zero must not become it.
        Stop::Exit { status } if good && status != 0 && status as u8 == 0 => Outcome::Status(1),
        Stop::Exit { status } if good => Outcome::Status(status as u8),
        _ => Outcome::HadErrors,
    })
}

/// The model with this name, or in this file.
fn timing(name: &str) -> Result<Model, Error> {
    let config = match Config::preset(name) {
        Some(config) => config,
        None => {
            let text = read_text(Path::new(name)).map_err(|error| {
                let names: Vec<_> = Config::preset_names().collect();
                Error::Message(format!(
                    "--timing {name}: neither a model ({}) nor a file that can be read: {error}",
                    names.join(", ")
                ))
            })?;
            Config::parse(&text).map_err(|error| Error::Message(format!("{name}: {error}")))?
        }
    };
    Model::new(&config).map_err(|error| Error::Message(format!("{name}: {error}")))
}

/// Shows a person how far it is, if one watches and it takes a while.
pub struct Progress {
    bar: Option<ProgressBar>,
    start: Instant,
}

impl Progress {
    pub fn new() -> Self {
        Self { bar: None, start: Instant::now() }
    }

    /// Writes the line.
    pub fn show(&mut self, blocks: u64) {
        if self.start.elapsed() < Duration::from_secs(1) || !stderr().is_terminal() {
            return;
        }
        let bar = self.bar.get_or_insert_with(progress::spinner);
        // Adding up all blocks each time would take longer than running them.
        bar.set_message(format!("{} million blocks", blocks >> 20));
        bar.tick();
    }

    /// Takes the line away.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Opts {
    /// The capture that is asked for, if one is.
    fn capture(&self) -> Result<Option<CaptureOptions>, Error> {
        let Some(dir) = &self.output else { return Ok(None) };
        if self.protocol.is_none() && !self.qemu.qemu {
            // That of an earlier recording must not be taken for this one's.
            let _ = std::fs::remove_file(dir.join("summary.json"));
            return Ok(None);
        }
        let ring = match self.ring.ring {
            Some(size) => {
                let trigger = self.ring.trigger.as_deref().map(|text| self.control.trigger(text));
                Some(Ring { size, trigger: trigger.transpose()?, position: self.ring.position })
            }
            None => None,
        };
        Ok(Some(CaptureOptions {
            protocol: self.protocol.clone(),
            options: self.options.clone(),
            port: self.port.asked(),
            control: self.control.asked()?,
            delta: self.delta.delta.clone(),
            ring,
            ..CaptureOptions::new(dir)
        }))
    }

    /// The files that are written while it runs.
    fn outputs(&self) -> Result<Outputs, Error> {
        let log = |path: &PathBuf| LogOutput { path: path.clone(), has_all: self.details == Details::All };
        let listing = match &self.listing {
            Some(path) => {
                let to = Box::new(Output::open(path, Form::Text)?);
                Some(Listing { to, is_all: self.listing_is_all() })
            }
            None => None,
        };
        Ok(Outputs { log: self.log.as_ref().map(log), listing })
    }

    /// Whether nothing is written but the listing.
    fn listing_is_all(&self) -> bool {
        self.output.is_none() && self.log.is_none() && self.summary.is_none()
    }

    /// What is recorded: the name of its file.
    fn name(&self) -> String {
        let path = self.from.as_ref().or(self.program.as_ref());
        path.and_then(|path| path.file_name())
            .map_or(String::new(), |name| name.to_string_lossy().into_owned())
    }
}
