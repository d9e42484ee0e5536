//! `tracewright record`: runs a program and records what it executes.

mod controlled;
mod from;
mod keep;
mod machine;
mod pair;
mod places;
mod qemu;
mod ring;
mod summary;
mod watch;

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueEnum};
use tracewright_core::Isa;
use tracewright_hart::log::own::Writer;
use tracewright_hart::timing::{Config, Model, Stats, Timed};
use tracewright_hart::{Core, Hart, Machine, Sink, Stop};
use tracewright_input::file::read_text;
use tracewright_input::{ImageFile, OutputFolder};
use tracewright_isa::riscv::Xlen;

use self::controlled::Controls;
pub use self::from::Code;
use self::keep::{Keep, Kept};
use self::machine::{Kind, Loaded};
use self::pair::Maybe;
pub use self::pair::Pair;
use self::places::Places;
use self::summary::Summary;
pub use self::summary::{grouped, traced_lines, unknown_line};
pub use self::watch::Watch;
use crate::control::{ControlArgs, Qualified};
use crate::etrace::{DeltaArgs, DeltaSettings, Folder, Settings, TraceFile, Traced, Tracer, WithData};
use crate::output::{Error, FileError, Form, Outcome, report, write};
use crate::port::PortArgs;
use crate::stop::{self, Ending};

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
    #[arg(long, value_enum)]
    protocol: Option<Protocol>,

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

