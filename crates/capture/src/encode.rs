//! Encodes retirement logs and encoder inputs. Logs of a hart are encoded by [`record::read`](crate::record::read).

use std::path::Path;

use tracewright_core::control::Plan;
use tracewright_core::{Block, Class, Ended, Flow, Isa, MemorySpace, Role};
use tracewright_etrace::ingress::csv::{Problem, Reader, Retirement};
use tracewright_etrace::ingress::{Entry, ITypeWidth};
use tracewright_flow::check_block;
use tracewright_hart::{Controlled, HartSink};
use tracewright_image::Image;
use tracewright_input::file::start_of;
use tracewright_input::{ImageFile, map_file};
use tracewright_isa::riscv::IType;
use tracewright_qemu::format::{Off, Target};
use tracewright_qemu::read::{self, Damage, Definitions, Log, Thread};

use crate::control::{ControlRequest, Qualified};
use crate::error::LogProblem;
use crate::etrace::{Folder, Settings};
use crate::protocol::{Executed, InputKind, Subject, Traced};
use crate::record::Contradictions;
use crate::retirement::{command, open, source_name, symbols};
use crate::sink::{NoTrace, TraceSink};
use crate::{CaptureOptions, Error, Pair, Remark, StopFlag};

/// Next part of a thread's log. [`run`](Self::run) passes it to a sink.
pub struct ThreadInput<'a> {
    part: Part<'a>,
    /// Counts of what is executed.
    tally: &'a mut Tally,
    /// Trace control, if not everything is traced.
    control: &'a mut Option<Controlled<NoTrace>>,
}

/// A part of a thread's log.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "chunks come while QEMU runs"))]
pub(crate) enum Part<'a> {
    /// The whole log. The last field receives the result.
    Log(&'a mut Log, u32, &'a mut Result<Option<Off>, read::Error>),
    /// A chunk. The last field receives what is wrong with it.
    Chunk(&'a mut Thread, &'a [u8], &'a Definitions, &'a mut Result<(), Damage>),
    /// The end of the log.
    End(&'a mut Thread, &'a Definitions),
}

impl ThreadInput<'_> {
    /// Passes what was executed to `sink`. Must be called exactly once.
    pub fn run<S: TraceSink>(&mut self, sink: &mut S) {
        match self.control.take() {
            None => self.part.give(&mut Pair(&mut *self.tally, sink)),
            Some(control) => {
                let (mut control, nothing) = control.with_inner(sink);
                self.part.give(&mut Pair(&mut *self.tally, &mut control));
                *self.control = Some(control.with_inner(nothing).0);
            }
        }
    }
}

impl Part<'_> {
    fn give<S: HartSink>(&mut self, sink: &mut S) {
        match self {
            Self::Log(log, index, off) => **off = log.read(*index, sink),
            Self::Chunk(thread, bytes, definitions, damage) => {
                **damage = thread.take(bytes, definitions, sink);
            }
            Self::End(thread, definitions) => thread.finish(definitions, sink),
        }
    }
}

/// Counts of what a thread executed, besides instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Blocks.
    pub blocks: u64,
    /// System calls.
    pub calls: u64,
    /// Exceptions that are no system calls.
    pub exceptions: u64,
    /// Signals.
    pub signals: u64,
    is_arm: bool,
}

/// ETMv4's exception number of a system call.
const ARM_CALL: u64 = 2;

impl Tally {
    /// Returns an empty tally for a program of this processor.
    pub fn new(target: Target) -> Self {
        Self { is_arm: target != Target::Riscv64, ..Self::default() }
    }

    /// Adds another tally.
    pub fn add(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.calls += other.calls;
        self.exceptions += other.exceptions;
        self.signals += other.signals;
    }
}

impl HartSink for Tally {
    #[inline]
    fn block(&mut self, _: &Block) {
        self.blocks += 1;
    }

    fn trap(&mut self, trap: &tracewright_hart::Trap) {
        let call = if self.is_arm { ARM_CALL } else { tracewright_hart::cause::ECALL_U };
        if trap.interrupt {
            self.signals += 1;
        } else if trap.cause == call {
            self.calls += 1;
        } else {
            self.exceptions += 1;
        }
    }

    fn lost(&mut self) {
        self.signals += 1;
    }
}

/// A thread of a process while it is traced.
pub(crate) struct Traces {
    control: Option<Controlled<NoTrace>>,
    /// Counts of what it executed.
    pub tally: Tally,
}

impl Traces {
    /// Starts a thread, of which `control` says what is traced.
    pub fn new(index: u32, target: Target, control: Option<(&ControlRequest, &Plan)>) -> Self {
        let control = control.map(|(asked, plan)| asked.controlled(plan, NoTrace).with_thread(index.into()));
        Self { control, tally: Tally::new(target) }
    }

    /// Returns the next part of the thread as input.
    pub fn input<'a>(&'a mut self, part: Part<'a>) -> ThreadInput<'a> {
        ThreadInput { part, tally: &mut self.tally, control: &mut self.control }
    }

    /// Returns how much of it is traced, if not everything is.
    pub fn qualified(&self) -> Option<Qualified> {
        self.control.as_ref().map(Qualified::of)
    }
}

