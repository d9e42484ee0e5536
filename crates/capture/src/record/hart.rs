//! Runs a program on the hart, and passes what it executes to the sinks.

use std::path::Path;

use tracewright_core::MemorySpace;
use tracewright_core::control::Plan;
use tracewright_hart::bare::{self, Bare};
#[cfg(target_os = "linux")]
use tracewright_hart::linux::{self, Linux};
use tracewright_hart::log::own::Writer;
use tracewright_hart::timing::{Model, Stats, Timed};
use tracewright_hart::{Core, Hart, HartSink, Machine, Stop};
use tracewright_image::{Bytes, Image};
use tracewright_input::ImageFile;
use tracewright_input::file::{self, read_plain};
use tracewright_isa::riscv::Xlen;

use super::keep::{Keep, Kept, LogOutput, Outputs};
#[cfg(target_os = "linux")]
use super::places;
use super::ring::{Ring, Ringed};
use super::watch::Watch;
use crate::control::{ControlRequest, Qualified};
use crate::sink::{AnySink, DynSink, TraceSink};
use crate::stop::{Ending, StopFlag};
use crate::{CaptureOptions, Error, Pair, Remark};

/// A machine with its program.
#[derive(Debug)]
pub enum Loaded {
    /// Linux, as a program in user mode sees it. It needs a Linux host.
    #[cfg(target_os = "linux")]
    Linux(Box<Hart<Linux>>),
    /// A machine without an operating system.
    Bare(Box<Hart<Bare>>),
}

/// Does the same on the hart of either machine.
macro_rules! on_hart {
    ($loaded:expr, $hart:ident => $what:expr) => {
        match $loaded {
            #[cfg(target_os = "linux")]
            Loaded::Linux($hart) => $what,
            Loaded::Bare($hart) => $what,
        }
    };
}

/// Largest program file that is read.
const MAX_PROGRAM: u64 = 1 << 30;

impl Loaded {
    /// Loads a RISC-V program with the defaults of its machine: Linux, or a machine without an operating system. The ELF file decides
    /// which. The first of `arguments` is the program's name. What the program prints goes to the output of this process; the
    /// machine's own options send it elsewhere.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is not a RISC-V program.
    pub fn open(program: &Path, arguments: &[&str]) -> Result<Self, Error> {
        let bytes = read_plain(program, MAX_PROGRAM).map_err(|error| Error::read(program, error))?;
        let failed = |error: String| Error::Program(program.to_owned(), error);
        if bare::is_for_it(&bytes) {
            let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
            let options = bare::Options { arguments, ..bare::Options::default() };
            let (core, machine) = Bare::new(&bytes, &options, bare::standard_output())
                .map_err(|error| failed(error.to_string()))?;
            return Ok(Self::Bare(Box::new(Hart::new(core, machine))));
        }
        #[cfg(not(target_os = "linux"))]
        return Err(Error::LinuxOnly);
        #[cfg(target_os = "linux")]
        {
            let arguments = arguments.iter().map(Into::into).collect();
            let streams = linux::Streams::inherit();
            let options = linux::Options { arguments, streams, ..linux::Options::default() };
            let (core, machine) = Linux::load(program, options).map_err(|error| failed(error.to_string()))?;
            Ok(Self::Linux(Box::new(Hart::new(core, machine))))
        }
    }

    pub(super) fn core(&mut self) -> &mut Core {
        on_hart!(self, hart => &mut hart.core)
    }

    /// Returns code that is in no program file, and its address, before the program runs.
    pub(super) fn boot_code(&mut self) -> Option<(u64, Vec<u8>)> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Linux(_) => None,
            Self::Bare(hart) => bare::boot_code(&mut hart.core),
        }
    }

    /// Ends the run when `stop` is set.
    pub(super) fn stop_when(&mut self, stop: StopFlag) {
        on_hart!(self, hart => hart.stop_when(stop));
    }

    /// Returns the program's files that are mapped by now.
    pub(super) fn files(&self, program: &Path) -> Vec<ImageFile> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Linux(hart) => places::programs(&hart.machine.mapped()),
            Self::Bare(_) => vec![ImageFile { path: program.to_owned(), at: None }],
        }
    }

    /// Returns the symbols of these files.
    pub(super) fn image(&self, program: &Path) -> Image {
        match self {
            #[cfg(target_os = "linux")]
            Self::Linux(hart) => places::linux(&hart.machine.mapped()),
            Self::Bare(_) => program_image(program),
        }
    }

    /// Returns the machine's warnings.
    pub(super) fn warnings(&self) -> Vec<String> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Linux(hart) => hart.machine.warnings().to_vec(),
            Self::Bare(hart) => hart.machine.warnings(),
        }
    }
}