/// What a trace is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Protocol {
    /// RISC-V E-Trace.
    Etrace,
    /// Arm's ETMv4 (with --qemu).
    Etm4,
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
    if opts.options.iter().any(|option| option == "help") {
        let help = match opts.protocol {
            Some(Protocol::Etm4) => crate::etm::Settings::help(),
            Some(Protocol::Etrace) | None => Settings::help(),
        };
        write("-".as_ref(), Form::Text, help.as_bytes(), false)?;
        return Ok(Outcome::Good);
    }
    if let Some(help) = opts.delta.help(opts.program.as_deref()) {
        write("-".as_ref(), Form::Text, help.as_bytes(), false)?;
        return Ok(Outcome::Good);
    }
    if opts.qemu.qemu {
        if opts.delta.is_given() {
            return Err(Error::Message(
                "--delta: QEMU does not tell in which cycles instructions retire: leave out --qemu, and add --timing MODEL"
                    .into(),
            ));
        }
        return qemu::run(&opts);
    }
    if opts.protocol == Some(Protocol::Etm4) {
        return Err(Error::Message(
            "--protocol etm4 is for Arm programs, which run under QEMU: add --qemu".into(),
        ));
    }
    let for_traces = [
        ("--option", !opts.options.is_empty()),
        ("--when", opts.control.is_given()),
        ("--ring", opts.ring.ring.is_some()),
        ("--delta", opts.delta.is_given()),
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

/// Fails if `output` is the file that is read.
fn refuse_itself(input: &Path, output: &Path) -> Result<(), Error> {
    let which = |path| std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    match which(input).is_some_and(|input| which(output) == Some(input)) {
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
        return from::run(opts, log);
    }
    let Some(program) = &opts.program else {
        return Err(Error::Message("name a program to run".into()));
    };
    let timing = opts.timing.as_deref().map(timing).transpose()?;
    let delta = delta_of(opts, timing.as_ref())?;
    match machine::load(opts, program)? {
        Loaded::Linux(mut hart) => {
            let controls = Controls::new(opts, places::linux(&hart.machine.mapped()).image())?;
            let programs = places::programs(&hart.machine.mapped());
            let (folder, tracer) = trace(opts, xlen(&hart.core), delta, &programs)?;
            let (mut ran, tracer) = record(opts, controls.as_ref(), timing, &mut hart, tracer)?;
            ran.end_trace(folder, tracer, &places::programs(&hart.machine.mapped()), &mut hart.core)?;
            for warning in hart.machine.warnings() {
                report(warning);
            }
            let places = places::linux(&hart.machine.mapped());
            ran.end_of_hart(opts, &mut hart.core, &places)
        }
        Loaded::Bare(mut hart) => {
            let controls = Controls::new(opts, places::file(program).image())?;
            let programs = [ImageFile { path: program.clone(), at: None }];
            let (folder, tracer) = trace(opts, xlen(&hart.core), delta, &programs)?;
            let (mut ran, tracer) = record(opts, controls.as_ref(), timing, &mut hart, tracer)?;
            ran.end_trace(folder, tracer, &programs, &mut hart.core)?;
            for warning in hart.machine.warnings() {
                report(&warning);
            }
            ran.end_of_hart(opts, &mut hart.core, &places::file(program))
        }
    }
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

/// Delta trace of a model's cycles, if it is asked for.
fn delta_of(opts: &Opts, timing: Option<&Model>) -> Result<Option<DeltaSettings>, Error> {
    let width = match timing {
        Some(model) => model.config().retire_width.into(),
        None if opts.delta.is_given() => {
            let models: Vec<_> = Config::preset_names().collect();
            return Err(Error::Message(format!(
                "--delta tells cycles, and there are none: add --timing MODEL ({})",
                models.join(", ")
            )));
        }
        None => 1,
    };
    Ok(opts.delta.config(width)?.map(|config| DeltaSettings { config, is_gapless: true }))
}

/// Where a trace of these programs goes, and what makes it, if one is asked for.
fn trace(
    opts: &Opts,
    xlen: Xlen,
    delta: Option<DeltaSettings>,
    programs: &[ImageFile],
) -> Result<(Option<Folder>, Option<Tracer<TraceFile>>), Error> {
    let Some(dir) = &opts.output else { return Ok((None, None)) };
    if opts.protocol != Some(Protocol::Etrace) {
        // That of an earlier recording must not be taken for this one's.
        let _ = std::fs::remove_file(dir.join("summary.json"));
        return Ok((None, None));
    }
    let isa = if xlen == Xlen::Rv32 { Isa::Rv32 } else { Isa::Rv64 };
    let mut settings = Settings::new(isa);
    if let Some(resync) = opts.ring.resync(delta.is_some()) {
        settings.resync = resync;
    }
    settings.ring = opts.ring.ring;
    let settings = settings.with_delta(delta).with(&opts.options)?.with_port(opts.port.asked())?;
    if opts.from.is_some() {
        settings.refuse_data()?;
    }
    let (mut folder, tracer) = Folder::of_hart(dir, &settings, &opts.name())?;
    folder.add_programs(programs)?;
    Ok((Some(folder), Some(tracer)))
}

/// What was recorded.
struct Ran {
    stop: Stop,
    watch: Watch,
    seconds: f64,
    timing: Option<Stats>,
    kept: Kept,
    traced: Option<Traced>,
    /// What of it is traced, if not all.
    qualified: Option<Qualified>,
    instructions: u64,
    /// Where execution was at the end.
    pc: u64,
}

/// Runs the program. What is not asked for does not slow it down.
fn record<M: Machine>(
    opts: &Opts,
    controls: Option<&Controls>,
    timing: Option<Model>,
    hart: &mut Hart<M>,
    tracer: Option<Tracer<TraceFile>>,
) -> Result<(Ran, Option<Tracer<TraceFile>>), Error> {
    let xlen = xlen(&hart.core);
    stop::on_ctrl_c();
    hart.stop_when(stop::flag());
    let tracer = match (controls, tracer) {
        (Some(controls), Some(tracer)) => {
            let (ran, tracer) = controlled::record(opts, controls, timing, hart, tracer)?;
            return Ok((ran, Some(tracer)));
        }
        (_, tracer) => tracer,
    };
    let start = Instant::now();
    let watch = Watch::new();
    let limit = opts.max_instructions;
    let mut stats = None;
    let (stop, mut watch, tracer, kept) = if let Some(model) = timing {
        let mut sink =
            Timed::new(model, Pair(watch, Pair(Keep::new(opts, xlen)?, Maybe(tracer.map(WithData)))));
        let stop = hart.run(limit, &mut sink);
        let Pair(watch, Pair(keep, Maybe(tracer))) = sink.inner;
        let tracer = tracer.map(|WithData(tracer)| tracer);
        stats = Some(*sink.model.stats());
        (stop, watch, tracer, keep.finish(opts))
    } else if opts.listing.is_some()
        || opts.log.is_some() && opts.details == Details::All
        || tracer.as_ref().is_some_and(Tracer::has_data)
    {
        let mut sink = Pair(watch, Pair(Keep::new(opts, xlen)?, Maybe(tracer.map(WithData))));
        let stop = hart.run(limit, &mut sink);
        let Pair(watch, Pair(keep, Maybe(tracer))) = sink;
        let tracer = tracer.map(|WithData(tracer)| tracer);
        (stop, watch, tracer, keep.finish(opts))
    } else if let Some(path) = &opts.log {
        let file = File::create(path).map_err(|error| FileError::wrap(path, error))?;
        let writer = Writer::<_, false, false>::new(Ending(file), xlen);
        let writer = writer.map_err(|error| FileError::wrap(path, error))?;
        let (stop, Pair(watch, writer), tracer) = run_traced(hart, limit, Pair(watch, writer), tracer);
        (stop, watch, tracer, Kept::of_log(opts, Some(writer.finish())))
    } else {
        let (stop, watch, tracer) = run_traced(hart, limit, watch, tracer);
        (stop, watch, tracer, Kept::of_log(opts, None))
    };
    watch.finish();
    let (instructions, pc) = (hart.core.instret, hart.core.pc);
    let seconds = start.elapsed().as_secs_f64();
    let (traced, qualified) = (None, None);
    let ran = Ran { stop, watch, seconds, timing: stats, kept, traced, qualified, instructions, pc };
    Ok((ran, tracer))
}

/// Runs the program, with a tracer if there is one.
fn run_traced<M: Machine, S: Sink>(
    hart: &mut Hart<M>,
    limit: u64,
    mut sink: S,
    tracer: Option<Tracer<TraceFile>>,
) -> (Stop, S, Option<Tracer<TraceFile>>) {
    match tracer {
        None => (hart.run(limit, &mut sink), sink, None),
        Some(tracer) => {
            let mut both = Pair(sink, tracer);
            let stop = hart.run(limit, &mut both);
            (stop, both.0, Some(both.1))
        }
    }
}

fn xlen(core: &Core) -> Xlen {
    if core.is_rv32 { Xlen::Rv32 } else { Xlen::Rv64 }
}

fn on(path: &Path, error: &std::io::Error) -> Error {
    Error::Message(format!("{}: {error}", path.display()))
}

impl Ran {
    /// Ends the trace, if there is one.
    fn end_trace(
        &mut self,
        folder: Option<Folder>,
        tracer: Option<Tracer<TraceFile>>,
        programs: &[ImageFile],
        core: &mut Core,
    ) -> Result<(), Error> {
        let (Some(folder), Some(tracer)) = (folder, tracer) else { return Ok(()) };
        let blocks = self.watch.blocks.iter().map(|(block, _)| block);
        self.traced = folder.finish(vec![tracer], programs, blocks, |at| core.memory.peek::<2>(at))?.pop();
        Ok(())
    }

    /// What was executed is still in memory.
    fn end_of_hart(self, opts: &Opts, core: &mut Core, places: &Places) -> Result<Outcome, Error> {
        let failed = match &self.stop {
            Stop::Exit { .. } => None,
            Stop::Limit => {
                Some(format!("stopped after {} instructions (--max-instructions)", self.instructions))
            }
            // Why is told at the end.
            Stop::Asked if self.kept.failed.is_some() => None,
            Stop::Asked => {
                Some(format!("stopped by a signal (Ctrl-C) after {} instructions", self.instructions))
            }
            Stop::Fault(why) => Some(why.clone()),
        };
        if let Some(why) = &failed {
            report(&format!("{}: {why}", opts.name()));
            places.report(self.pc, &self.watch);
        }
        let xlen = xlen(core);
        self.end(opts, xlen, failed.is_none(), |pc| {
            let low = u16::from_le_bytes(core.memory.peek::<2>(pc)?);
            let high = core.memory.peek::<2>(pc.wrapping_add(2)).map_or(0, u16::from_le_bytes);
            Some(u32::from(high) << 16 | u32::from(low))
        })
    }

    /// Says what it came to. `code` tells the bits at an address.
    fn end(
        mut self,
        opts: &Opts,
        xlen: Xlen,
        good: bool,
        code: impl FnMut(u64) -> Option<u32>,
    ) -> Result<Outcome, Error> {
        let summary = Summary::new(&self, xlen, code);
        if let Some(path) = &opts.summary {
            write(path, Form::Json, summary.json(&self).as_bytes(), false)?;
        }
        if let Some(error) = self.kept.failed.take() {
            return Err(match error.is_broken_pipe() {
                true => error,
                false => Error::Message(format!(
                    "{error}; stopped after {} instructions: what was recorded until then is kept",
                    self.instructions
                )),
            });
        }
        if !opts.quiet {
            summary.report(&self, opts);
        }
        Ok(match self.stop {
            // A process has eight bits for it; what is not zero must not become it.
            Stop::Exit { status } if good && status != 0 && status as u8 == 0 => Outcome::Status(1),
            Stop::Exit { status } if good => Outcome::Status(status as u8),
            _ => Outcome::HadErrors,
        })
    }
}

impl Opts {
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
