//! Options that every verb has: which capture, and what of it.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tracewright::Trace;
use tracewright_engine::{Limits, Options};
use tracewright_etrace::decode::Handler;
use tracewright_input::etrace::handler_named;
use tracewright_input::folder::CAPTURE_FILE;
use tracewright_input::{Capture, ImageFile, Packing, Problem, RawSource, perf};

use crate::images;
use crate::output::{Error, Needs, Outcome, report_problems};
use crate::profile::open::is_profile;

/// Which capture.
#[derive(Args, Clone)]
pub struct CaptureArgs {
    /// A capture folder (tracewright's own, or an Arm trace snapshot), a recording of perf or simpleperf (perf.data), or a raw
    /// trace file (- for standard input).
    pub capture: PathBuf,

    /// Where programs are that a recording of perf or simpleperf names: a copy of the machine's folders, or just the files (repeat
    /// for more).
    #[arg(long, value_name = "FOLDER", help_heading = "Recordings of perf")]
    pub symfs: Vec<PathBuf>,

    /// How a raw trace file is packed.
    #[arg(long, value_parser = packing(), help_heading = "Raw trace files")]
    pub packing: Option<Packing>,

    /// A source in a raw trace file: protocol, then name=value pairs: id, and registers or parameters by name. Repeat for
    /// more sources.
    #[arg(
        long = "source",
        value_name = "etm4|ete|etrace,NAME=VALUE,...",
        help_heading = "Raw trace files",
        long_help = "A source in a raw trace file: protocol, then comma-separated name=value pairs. Repeat for more sources.\n\
For etm4 and ete: id, core (the traced core's type, e.g. Cortex-A53), and the registers TRCCONFIGR, TRCTRACEIDR, TRCIDR0, TRCIDR1, TRCIDR2, TRCIDR8 and \
(ETE) TRCDEVARCH. Registers left out have the values of an ETMv4.0 \
(ETE 1.0) with nothing optional; take them from your driver or debugger.\n\
For etrace: isa (rv32, rv64) and encapsulation (standard with source_bits, timestamp_bytes and type_bits; smi; pulp), which are needed; \
id (srcID); the encoder's parameters and options by their names in the specification (iaddress_width, context_width, nocontext, \
return_stack_size, ...); params=FILE for a file of parameters (.scf). `info` shows what those left out are: no context, no \
options; with pulp, what PULP's rv_tracer has. No --packing.\n\
Examples: --source etm4,id=0x10,TRCCONFIGR=0xc1,TRCIDR0=0x28000ea1\n\
\x20         --source etrace,isa=rv64,encapsulation=smi,params=hw.scf"
    )]
    pub sources: Vec<RawSource>,
}

/// Packings by name.
fn packing() -> impl TypedValueParser<Value = Packing> {
    let words = |packing| match packing {
        Packing::CoreSight => {
            "16-byte CoreSight frames, as trace buffers in memory hold them (ETB, ETF, ETR)"
        }
        Packing::CoreSightFsync => {
            "CoreSight frames with full frame syncs, as a trace port (TPIU) sends them"
        }
        Packing::CoreSightHsync => "CoreSight frames with full and half syncs",
        Packing::DstreamCoreSight => "CoreSight frames with frame syncs in a DSTREAM's 512-byte blocks",
        Packing::Source => "The bytes of a single source, unframed",
    };
    let values = Packing::ALL.map(|packing| PossibleValue::new(packing.name()).help(words(packing)));
    PossibleValuesParser::new(values).map(|name| {
        let named = Packing::ALL.into_iter().find(|packing| packing.name() == name);
        named.unwrap_or(Packing::Source)
    })
}

impl CaptureArgs {
    /// Another capture, described the same way.
    pub fn of(&self, capture: &Path) -> Self {
        Self { capture: capture.to_owned(), ..self.clone() }
    }

