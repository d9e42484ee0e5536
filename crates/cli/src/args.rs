//! Options that every verb has: which capture, and what of it.

use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tracewright::profile::ProgramSearch;
use tracewright::{OpenOptions, Trace};
use tracewright_engine::{Limits, Options, Tally};
use tracewright_etrace::decode::Handler;
use tracewright_input::debuginfod::Debuginfod;
use tracewright_input::etrace::handler_named;
use tracewright_input::file::existing;
use tracewright_input::{Capture, ImageFile, ImageFileError, Packing, RawSource};
use tracewright_profile::Program;

use crate::images;
use crate::output::{Error, Outcome, report_problems};
use crate::progress;

/// Which capture.
#[derive(Args, Clone)]
pub struct CaptureArgs {
    /// A capture folder (tracewright's own, or an Arm trace snapshot), a recording of perf or simpleperf (perf.data), a log of
    /// tracewright (run.log, or of its plugin for QEMU), or a raw trace file (- for standard input).
    pub capture: PathBuf,

    /// A copy of the traced machine's files.
    ///
    /// Programs that a recording of perf or simpleperf names are looked for there, by their path or just by their name (repeat for more).
    #[arg(long, value_name = "FOLDER", help_heading = "Recordings of perf")]
    pub symfs: Vec<PathBuf>,

    /// Ask this debuginfod server for programs and debug files that are not here (repeat for more; without it, those in
    /// DEBUGINFOD_URLS, and none if that is not set).
    #[arg(long, value_name = "URL", help_heading = "Recordings of perf")]
    debuginfod: Vec<String>,

    /// How a raw trace file is packed.
    #[arg(long, value_parser = packing(), help_heading = "Raw trace files")]
    pub packing: Option<Packing>,

    /// A source in a raw trace file: protocol, then name=value pairs: id, and registers or parameters by name. Repeat for
    /// more sources.
    #[arg(
        long = "source",
        value_name = "PROTOCOL,NAME=VALUE,...",
        help_heading = "Raw trace files",
        long_help = RawSource::help()
    )]
    pub sources: Vec<RawSource>,

    /// Trace file in place of that of the capture folder.
    #[arg(skip)]
    pub trace_file: Option<PathBuf>,
}

/// Packings by name.
fn packing() -> impl TypedValueParser<Value = Packing> {
    named(Packing::ALL.map(|packing| (packing.name(), packing.origin(), packing)))
}

