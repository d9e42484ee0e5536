//! `tracewright record`: runs a program and records what it executes.

mod machine;
mod progress;
mod qemu;
mod ring;
mod summary;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use tracewright::words;
use tracewright_capture::qemu::is_foreign;
use tracewright_capture::record::{
    self, Listing, LogOutput, Outputs, ReadOptions, Recording, Ring, RingSize, RunOptions, program_image,
};
use tracewright_capture::{CaptureOptions, Protocols};
use tracewright_hart::Stop;
use tracewright_hart::timing::{Config, Model};
use tracewright_image::Image;
use tracewright_input::ImageFile;
use tracewright_input::file::{first_bytes, read_text};

use self::machine::Kind;
pub use self::progress::Progress;
pub use self::summary::{delta_json, grouped, traced_lines, unknown_line};
use crate::capture::{DeltaArgs, protocols, remarked};
use crate::control::ControlArgs;
use crate::output::{
    Error, ForceArgs, Form, Outcome, Output, is_quiet, refuse_same, refuse_stream, remark, report, write,
};
use crate::port::PortArgs;
use crate::stop;

/// Run a program and record every instruction it executes.
///
/// No hardware is needed. RISC-V programs run on a machine that is inside: programs for Linux (RV64, static, or dynamic with --root) see
/// files, arguments and environment; programs without an operating system get a machine with memory at 0x80000000, a timer, a serial port
/// and a host (HTIF, semihosting). QEMU runs Linux programs for Arm, and with --qemu also those for RISC-V. With --output, the program is
/// traced while it runs, as hardware does it. Totals are printed at the end, on standard error.
#[derive(Args)]
#[command(
    override_usage = "tracewright record [OPTIONS] [PROGRAM] [ARGUMENTS]...",
    after_help = "\
Exit status: the program's own, if it ran to its end (with --qemu: 128 and the signal that killed it); 1 if it did not; 2 bad usage.
Ctrl-C stops the program; what was recorded is kept.

Examples:
  tracewright record -o run programs/bin/sort.elf 1000
  tracewright record --log run.log --details all programs/bin/sort.elf
  tracewright record -o run --root rootfs usr/bin/cjpeg -outfile out.jpg in.ppm
  tracewright record -o run --option branch_prediction=off \\
      --option return_stack_size=3 programs/bin/sort.elf
  tracewright record -o run --when 'priv = u & pc in main..main_end' \\
      programs/bin/tasks.elf
  tracewright record -o run --when isr programs/bin/timer.elf
  tracewright record -o run --when 'start at main for 1000 instructions' \\
      programs/bin/sort.elf
  tracewright record -o run --ring 64K --trigger 'cause = 2' --position 75 \\
      programs/bin/traps.elf
  tracewright record --timing cva6_like programs/bin/tasks.elf
  tracewright record -o run --timing cva6_like --port 1/2 --port-buffer 64B \\
      --when-full drop programs/bin/sort.elf
  tracewright record -o run --timing rocket_like --delta programs/bin/sort.elf
  tracewright record --listing - -q programs/bin/args.elf | less
  tracewright record --from-log spike.log --log ours.log
  tracewright record -o run --symfs /usr/aarch64-linux-gnu arm-app
  tracewright record -o run --start main arm-app one --two
  tracewright record -o run --when 'pc in compute' arm-app
  tracewright record -o run --qemu --data addresses riscv-app"
)]
pub struct Opts {
    /// The program, an ELF file (with --root, a path there), and its arguments: all that comes after the program is the program's.
    #[arg(value_name = "PROGRAM", trailing_var_arg = true, required_unless_present_any = ["from_log", "timing", "options", "delta"])]
    command: Vec<OsString>,

    #[command(flatten)]
    force: ForceArgs,

    /// Where the result is written: a file (- is standard output), or the folder of a capture, which is made.
    ///
    /// The capture has the trace, and all that is needed to read it. A bare machine's host (HTIF) then answers at once: programs do not
    /// wait for it in loops that no trace can count.
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,

