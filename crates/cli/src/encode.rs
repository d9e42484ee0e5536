//! `tracewright encode`: from a log of what was executed to a trace.

use std::path::{Path, PathBuf};

use clap::Args;
use tracewright_core::{Isa, MemorySpace};
use tracewright_etrace::ingress::ITypeWidth;
use tracewright_etrace::ingress::csv::{Problem, Reader, Retirement};
use tracewright_image::Image;
use tracewright_input::file::open_plain;
use tracewright_input::{ImageFile, map_file};
use tracewright_isa::riscv::{IType, Xlen};

use crate::control::{ControlArgs, Qualified};
use crate::etm;
use crate::etrace::{DeltaArgs, DeltaSettings, DeltaTraced, Folder, Settings, Traced};
use crate::log::{Log, bits};
use crate::output::{Error, Form, Outcome, report, write};
use crate::port::{PortArgs, Report};
use crate::record::{Code, Pair, Watch, grouped, traced_lines};
use crate::retirement::{self, Asked};

/// Make a trace of what was executed, from a log.
///
/// Logs are tracewright's own (record --log), that of its plugin for QEMU (all threads; of Arm programs the trace is ETMv4), Spike's (-l, --log-commits), CVA6's, QEMU's (-d exec,nochain -singlestep; with --image),
/// retirements as CSV, and encoder inputs as CSV (itype_0,...), as the reference flow for E-Trace has them. The capture holds the
/// programs given with --image, and code that only the log tells. If a log of the plugin has accesses to memory (record --qemu --data),
/// E-Trace has data trace of them.
#[derive(Args)]
#[command(after_help = "\
Exit status: 0 good; 1 the log had errors (they are printed; what came before them is encoded); 2 bad usage, or nothing could be read.

Examples:
  tracewright record --log run.log programs/bin/sort.elf
  tracewright encode run.log --image programs/bin/sort.elf -o run
  tracewright encode run.log --image programs/bin/sort.elf -o run \\
      --when 'start at main; stop at exit'
  tracewright encode spike.log -o run --option branch_prediction=off
  tracewright encode run.log -o run --port 1/2 --summary port.json
  tracewright encode cva6.log -o run --delta
  tracewright encode x.log -o run --option help")]
pub struct Opts {
    /// The log.
    log: PathBuf,

    /// The folder that the capture goes to, which is made.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// A program file that ran, ELF or raw, and the address it was loaded at, in hexadecimal (repeat for more).
    #[arg(long = "image", value_name = "FILE[@ADDR]")]
    images: Vec<ImageFile>,

    /// A parameter or an option of the encoder, by its name in the specification (repeat for more; `--option help` lists all).
    #[arg(long = "option", value_name = "NAME=VALUE")]
    options: Vec<String>,

    /// The log is of an RV32 program (tracewright's own logs and ELF files given with --image say so themselves).
    #[arg(long)]
    rv32: bool,

    #[command(flatten)]
    delta: DeltaArgs,

    /// Only this thread, of a log of tracewright's plugin for QEMU; otherwise all of them, each a source of its own.
    #[arg(long, value_name = "N")]
    thread: Option<u32>,

    /// Write what it came to to this file, as a JSON object.
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,

    /// Say nothing at the end if all went well.
    #[arg(long, short)]
    quiet: bool,

    #[command(flatten)]
    control: ControlArgs,