/// Takes one of some values by its name, which has words in the long help, if it has any.
pub fn named<T: Clone + Send + Sync + 'static, const N: usize>(
    values: [(&'static str, &'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    let possible = values.each_ref().map(|(name, words, _)| match words.is_empty() {
        true => PossibleValue::new(*name),
        false => PossibleValue::new(*name).help(*words),
    });
    PossibleValuesParser::new(possible).try_map(move |given| {
        let named = values.iter().find(|(name, ..)| *name == given);
        named.map(|(.., value)| value.clone()).ok_or("expected one of the names")
    })
}

impl CaptureArgs {
    /// Fails if a pipe is given for what reads the trace twice.
    pub fn refuse_pipe(&self) -> Result<(), Error> {
        let why = "standard input: this reads the trace twice: give a file, not a pipe";
        if self.capture.as_os_str() == "-" { Err(Error::Message(why.into())) } else { Ok(()) }
    }

    /// Another capture, described the same way.
    pub fn of(&self, capture: &Path) -> Self {
        Self { capture: capture.to_owned(), ..self.clone() }
    }

    /// Returns the options to open the capture with.
    fn options(&self) -> OpenOptions {
        let options = self.symfs.iter().fold(OpenOptions::new(), OpenOptions::symbol_folder);
        let options = self.debuginfod().into_iter().fold(options, OpenOptions::debuginfod);
        let options = self.sources.iter().cloned().fold(options, OpenOptions::source);
        let options = self.trace_file.iter().fold(options, OpenOptions::trace_file);
        self.packing.into_iter().fold(options, OpenOptions::packing)
    }

    /// The servers to ask for programs and debug files, if any. What is fetched is reported.
    pub fn debuginfod(&self) -> Option<Debuginfod> {
        // One for the whole run: a server that cannot be reached is not asked again.
        static SERVERS: OnceLock<Option<Debuginfod>> = OnceLock::new();
        let servers = SERVERS.get_or_init(|| {
            let servers = match self.debuginfod.is_empty() {
                true => Debuginfod::of_environment()?,
                false => Debuginfod::new(self.debuginfod.iter().cloned()),
            };
            Some(servers.watch(progress::fetched))
        });
        servers.clone()
    }

    /// Returns where the programs of a profile are looked for.
    pub fn search(&self, images: &[ImageFile]) -> ProgramSearch {
        let (symbol_folders, beside) = (self.symfs.clone(), self.capture.clone());
        ProgramSearch { images: images.to_vec(), symbol_folders, beside, debuginfod: self.debuginfod() }
    }

    /// Opens the capture without its programs.
    pub fn open(&self) -> Result<Capture, tracewright::Error> {
        self.options().open_capture(&self.capture)
    }
}

/// Option of all verbs that show inlined functions.
#[derive(Args, Clone, Debug, Default)]
pub struct InlineArgs {
    /// Do not show inlined functions: their instructions belong to the functions that they are inlined into.
    #[arg(long)]
    no_inline: bool,
}

impl InlineArgs {
    /// Chooses what a program shows.
    pub fn of(&self, program: Program) -> Program {
        program.show_inlined(self.shows())
    }

    /// Returns whether inlined functions are shown.
    pub fn shows(&self) -> bool {
        !self.no_inline
    }
}

/// The program that was traced.
#[derive(Args, Clone, Default)]
pub struct ProgramArgs {
    /// A program that ran, ELF or raw, and the address it was loaded at, in hexadecimal (repeat for more).
    ///
    /// Of two at one address, and before the capture's own memory images, the first counts.
    #[arg(long = "image", value_name = "FILE[@ADDR]", value_parser = image)]
    pub images: Vec<ImageFile>,

    /// Where traps to a privilege go (mtvec, stvec), in hexadecimal, or `next`: after the instruction that trapped. For E-Trace with
    /// implicit exceptions, which leaves it out (repeat for more privileges).
    #[arg(long = "handler", value_name = "M|S|U|VS:ADDR[:vectored]", value_parser = handler_named)]
    handlers: Vec<Handler>,

    /// Use programs that differ from those recorded, and count traces that contradict their program.
    #[arg(long)]
    pub accept_mismatch: bool,
}

impl ProgramArgs {
    /// Where trap handlers are, of each privilege.
    pub fn handlers(&self) -> [Option<Handler>; 4] {
        let mut handlers = [None; 4];
        for (slot, handler) in handlers.iter_mut().zip(&self.handlers) {
            *slot = Some(*handler);
        }
        handlers
    }

    /// Opens a capture and the program that ran, and reports what is wrong with them.
    pub fn open(&self, capture: &CaptureArgs) -> Result<(Trace, Outcome), Error> {
        let options = Options { handlers: self.handlers(), ..Options::default() };
        let open = capture.options().accept_mismatch(self.accept_mismatch);
        let open = self.images.iter().fold(open, |open, file| open.image(&file.path, file.at));
        let trace = open.open(&capture.capture)?.options(options);
        // Code that is not there is reported when it is known whether it ran.
        let outcome = report_problems(trace.problems_of(&Tally::default()));
        images::report_remarks(trace.image(), &self.images);
        Ok((trace, outcome))
    }
}

/// Limits of decoding, for every verb that decodes.
#[derive(Args, Clone, Debug, Default)]
pub struct LimitArgs {
    /// Stop after so many instructions.
    ///
    /// Of each source, where a capture has several. What was decoded is shown, and the exit status is 1.
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_instructions: Option<u64>,

    /// Stop where the tables that grow with what the trace tells take more than this in all, in MiB [default: 4096].
    #[arg(long, value_name = "MIB", help_heading = "Limits")]
    max_memory: Option<usize>,
}

/// MiB of tables, if nothing is asked for.
const MAX_MEMORY: usize = 4096;

impl LimitArgs {
    /// Whether a limit is asked for.
    pub fn any(&self) -> bool {
        self.max_instructions.is_some() || self.max_memory.is_some()
    }

    /// Whether a limit of instructions is asked for.
    pub fn any_instructions(&self) -> bool {
        self.max_instructions.is_some()
    }

    pub fn limits(&self) -> Limits {
        Limits {
            instructions: self.max_instructions.unwrap_or(Limits::NONE.instructions),
            memory: self.max_memory.unwrap_or(MAX_MEMORY).saturating_mul(1 << 20),
        }
    }
}

/// Which part of a capture's trace.
#[derive(Args, Clone)]
pub struct SelectArgs {
    /// Only the source with this trace ID (repeat for more).
    #[arg(long = "id", value_name = "N", value_parser = source_number)]
    pub ids: Vec<u16>,

    /// Only this trace buffer, or `all`.
    #[arg(long, value_name = "NAME")]
    pub buffer: Option<String>,

    /// Only the source that traces this core, where the capture numbers cores (repeat for more).
    #[arg(long = "cpu", value_name = "N")]
    pub cpus: Vec<u32>,
}

impl SelectArgs {
    /// Whether all there is is wanted.
    pub fn is_all(&self) -> bool {
        self.ids.is_empty() && self.cpus.is_empty() && matches!(self.buffer.as_deref(), None | Some("all"))
    }

    /// Opens a capture without its programs, reports what is wrong with its trace, and chooses sources and buffers.
    pub fn open(&self, capture: &CaptureArgs, first_only: bool) -> Result<(Trace, Outcome), Error> {
        let trace = Trace::without_programs(capture.open()?);
        let outcome = report_problems(trace.trace_problems());
        Ok((self.of(trace, first_only), outcome))
    }

    /// Chooses sources and buffers. `first_only`: without --buffer, only the first buffer, as OpenCSD's tools do.
    pub fn of(&self, trace: Trace, first_only: bool) -> Trace {
        let trace = self.ids.iter().fold(trace, |trace, &id| trace.source(id));
        let trace = self.cpus.iter().fold(trace, |trace, &cpu| trace.cpu(cpu));
        let first = trace.capture().buffers.first().filter(|_| first_only).map(|buffer| buffer.name.clone());
        match self.buffer.clone().or(first) {
            Some(name) if name != "all" => trace.buffer(&name),
            _ => trace,
        }
    }
}

/// Which part of the trace file: options of all verbs that read trace.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct OffsetArgs {
    /// Only packets that begin at this offset of the trace file or later, and what they tell.
    #[arg(long, value_name = "OFFSET", value_parser = offset, default_value = "0", hide_default_value = true, help_heading = "Only a part")]
    from: u64,

    /// Only packets that begin before this offset of the trace file, and what they tell.
    #[arg(long, value_name = "OFFSET", value_parser = offset, help_heading = "Only a part")]
    to: Option<u64>,
}