/// Result of encoding the threads of a log.
#[derive(Debug)]
pub struct Encoded {
    /// The threads that were encoded.
    pub threads: Vec<EncodedThread>,
    /// Instructions that ran.
    pub instructions: u64,
    /// Instructions that were encoded.
    pub encoded: u64,
    /// Totals of the trace.
    pub traced: Traced,
    /// Whether the log, or its part for a thread, is damaged.
    pub is_damaged: bool,
}

/// Result of encoding one thread.
#[derive(Clone, Copy, Debug)]
pub struct EncodedThread {
    /// Its index in the log.
    pub index: u32,
    /// Instructions that it executed.
    pub instructions: u64,
    /// Why its recording ended: `Some(None)` if the log was cut off before, `None` if the log is damaged.
    pub off: Option<Option<Off>>,
}

/// Encodes all threads of a retirement log, or one, into a capture.
///
/// # Errors
/// Fails if the log cannot be read or has no such thread, if the options do not fit it, or if the capture cannot be written. Damage
/// later in the log is reported as a remark, and everything before it is encoded.
pub fn retirement_log(
    path: &Path,
    thread: Option<u32>,
    capture: &CaptureOptions,
    remarks: &mut Vec<Remark>,
) -> Result<Encoded, Error> {
    let mut log = open(path)?;
    let wanted = |index: &u32| thread.is_none_or(|wanted| wanted == *index);
    let indices: Vec<_> = log.threads().filter(wanted).collect();
    if indices.is_empty() {
        let problem = thread.map_or(LogProblem::Empty, |thread| LogProblem::NoThread(thread, Vec::new()));
        return Err(Error::log(path, problem));
    }
    let plan = capture.control.as_ref().map(|asked| asked.plan(&symbols(log.definitions().maps()), remarks));
    let plan = plan.transpose()?;
    let control = capture.control.as_ref().zip(plan.as_ref());
    let mut is_damaged = false;
    if let Some(damage) = log.damage() {
        remarks.push(Remark::LogDamaged(path.to_owned(), damage.to_string()));
        is_damaged = true;
    }
    remarks.extend(log.definitions().notes().iter().cloned().map(Remark::Note));
    let (target, input) = (log.header().target, InputKind::Threads(log.header().data));
    let name = command(log.definitions());
    let mut writer =
        capture.create(capture.place(), isa(target), input, None, &name, &StopFlag::default())?;
    let (mut threads, mut instructions, mut qualified) = (Vec::new(), 0, Qualified::default());
    for (number, index) in indices.into_iter().enumerate() {
        let tid = log.definitions().tid(index).unwrap_or_default();
        writer.add_thread(&Subject::Thread { index, tid, maps: &[] }, remarks)?;
        let mut traces = Traces::new(index, target, control);
        let mut off = Ok(None);
        writer.read_thread(number, &mut traces.input(Part::Log(&mut log, index, &mut off)));
        if let Err(error) = &off {
            let what = format!("{}: {error}", source_name(index));
            remarks.push(Remark::LogDamaged(path.to_owned(), what));
            is_damaged = true;
        }
        traces.qualified().iter().for_each(|of| qualified.add(of));
        instructions += log.totals().instructions;
        threads.push(EncodedThread { index, instructions: log.totals().instructions, off: off.ok() });
    }
    let (header, definitions) = (log.header(), log.definitions());
    let traced = writer.finish(Executed::Process { header, definitions }, remarks)?;
    if let Some(asked) = &capture.control {
        qualified.remark(asked, remarks);
    }
    let of_control = control.map(|_| qualified.qualified);
    let encoded = traced.instructions.or(of_control).unwrap_or(instructions);
    Ok(Encoded { threads, instructions, encoded, traced, is_damaged })
}

/// Returns the instruction set that programs of a processor begin in.
pub(crate) fn isa(target: Target) -> Isa {
    match target {
        Target::Aarch64 => Isa::A64,
        Target::Arm => Isa::A32,
        Target::Riscv64 => Isa::Rv64,
    }
}

/// Result of encoding encoder inputs.
#[derive(Debug)]
pub struct EncodedInput {
    /// Instructions; for inputs that have blocks, their half-words.
    pub instructions: u64,
    /// Totals of the trace.
    pub traced: Traced,
    /// What is wrong with the inputs. Everything after that is not encoded.
    pub error: Option<String>,
    /// Set if some of the inputs contradict the program.
    pub is_contradicted: bool,
}