    #[command(flatten)]
    port: PortArgs,
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    if opts.options.iter().any(|option| option == "help") {
        let help = format!("{}\n{}", Settings::help(), etm::Settings::help());
        write("-".as_ref(), Form::Text, help.as_bytes(), false)?;
        return Ok(Outcome::Good);
    }
    if let Some(help) = opts.delta.help(Some(&opts.log)) {
        write("-".as_ref(), Form::Text, help.as_bytes(), false)?;
        return Ok(Outcome::Good);
    }
    let Some(dir) = &opts.output else {
        return Err(Error::Message("say where the capture goes, with -o DIR".into()));
    };
    if retirement::is_log(&opts.log) {
        if opts.delta.is_given() {
            let path = opts.log.display();
            return Err(Error::Message(format!(
                "{path}: --delta: QEMU's log does not tell in which cycles instructions retire"
            )));
        }
        let (log, options) = (opts.log.as_path(), opts.options.as_slice());
        let (port, summary, control) = (opts.port.asked(), opts.summary.as_deref(), opts.control.asked()?);
        let Opts { thread, quiet, .. } = *opts;
        return retirement::encode(&Asked { log, dir, options, port, control, thread, summary, quiet });
    }
    if opts.thread.is_some() {
        let path = opts.log.display();
        return Err(Error::Message(format!("{path}: --thread: the log does not tell threads apart")));
    }
    let (traced, instructions, error) = if !is_encoder_input(&opts.log)? {
        log(opts, dir)?
    } else if opts.control.is_given() {
        let path = opts.log.display();
        return Err(Error::Message(format!("{path}: --when: encoder inputs go to the encoder as they are")));
    } else if opts.delta.is_given() {
        let path = opts.log.display();
        return Err(Error::Message(format!(
            "{path}: --delta: encoder inputs tell the cycle of a block, not of each instruction"
        )));
    } else {
        encoder_input(opts, dir)?
    };
    if let Some(error) = &error {
        report(&format!("{}: {error}", opts.log.display()));
    }
    if let Some(path) = &opts.summary {
        let packets = Some(traced.packets);
        write_summary(
            path,
            instructions,
            traced.bytes,
            packets,
            traced.port.as_ref(),
            traced.delta.as_ref(),
        )?;
    }
    if !opts.quiet {
        let name = opts.log.file_name().unwrap_or_default().to_string_lossy();
        report(&format!("{name}: {} instructions encoded", grouped(instructions)));
        traced_lines(&traced, instructions, Some(dir));
    }
    Ok(Outcome::from_errors((error.is_some() || traced.is_cut()).into()))
}

/// Writes what a trace came to to a file.
pub fn write_summary(
    path: &Path,
    instructions: u64,
    bytes: u64,
    packets: Option<u64>,
    port: Option<&Report>,
    delta: Option<&DeltaTraced>,
) -> Result<(), Error> {
    let object = serde_json::json!({
        "instructions": instructions, "trace_bytes": bytes, "packets": packets, "port": port.map(Report::json),
        "delta": delta.map(DeltaTraced::json),
    });
    write(path, Form::Json, format!("{object}\n").as_bytes(), false)
}

/// What the log came to: trace, instructions, what was wrong with it.
type Encoded = (Traced, u64, Option<String>);

fn log(opts: &Opts, dir: &Path) -> Result<Encoded, Error> {
    let log = Log::open(&opts.log)?;
    log.check_program(!opts.images.is_empty())?;
    let image = image(&opts.images)?;
    let xlen = log.xlen().unwrap_or(if is_rv32(opts) { Xlen::Rv32 } else { Xlen::Rv64 });
    let asked = opts.control.asked()?;
    let plan = asked.as_ref().map(|asked| asked.plan(&image)).transpose()?;
    let delta = opts.delta.of_log(&opts.log, xlen, &image)?;
    let (mut folder, tracer) = Folder::of_hart(dir, &settings(opts, xlen, delta)?, &name(&opts.log))?;
    folder.add_programs(&opts.images)?;
    let sinks = Pair(Watch::new(), Code::default());
    let mut qualified = None;
    let (Pair(mut watch, code), tracer, error) = match (&asked, &plan) {
        (Some(asked), Some(plan)) => {
            let program = self::image(&opts.images)?;
            let tracer = asked.controlled(plan, tracer).with_code(move |pc| bits(&program, pc));
            let (Pair(sinks, tracer), error) = log.read(xlen, &image, Pair(sinks, tracer));
            let of = Qualified::of(&tracer);
            of.warn(asked);
            qualified = Some(of.qualified);
            (sinks, tracer.inner, error)
        }
        _ => {
            let (Pair(sinks, tracer), error) = log.read(xlen, &image, Pair(sinks, tracer));
            (sinks, tracer, error)
        }
    };
    watch.finish();
    let all = || watch.blocks.iter().map(|(block, count)| u64::from(block.count) * count).sum();
    let instructions = qualified.unwrap_or_else(all);
    let blocks = watch.blocks.iter().map(|(block, _)| block);
    let traced = folder.finish(vec![tracer], &opts.images, blocks, |at| code.halfword(at))?;
    let traced = traced.first().copied().unwrap_or_default();
    Ok((traced, instructions, error))
}