impl OffsetArgs {
    /// Chooses the part of the trace file. Fails if it has nothing of the trace.
    pub fn of(&self, trace: Trace) -> Result<Trace, Error> {
        if let Some(to) = self.to.filter(|to| *to <= self.from) {
            let from =
                if self.from > 0 { format!("--from ({:#x})", self.from) } else { "the beginning".into() };
            return Err(Error::Message(format!("--to ({to:#x}) must be after {from}")));
        }
        refuse_past_end(&trace, "--from", self.from)?;
        Ok(trace.range(self.range()))
    }

    /// The part of the trace file.
    pub fn range(&self) -> Range<u64> {
        self.from..self.to.unwrap_or(u64::MAX)
    }

    /// Returns whether the whole trace file is asked for.
    pub fn is_whole(&self) -> bool {
        self.range() == (0..u64::MAX)
    }
}

/// Fails if the trace ends before an offset.
pub fn refuse_past_end(trace: &Trace, option: &str, offset: u64) -> Result<(), Error> {
    match trace.end()?.filter(|(_, end)| offset > 0 && offset >= *end) {
        Some((buffer, end)) => Err(Error::Message(format!(
            "{option} {offset:#x} is past the end of the trace: {} ends at {end:#x}",
            buffer.name
        ))),
        None => Ok(()),
    }
}

/// A program of `--image`: a file that does not exist is refused before any work is done.
pub fn image(text: &str) -> Result<ImageFile, String> {
    let file: ImageFile = text.parse().map_err(|error: ImageFileError| error.to_string())?;
    match existing(&file.path).metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Err("no such file".into()),
        _ => Ok(file),
    }
}

/// `0x1f` or `31`.
pub fn offset(text: &str) -> Result<u64, String> {
    let value = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    value.map_err(|_| "expected an offset, decimal or with 0x".into())
}

/// `0x4d2` or `1234`.
pub fn task(text: &str) -> Result<u32, String> {
    let number = offset(text).ok().and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| "expected a number of 32 bits, decimal or with 0x".into())
}

/// `0x10` or `16`.
fn source_number(text: &str) -> Result<u16, String> {
    let value = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => u16::from_str_radix(digits, 16),
        None => text.parse(),
    };
    value.map_err(|_| "expected a trace ID: a number, decimal or with 0x".into())
}