/// Returns the image of a program's file, for its symbols. A file that cannot be read has none.
pub fn program_image(path: &Path) -> Image {
    let mut builder = Image::builder();
    if let Ok(bytes) = read_plain(path, file::MAX_PROGRAM) {
        let _ = builder.elf(&path.display().to_string(), Bytes::new(bytes), None, MemorySpace::ANY);
    }
    builder.build()
}

/// Conditions of trace control, resolved for the program.
pub(super) struct Controls<'a> {
    pub asked: ControlRequest,
    pub plan: Plan,
    pub ring: Option<&'a Ring>,
    /// Condition of the trigger.
    trigger: Option<Plan>,
}

impl<'a> Controls<'a> {
    /// Resolves the conditions in the options, if there are any.
    pub fn new(
        options: &'a CaptureOptions,
        image: &Image,
        remarks: &mut Vec<Remark>,
    ) -> Result<Option<Self>, Error> {
        let ring = options.ring.as_ref();
        let asked = match (&options.control, ring) {
            (Some(asked), _) => asked.clone(),
            (None, Some(_)) => ControlRequest::all(),
            (None, None) => return Ok(None),
        };
        let trigger = ring.and_then(|ring| ring.trigger.as_ref());
        let trigger = trigger.map(|asked| asked.plan(image, remarks)).transpose()?;
        let plan = asked.plan(image, remarks)?;
        Ok(Some(Self { asked, plan, ring, trigger }))
    }
}

/// A run of a program, which [`run`](Self::run) begins.
pub struct HartRun<'a> {
    pub(super) loaded: Loaded,
    pub(super) limit: u64,
    pub(super) parts: Parts<'a>,
    /// The result of the run.
    pub(super) ran: Option<Result<Ran<'a>, Error>>,
}

/// Parts of a run, taken when it begins.
pub(super) struct Parts<'a> {
    pub watch: Option<Watch<'a>>,
    pub outputs: Outputs,
    pub timing: Option<Model>,
    pub controls: Option<&'a Controls<'a>>,
    pub stop: StopFlag,
    /// Code that is in no program file, and its address.
    pub boot: Option<(u64, Vec<u8>)>,
}

/// The result of a run.
pub(super) struct Ran<'a> {
    pub stop: Stop,
    pub watch: Watch<'a>,
    pub timing: Option<Stats>,
    pub kept: Kept,
    pub qualified: Option<Qualified>,
    pub remark: Option<Remark>,
}

impl HartRun<'_> {
    /// Runs the program, and passes what it executes to `sink`. Must be called exactly once.
    pub fn run<S: TraceSink>(&mut self, sink: &mut S) {
        self.ran = on_hart!(&mut self.loaded, hart => self.parts.run(hart, self.limit, sink));
    }
}