    /// The protocol of the trace.
    ///
    /// If not given, it is E-Trace for RISC-V, and ETMv4 for Arm.
    #[arg(long, value_parser = protocols(""))]
    protocol: Option<String>,

    /// A parameter or an option of the encoder, by its name in the specification (repeat for more; `--option help` lists all).
    #[arg(long = "option", value_name = "NAME=VALUE")]
    options: Vec<String>,

    /// Write a log of what is executed to this file: besides the capture, or alone. Every verb that takes a capture, `encode` and
    /// `record --from-log` read it.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,

    /// Write a line for each instruction that is executed: address, bits, text, memory access, and the
    /// register that it wrote (- for standard output).
    ///
    /// A memory access is a size, an address in brackets, an arrow and a value: `8 [80001000] -> 2a` loads, `<-` stores, and `<>` is the old
    /// value of an atomic operation. A register is a name of the calling convention and its new value: `a0=2a`. Addresses and values are
    /// hexadecimal. With --timing, the cycle comes first. With --from-log there are no registers.
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
    #[arg(long, value_name = "LOG", conflicts_with_all = ["timing", "machine"])]
    from_log: Option<PathBuf>,

    /// Only this thread, of a log of tracewright's plugin for QEMU.
    ///
    /// With --from-log; 0 if not given.
    #[arg(long, value_name = "N", requires = "from_log")]
    thread: Option<u32>,

    /// The log is of an RV32 program (tracewright's own logs and ELF files given with --image say so themselves).
    #[arg(long, requires = "from_log")]
    rv32: bool,

    /// Write totals to this file, as a JSON object.
    #[arg(long, value_name = "FILE")]
    summary_json: Option<PathBuf>,

    /// What the program runs on. If not given: bare for programs that talk to a host by `tohost` or are loaded at 0x80000000 or
    /// above, and for RV32; else linux.
    #[arg(long, value_enum)]
    machine: Option<Kind>,

    /// Stop after so many instructions.
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    max_instructions: u64,