/// Encoder inputs go to the encoder as they are.
fn encoder_input(opts: &Opts, dir: &Path) -> Result<Encoded, Error> {
    let text = map_file(&opts.log)?;
    let text = text.as_slice();
    let xlen = if is_rv32(opts) { Xlen::Rv32 } else { Xlen::Rv64 };
    let InputForm { retirement, itype_width } = form(text);
    let wrong = |error| Error::Message(format!("{}: {error}", opts.log.display()));
    let reader = Reader::new(text, retirement).map_err(wrong)?;
    let mut settings = Settings::new(isa(xlen));
    settings.itype_width = itype_width;
    if !has_column(text, b"sijump_0") {
        // Nobody says which jumps are inferable: they are told, so a reader must not infer them.
        settings.source.config.options.sijump = false;
        if opts
            .options
            .iter()
            .any(|option| matches!(option.as_str(), "sijump=on" | "sijump=true" | "sijump=1"))
        {
            return Err(Error::Message("--option sijump: the log has no column sijump_0".into()));
        }
    }
    let settings = settings.with(&opts.options)?.with_port(opts.port.asked())?;
    settings.refuse_data()?;
    let (mut folder, mut tracer) = Folder::of_hart(dir, &settings, &name(&opts.log))?;
    folder.add_programs(&opts.images)?;
    let (mut instructions, mut error) = (0, None);
    for entry in reader {
        match entry {
            Ok(entry) => {
                // Of a block it is not known how many instructions it has: its half-words are counted.
                instructions += match retirement {
                    Retirement::Instruction => u64::from(entry.iretire > 0),
                    Retirement::Block => entry.iretire.into(),
                };
                tracer.entry(&entry);
            }
            // What follows would not follow.
            Err(found) => {
                error = Some(found.to_string());
                break;
            }
        }
    }
    if opts.images.is_empty() {
        report("the capture holds no program: decode will need it (--image FILE[@ADDR])");
    }
    let traced = folder.finish(vec![tracer], &opts.images, std::iter::empty(), |_| None)?;
    let traced = traced.first().copied().unwrap_or_default();
    Ok((traced, instructions, error))
}

/// What encoder inputs leave to be found out.
struct InputForm {
    retirement: Retirement,
    itype_width: ITypeWidth,
}

/// `iretire` counts instructions, unless a line has more than one. A type that only three bits have tells how many they are.
fn form(text: &[u8]) -> InputForm {
    let mut form = InputForm { retirement: Retirement::Instruction, itype_width: ITypeWidth::Four };
    let Ok(reader) = Reader::new(text, Retirement::Instruction) else { return form };
    for entry in reader {
        match entry {
            Ok(entry) if entry.itype == IType::UninferableJump3 => form.itype_width = ITypeWidth::Three,
            Err(error) if matches!(&error.problem, Problem::Value { column, .. } if column == "iretire") => {
                form.retirement = Retirement::Block;
            }
            _ => {}
        }
    }
    form
}

/// Whether a file begins as encoder inputs do.
fn is_encoder_input(path: &Path) -> Result<bool, Error> {
    use std::io::Read;
    let on = |error: std::io::Error| Error::Message(format!("{}: {error}", path.display()));
    let mut start = Vec::new();
    open_plain(path).map_err(on)?.take(4096).read_to_end(&mut start).map_err(on)?;
    Ok(has_column(&start, b"itype_0") && has_column(&start, b"iaddr_0"))
}

/// Whether the first line has this name.
fn has_column(text: &[u8], name: &[u8]) -> bool {
    let header = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    header.split(|&byte| byte == b',').any(|column| column.trim_ascii() == name)
}

fn settings(opts: &Opts, xlen: Xlen, delta: Option<DeltaSettings>) -> Result<Settings, Error> {
    let settings = Settings::new(isa(xlen)).with_delta(delta).with(&opts.options)?;
    let settings = settings.with_port(opts.port.asked())?;
    settings.refuse_data()?;
    Ok(settings)
}

fn isa(xlen: Xlen) -> Isa {
    if xlen == Xlen::Rv32 { Isa::Rv32 } else { Isa::Rv64 }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Whether somebody says that it is RV32.
fn is_rv32(opts: &Opts) -> bool {
    let is_rv32 = |file: &ImageFile| {
        map_file(&file.path).is_ok_and(|bytes| bytes.as_slice().starts_with(b"\x7fELF\x01"))
    };
    opts.rv32 || opts.images.iter().any(is_rv32)
}

/// The program, for logs that tell only addresses.
fn image(files: &[ImageFile]) -> Result<Image, Error> {
    let mut builder = Image::builder();
    for file in files {
        let bytes = map_file(&file.path)?;
        let added = match (bytes.as_slice().starts_with(b"\x7fELF"), file.at) {
            (true, at) => builder.elf("", bytes, at, MemorySpace::ANY),
            (false, Some(at)) => builder.raw("", bytes, at, MemorySpace::ANY),
            (false, None) => {
                let path = file.path.display();
                let message = format!("{path}: not an ELF file: say where its first byte was (FILE@ADDRESS)");
                return Err(Error::Message(message));
            }
        };
        added.map_err(|error| Error::Message(format!("{}: {}", file.path.display(), error.reason)))?;
    }
    Ok(builder.build())
}