/// Encodes encoder inputs into an E-Trace capture. They go to the encoder as they are.
///
/// # Errors
/// Fails if the inputs cannot be read, if the options do not fit them, or if the capture cannot be written.
pub fn encoder_input(
    path: &Path,
    isa: Isa,
    programs: &[ImageFile],
    capture: &CaptureOptions,
    remarks: &mut Vec<Remark>,
) -> Result<EncodedInput, Error> {
    let text = map_file(path)?;
    let text = text.as_slice();
    let InputForm { retirement, itype_width } = form(text);
    let reader = Reader::new(text, retirement)
        .map_err(|error| Error::log(path, LogProblem::Damaged(error.to_string().into())))?;
    let mut settings = Settings::new(isa);
    settings.itype_width = itype_width;
    if !has_column(text, b"sijump_0") {
        // The inputs do not say which jumps are inferable: all are reported, so a reader must not infer them.
        settings.source.config.options.sijump = false;
        let is_asked = |option: &String| matches!(&option[..], "sijump=on" | "sijump=true" | "sijump=1");
        if capture.options.iter().any(is_asked) {
            return Err(Error::option("sijump: the log has no column sijump_0"));
        }
    }
    let settings = settings.with(&capture.options)?.with_port(capture.port)?;
    settings.refuse_data()?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut folder = Folder::create(capture.place(), &settings, &name, &StopFlag::default())?;
    let mut tracer = folder.source("hart0", "trace", None)?;
    folder.add_programs(programs)?;
    let image = image(programs)?;
    let mut contradictions = Contradictions::default();
    let (mut instructions, mut error, mut is_empty) = (0, None, true);
    for entry in reader {
        match entry {
            Ok(entry) => {
                is_empty = false;
                // The number of instructions of a block is not known: its half-words are counted.
                instructions += match retirement {
                    Retirement::Instruction => u64::from(entry.iretire > 0),
                    Retirement::Block => entry.iretire.into(),
                };
                if let Some(block) = reported(&entry, isa) {
                    contradictions.block(check_block(&image, MemorySpace::ANY, &block), &block);
                }
                tracer.entry(&entry);
            }
            // Later inputs would not continue this one.
            Err(found) => {
                error = Some(found.to_string());
                break;
            }
        }
    }
    if is_empty {
        folder.discard();
        let problem = error.map_or(LogProblem::NoInstructions, |error| LogProblem::Damaged(error.into()));
        return Err(Error::log(path, problem));
    }
    if let Some(program) = programs.first().filter(|_| contradictions.is_wrong_program()) {
        folder.discard();
        let (log, program) = (path.to_owned(), program.path.clone());
        return Err(Error::WrongProgram { log, program, contradictions });
    }
    let is_contradicted = contradictions.first.is_some();
    if is_contradicted {
        remarks.push(Remark::Contradicted(path.to_owned(), contradictions));
    }
    if programs.is_empty() {
        remarks.push(Remark::NoProgram);
    }
    let traced = folder.finish(vec![tracer], programs, std::iter::empty(), |_| None, remarks)?;
    let traced = traced.first().copied().unwrap_or_default();
    Ok(EncodedInput { instructions, traced, error, is_contradicted })
}

/// Returns what encoder inputs report as a block, as far as they do: the number of instructions is not among it, nor whether a jump is
/// direct.
fn reported(entry: &Entry, isa: Isa) -> Option<Block> {
    let (is_branch, is_taken) = match entry.itype {
        IType::TakenBranch => (true, true),
        IType::NotTakenBranch => (true, false),
        _ => (false, false),
    };
    let last_len = 2_u8.checked_shl(entry.ilastsize.into())?;
    let end = entry.iaddr.wrapping_add(2 * u64::from(entry.iretire));
    let class = Class { flow: Flow::Direct, role: Role::Jump, conditional: true };
    let ended = match is_branch {
        true if is_taken => Ended::Taken,
        true => Ended::NotTaken,
        // The last instruction may be anything.
        false => Ended::Cut,
    };
    let start = entry.iaddr;
    (entry.iretire > 0).then_some(Block { start, end, count: 0, isa, last_len, class, ended })
}

/// Properties of encoder inputs that must be inferred.
struct InputForm {
    retirement: Retirement,
    itype_width: ITypeWidth,
}

/// Infers the form: `iretire` counts instructions, unless a line has more than one; the types that occur show how wide they are.
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

/// Returns whether a file begins like encoder inputs.
pub fn is_encoder_input(path: &Path) -> Result<bool, Error> {
    let path = crate::log::named(path);
    let start = start_of(path, 4096).map_err(|error| Error::read(path, error))?;
    Ok(has_column(&start, b"itype_0") && has_column(&start, b"iaddr_0"))
}

/// Returns whether the first line has a column of this name.
fn has_column(text: &[u8], name: &[u8]) -> bool {
    let header = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    header.split(|&byte| byte == b',').any(|column| column.trim_ascii() == name)
}

/// Returns the image of a program's files.
pub fn image(files: &[ImageFile]) -> Result<Image, Error> {
    let mut builder = Image::builder();
    for file in files {
        let bytes = map_file(&file.path)?;
        let added = match (bytes.as_slice().starts_with(b"\x7fELF"), file.at) {
            (true, at) => builder.elf("", bytes, at, MemorySpace::ANY),
            (false, Some(at)) => builder.raw("", bytes, at, MemorySpace::ANY),
            (false, None) => {
                let problem = "not an ELF file: say where its first byte was (FILE@ADDRESS)".into();
                return Err(Error::Program(file.path.clone(), problem));
            }
        };
        added.map_err(|error| Error::Program(file.path.clone(), error.reason.to_string()))?;
    }
    Ok(builder.build())
}