impl<'a> Parts<'a> {
    /// Runs the program. Outputs that are not requested cost nothing.
    fn run<M: Machine, S: TraceSink>(
        &mut self,
        hart: &mut Hart<M>,
        limit: u64,
        sink: &mut S,
    ) -> Option<Result<Ran<'a>, Error>> {
        let watch = self.watch.take()?;
        let sink = &mut watch.measure(sink);
        let xlen = xlen(&hart.core);
        let outputs = std::mem::take(&mut self.outputs);
        let (timing, qualified, remark) = (None, None, None);
        let is_quick = self.timing.is_none() && outputs.listing.is_none();
        let ran = match (&outputs.log, self.controls) {
            (None, None) if is_quick => {
                let mut sink = Pair(watch, sink);
                let stop = hart.run(limit, &mut sink);
                Ran { stop, watch: sink.0, timing, kept: Kept::default(), qualified, remark }
            }
            (Some(log @ LogOutput { path, has_all: false, .. }), None) if is_quick => {
                let file = match log.create() {
                    Ok(file) => Ending::new(file, &self.stop),
                    Err(error) => return Some(Err(error)),
                };
                let writer = Writer::<_, false, false>::new(file, xlen);
                let mut writer = match writer {
                    Ok(writer) => writer,
                    Err(error) => return Some(Err(Error::write(path, error))),
                };
                if let Some((address, code)) = &self.boot {
                    HartSink::code(&mut writer, *address, code);
                }
                let mut sink = Pair(Pair(watch, writer), sink);
                let stop = hart.run(limit, &mut sink);
                let Pair(Pair(watch, writer), _) = sink;
                let kept = Kept::of_log(path, writer.finish());
                Ran { stop, watch, timing, kept, qualified, remark }
            }
            (None, Some(Controls { asked, plan, ring: None, .. })) if is_quick && !S::DATA => {
                let mut sink = Pair(watch, asked.controlled(plan, sink));
                let stop = hart.run(limit, &mut sink);
                let Pair(watch, controlled) = sink;
                let qualified = Some(Qualified::of(&controlled));
                Ran { stop, watch, timing, kept: Kept::default(), qualified, remark }
            }
            (_, None) => match self.run_slowly(hart, limit, watch, outputs, sink) {
                Ok(ran) => ran,
                Err(error) => return Some(Err(error)),
            },
            (_, Some(Controls { asked, plan, ring, trigger })) => {
                let mut ringed = Ringed::new(*ring, trigger.as_ref(), asked.controlled(plan, sink));
                match self.run_slowly(hart, limit, watch, outputs, &mut ringed) {
                    Ok(ran) => {
                        let qualified = Some(Qualified::of(&ringed.inner));
                        Ran { qualified, remark: ringed.remark(*ring), ..ran }
                    }
                    Err(error) => return Some(Err(error)),
                }
            }
        };
        Some(Ok(ran))
    }

    /// Runs the program with all possible outputs. Knowing the sink's type would gain little here.
    fn run_slowly<M: Machine>(
        &mut self,
        hart: &mut Hart<M>,
        limit: u64,
        watch: Watch<'a>,
        outputs: Outputs,
        sink: &mut dyn DynSink,
    ) -> Result<Ran<'a>, Error> {
        match outputs.listing.is_some() {
            true => self.run_keeping::<M, true>(hart, limit, watch, outputs, sink),
            false => self.run_keeping::<M, false>(hart, limit, watch, outputs, sink),
        }
    }

    /// Runs the program with all possible outputs, and registers if those are needed.
    fn run_keeping<M: Machine, const REGISTERS: bool>(
        &mut self,
        hart: &mut Hart<M>,
        limit: u64,
        watch: Watch<'a>,
        outputs: Outputs,
        sink: &mut dyn DynSink,
    ) -> Result<Ran<'a>, Error> {
        let mut keep = Keep::<REGISTERS>::new(outputs, self.timing.is_some(), xlen(&hart.core), &self.stop)?;
        if let Some((address, code)) = &self.boot {
            HartSink::code(&mut keep, *address, code);
        }
        let mut sink = Pair(watch, Pair(keep, AnySink(sink)));
        let (stop, timing) = match self.timing.take() {
            None => (hart.run(limit, &mut sink), None),
            Some(model) => {
                let mut timed = Timed::new(model, sink);
                let stop = hart.run(limit, &mut timed);
                sink = timed.inner;
                (stop, Some(*timed.model.stats()))
            }
        };
        let Pair(watch, Pair(keep, _)) = sink;
        Ok(Ran { stop, watch, timing, kept: keep.finish(), qualified: None, remark: None })
    }
}

pub(super) fn xlen(core: &Core) -> Xlen {
    if core.is_rv32 { Xlen::Rv32 } else { Xlen::Rv64 }
}