    /// The most memory the program may touch, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = MEMORY)]
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

/// MiB of memory that a program may touch.
const MEMORY: usize = 4096;

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
    if let Some(help) = opts.help() {
        write("-".as_ref(), Form::Text, help.as_bytes(), false)?;
        return Ok(Outcome::Good);
    }
    if opts.output.is_none()
        && let Some(option) = opts.of_captures()
    {
        return Err(Error::Message(format!("{option}: say where the capture goes, with -o DIR")));
    }
    if let Some(option) = opts.misplaced() {
        remark(&format!(
            "warning: {option} comes after the program, so it is the program's: put tracewright's options before the program, or -- between \
             the two if that is meant"
        ));
    }
    let outputs = [
        ("-o", opts.output.as_deref()),
        ("--log", opts.log.as_deref()),
        ("--listing", opts.listing.as_deref()),
        ("--summary-json", opts.summary_json.as_deref()),
    ];
    refuse_same(&outputs)?;
    opts.output.as_deref().map_or(Ok(()), |dir| refuse_stream(dir, "-o", "a capture is a folder"))?;
    opts.log.as_deref().map_or(Ok(()), |log| refuse_stream(log, "--log", "a log is a file"))?;
    if opts.is_for_qemu() {
        return qemu::run(opts);
    }
    // What is no program at all is told as such.
    if let Some(option) = opts.qemu.given()
        && opts.program().is_none_or(|program| first_bytes(program).as_ref() == Some(b"\x7fELF"))
    {
        return Err(Error::Message(format!("{option} is for programs that run under QEMU: add --qemu")));
    }
    for path in [&opts.output, &opts.log, &opts.listing, &opts.summary_json].into_iter().flatten() {
        opts.linux.refuse_inside(path)?;
    }
    if let Some(log) = &opts.from_log {
        if let Some(argument) = opts.arguments().first() {
            let argument = argument.to_string_lossy();
            let message = format!("{argument}: with --from-log no program runs, so there are no arguments");
            return Err(Error::Message(message));
        }
        for output in [&opts.log, &opts.listing, &opts.summary_json].into_iter().flatten() {
            refuse_itself(log, output)?;
        }
        return from(opts, log);
    }
    run_here(opts)
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

/// Runs a program on a machine of our own.
fn run_here(opts: &Opts) -> Result<Outcome, Error> {
    let Some(program) = opts.program() else {
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
    let summary = opts.open_summary()?;
    let mut progress = Progress::new();
    let ran = remarked(|remarks| {
        let ran = record::run(loaded, options, &mut |so_far| progress.show(&so_far.into()), remarks);
        progress.finish();
        ran
    })?;
    let ran_until = words::count(ran.counts.instructions, "instruction");
    let failed = match &ran.stop {
        Stop::Exit { .. } => None,
        Stop::Limit => Some(format!("stopped after {ran_until} (--max-instructions)")),
        // Why is told at the end.
        Stop::Asked if ran.failed.is_some() => None,
        Stop::Asked => Some(format!("stopped by a signal (Ctrl-C, SIGTERM or SIGHUP) after {ran_until}")),
        Stop::Fault(why) => Some(why.clone()),
    };
    if let Some(why) = &failed {
        report(&format!("{}: {why}", opts.name()));
        summary::report_end(&ran);
    }
    end(ran, opts, summary, failed.is_none())
}

/// Reads a log instead of running a program.
fn from(opts: &Opts, log: &Path) -> Result<Outcome, Error> {
    let image = opts.program().map_or_else(|| Image::builder().build(), program_image);
    let programs = opts.program().map(|path| ImageFile { path: path.to_owned(), at: None });
    let options = ReadOptions {
        log: log.to_owned(),
        thread: opts.thread,
        is_rv32: opts.rv32,
        programs: programs.into_iter().collect(),
        image: Arc::new(image),
        outputs: opts.outputs()?,
        capture: opts.capture()?,
        stop: stop::flag(),
    };
    let summary = opts.open_summary()?;
    let mut progress = Progress::new();
    let read = remarked(|remarks| {
        let read = record::read(options, &mut |so_far| progress.show(&so_far.into()), remarks);
        progress.finish();
        read
    })?;
    let is_incomplete = read.traced.is_some_and(|traced| traced.is_incomplete());
    let is_good = read.log_error.is_none() && read.unlisted == 0 && !is_incomplete && !read.is_contradicted;
    end(read, opts, summary, is_good)
}

/// Says what it came to.
fn end(mut ran: Recording, opts: &Opts, summary: Option<Output>, good: bool) -> Result<Outcome, Error> {
    if let Some(file) = summary {
        file.write_whole(summary::json(&ran).as_bytes(), false)?;
    }
    if let Some(error) = ran.failed.take().map(Error::from) {
        return Err(match error.is_broken_pipe() {
            true => error,
            false => Error::Message(format!(
                "{error}; stopped after {}: what was recorded until then is kept",
                words::count(ran.counts.instructions, "instruction")
            )),
        });
    }
    if !is_quiet() {
        summary::report_all(&ran, opts);
    }
    Ok(match ran.stop {
        // A process has eight bits for it; what is not zero must not become it.
        Stop::Exit { status } if good && status != 0 && status as u8 == 0 => Outcome::Status(1),
        Stop::Exit { status } if good => Outcome::Status(status as u8),
        _ => Outcome::lacks("stopped", true),
    })
}

/// Returns the first option that is given.
fn first(options: &[(&'static str, bool)]) -> Option<&'static str> {
    options.iter().find(|(_, is_given)| *is_given).map(|(option, _)| *option)
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

impl Opts {
    /// Returns the program, if one is named.
    fn program(&self) -> Option<&Path> {
        self.command.first().map(Path::new)
    }

    /// Returns the program's arguments. A `--` may separate them from the program.
    fn arguments(&self) -> &[OsString] {
        match &self.command[..] {
            [_, first, rest @ ..] if first == "--" => rest,
            [_, rest @ ..] => rest,
            [] => &[],
        }
    }

    /// Returns text that one of the options asks for instead of a recording.
    fn help(&self) -> Option<String> {
        if self.options.iter().any(|option| option == "help") {
            let protocols = Protocols::default();
            let named = self.protocol.as_deref().and_then(|name| protocols.named(name));
            return named.or(protocols.iter().next()).map(|of| (of.help)());
        }
        if self.timing.as_deref() == Some("print") {
            return Some(Config::default().to_text());
        }
        self.delta.help(self.program()).map(str::to_owned)
    }

    /// Returns the first option that is given and is for captures.
    fn of_captures(&self) -> Option<&'static str> {
        first(&[
            ("--protocol", self.protocol.is_some()),
            ("--option", !self.options.is_empty()),
            ("--when", self.control.is_given()),
            ("--ring", self.ring.ring.is_some()),
            ("--delta", self.delta.delta.is_some()),
            ("--port", self.port.asked().is_some()),
        ])
    }

    /// Returns whether an argument of the program looks like `--output`, and nothing is written.
    fn misplaced(&self) -> Option<String> {
        if self.listing_is_all() && self.listing.is_none() && self.arguments().iter().any(|of| of == "-o") {
            return Some("-o".into());
        }
        if std::env::args_os().any(|of| of == "--") {
            return None;
        }
        let ours = Self::augment_args(clap::Command::new("record"));
        let is_ours = |name: &str| ours.get_arguments().any(|of| of.get_long() == Some(name));
        let names = self.arguments().iter().filter_map(|of| of.to_str()?.strip_prefix("--"));
        let mut names = names.map(|name| name.split('=').next().unwrap_or(name));
        names.find(|name| is_ours(name)).map(|name| format!("--{name}"))
    }

    /// Returns whether QEMU runs the program: because that is asked for, or because our own machine cannot.
    fn is_for_qemu(&self) -> bool {
        let is_foreign = |program: &Path| is_foreign(program, self.qemu.symfs.as_deref());
        self.qemu.qemu || self.from_log.is_none() && self.program().is_some_and(is_foreign)
    }

    /// The capture that is asked for, if one is.
    fn capture(&self) -> Result<Option<CaptureOptions>, Error> {
        let Some(dir) = &self.output else { return Ok(None) };
        let ring = match self.ring.ring {
            Some(RingSize(size)) => {
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
            replace: self.force.replace(),
            ..CaptureOptions::new(dir)
        }))
    }

    /// The log that is asked for, if one is.
    fn log(&self) -> Option<LogOutput> {
        let (path, replace) = (self.log.clone()?, self.force.replace());
        Some(LogOutput { path, replace, has_all: self.details == Details::All })
    }

    /// Opens the file for totals, if one is asked for.
    fn open_summary(&self) -> Result<Option<Output>, Error> {
        self.summary_json.as_ref().map(|path| Output::open_whole(path, Form::Json, self.force)).transpose()
    }

    /// The files that are written while it runs.
    fn outputs(&self) -> Result<Outputs, Error> {
        let listing = match &self.listing {
            Some(path) => {
                let to = Box::new(Output::open(path, Form::Text, self.force)?);
                Some(Listing { to, is_all: self.listing_is_all() })
            }
            None => None,
        };
        Ok(Outputs { log: self.log(), listing })
    }

    /// Whether nothing is written but the listing.
    fn listing_is_all(&self) -> bool {
        self.output.is_none() && self.log.is_none() && self.summary_json.is_none()
    }

    /// What is recorded: the name of its file.
    fn name(&self) -> String {
        let path = self.from_log.as_deref().or(self.program());
        path.and_then(|path| path.file_name())
            .map_or(String::new(), |name| name.to_string_lossy().into_owned())
    }
}