    /// Opens the capture.
    pub fn open(&self) -> Result<Capture, Error> {
        let describes = self.packing.is_some() || !self.sources.is_empty();
        if perf::is_recording(&self.capture) {
            if describes {
                let message =
                    "--packing and --source describe raw trace files; a recording of perf describes itself";
                return Err(Error::Message(message.into()));
            }
            return Ok(perf::open(&self.capture, &self.symfs)?);
        }
        if !self.symfs.is_empty() {
            let path = self.capture.display();
            let message = format!("{path} is no recording of perf: --symfs says where programs of one are");
            return Err(Error::Message(message));
        }
        if self.capture.is_dir() {
            if describes {
                let message =
                    "--packing and --source describe raw trace files; a capture folder describes itself";
                return Err(Error::Message(message.into()));
            }
            return Ok(Capture::open(&self.capture)?);
        }
        let is_etrace = self.sources.iter().any(|source| matches!(source, RawSource::Etrace(_)));
        if is_etrace && self.packing.is_some() {
            let message = "E-Trace is not read from frames, and has no --packing";
            return Err(Problem::file_error(&self.capture, message).into());
        }
        let Some(format) = self.packing.or(is_etrace.then_some(Packing::Source)) else {
            let path = self.capture.display();
            let message = if self.capture.file_name().is_some_and(|name| name == CAPTURE_FILE) {
                format!("{path} belongs to a capture: give its folder")
            } else if self.capture.file_name().is_some_and(|name| name == "snapshot.ini") {
                format!("{path} belongs to a snapshot: give its folder")
            } else if is_profile(&self.capture) {
                format!("{path} is a profile, without any trace: profile, merge and diff take it")
            } else if self.capture.exists() || self.capture.as_os_str() == "-" {
                format!(
                    "{path} is a raw trace file: say how it is packed with --packing, and its sources with --source (E-Trace: --source alone)"
                )
            } else {
                format!("{path}: no such file or folder")
            };
            return Err(Error::Message(message));
        };
        Ok(Capture::raw(&self.capture, format, &self.sources)?)
    }
}

/// The program that was traced.
#[derive(Args, Clone, Default)]
pub struct ProgramArgs {
    /// A program file that ran, ELF or raw, and the address it was loaded at, in hexadecimal (repeat for more). Of two at one
    /// address, and before the capture's own memory images, the first counts.
    #[arg(long = "image", value_name = "FILE[@ADDR]")]
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
        let trace = Trace::new(capture.open()?, &self.images, self.accept_mismatch).options(options);
        let outcome = report_problems(trace.problems(), Needs::All);
        images::report_remarks(trace.image(), &self.images);
        Ok((trace, outcome))
    }
}

/// Limits of decoding, for every verb that decodes.
#[derive(Args, Clone, Debug, Default)]
pub struct LimitArgs {
    /// Stop after so many instructions of each source. What was decoded is shown, and the exit status is 1.
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
}

impl SelectArgs {
    /// Whether all there is is wanted.
    pub fn is_all(&self) -> bool {
        self.ids.is_empty() && matches!(self.buffer.as_deref(), None | Some("all"))
    }

    /// Opens a capture without its programs, reports what is wrong with its trace, and chooses sources and buffers.
    pub fn open(&self, capture: &CaptureArgs, first_only: bool) -> Result<(Trace, Outcome), Error> {
        let trace = Trace::without_programs(capture.open()?);
        let outcome = report_problems(trace.problems(), Needs::Trace);
        Ok((self.of(trace, first_only), outcome))
    }

    /// Chooses sources and buffers. `first_only`: without --buffer, only the first buffer, as OpenCSD's tools do.
    pub fn of(&self, trace: Trace, first_only: bool) -> Trace {
        let trace = self.ids.iter().fold(trace, |trace, &id| trace.source(id));
        let first = trace.capture().buffers.first().filter(|_| first_only).map(|buffer| buffer.name.clone());
        match self.buffer.clone().or(first) {
            Some(name) if name != "all" => trace.buffer(&name),
            _ => trace,
        }
    }
}

/// `0x10` or `16`.
fn source_number(text: &str) -> Result<u16, String> {
    let value = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => u16::from_str_radix(digits, 16),
        None => text.parse(),
    };
    value.map_err(|_| "expected a trace ID: a number, decimal or with 0x".into())
}
