//! The interface between making captures and a protocol's encoder.
//!
//! A protocol is a value of type [`Protocol`], registered in [`Protocols`]. It makes a [`TraceWriter`] for each capture: a
//! folder that is being written, with a sink for the hart or for each thread.

use std::fmt;
use std::path::Path;

use tracewright_core::{Block, Isa};
use tracewright_input::{ImageFile, OutputFolder, Replace};
use tracewright_qemu::format::Header;
use tracewright_qemu::read::{Definitions, Map};

use crate::encode::ThreadInput;
use crate::error::ARM_32;
use crate::etrace::{DeltaSettings, DeltaTraced, LogData};
use crate::record::{HartRun, LogRead};
use crate::sink::{AnySink, DynTraceSink};
use crate::{Error, Remark, StopFlag, etm, etrace, ntrace, port, tacit};

/// A protocol that captures can be made in.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// Its name in options and descriptions.
    pub name: &'static str,
    /// A description in a few words.
    pub about: &'static str,
    /// Returns its encoder options with their defaults and meanings, in 80 columns.
    pub help: fn() -> String,
    /// Returns whether it can trace programs that begin in this instruction set.
    pub supports: fn(Isa) -> bool,
    /// Whether it can trace accesses to memory.
    pub has_data: bool,
    /// Begins a capture in a folder.
    pub create: Create,
}

/// Begins a capture in a folder.
pub type Create = fn(Place<'_>, &Request<'_>) -> Result<Box<dyn TraceWriter>, Error>;

/// Destination of a capture.
#[derive(Clone, Debug)]
pub enum Place<'a> {
    /// A folder, and what may be replaced there.
    New(&'a Path, Replace),
    /// A folder that is claimed already.
    Claimed(OutputFolder),
}

impl Place<'_> {
    /// Claims the folder. Call it when all options are found good, since an earlier capture may be removed.
    ///
    /// # Errors
    /// Fails if the folder cannot be [claimed](OutputFolder::claim).
    pub fn claim(self) -> Result<OutputFolder, Error> {
        match self {
            Self::New(dir, replace) => Ok(OutputFolder::claim(dir, replace)?),
            Self::Claimed(folder) => Ok(folder),
        }
    }
}

/// A request for a capture, as an encoder gets it.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The instruction set that the program begins in.
    pub isa: Isa,
    /// Description of what is traced, for people.
    pub description: &'a str,
    /// Kind of input that the encoder gets.
    pub input: InputKind,
    /// Encoder options: `NAME=VALUE`, each.
    pub options: &'a [String],
    /// The port that packets go through, if any.
    pub port: Option<port::PortRequest>,
    /// Delta trace beside the trace, if any.
    pub delta: Option<DeltaSettings>,
    /// Size of the ring that keeps the newest bytes of the trace, if not all are kept.
    pub ring: Option<u64>,
    /// The flag to set when the trace cannot be written.
    pub stop: &'a StopFlag,
}

/// Where an encoder's input comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// A hart, with all accesses of its instructions.
    Hart,
    /// A log of a hart.
    Log,
    /// Threads of a process, and how much of their memory accesses is recorded.
    Threads(LogData),
}

/// A thread that is to be traced.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// The one hart.
    Hart,
    /// A thread of a process.
    Thread {
        /// Its index in the log.
        index: u32,
        /// Its Linux thread ID.
        tid: u32,
        /// The files that the process has mapped by now.
        maps: &'a [Map],
    },
}

/// What ran: needed for the programs and code that a capture holds besides its trace.
pub enum Executed<'a> {
    /// A program on a hart, or in a log.
    Hart {
        /// The program's files.
        programs: &'a [ImageFile],
        /// Blocks that were executed, each once.
        blocks: &'a mut dyn Iterator<Item = &'a Block>,
        /// The two bytes at an address, where they are known.
        halfword: &'a mut dyn FnMut(u64) -> Option<[u8; 2]>,
    },
    /// A process whose threads were traced.
    Process {
        /// The header of its log.
        header: &'a Header,
        /// Its files, threads and code.
        definitions: &'a Definitions,
    },
}

/// A capture that is being written.
///
/// Threads count from 0 in the order in which they are added. A trace can be made through [`sink`](Self::sink) alone. Override
/// [`run_hart`](Self::run_hart), [`read_log`](Self::read_log) and [`read_thread`](Self::read_thread) to run with a sink of known type.
pub trait TraceWriter: Send {
    /// Adds programs that are not in the capture yet. Called before anything runs, so that the trace can be read even after a crash.
    fn add_programs(&mut self, _programs: &[ImageFile]) -> Result<(), Error> {
        Ok(())
    }
    /// Adds a thread.
    fn add_thread(&mut self, subject: &Subject<'_>, remarks: &mut Vec<Remark>) -> Result<(), Error>;
    /// Returns the sink for what a thread executes.
    fn sink(&mut self, thread: usize) -> &mut dyn DynTraceSink;
    /// Traces what a hart runs.
    fn run_hart(&mut self, run: &mut HartRun<'_>) {
        run.run(&mut AnySink(self.sink(0)));
    }
    /// Traces what a log of a hart has.
    fn read_log(&mut self, log: &mut LogRead<'_>) {
        log.run(&mut AnySink(self.sink(0)));
    }
    /// Traces the next part of a thread.
    fn read_thread(&mut self, thread: usize, input: &mut ThreadInput<'_>) {
        input.run(&mut AnySink(self.sink(thread)));
    }
    /// Sets the time of what a thread executes next, in nanoseconds since the beginning.
    fn time(&mut self, _thread: usize, _nanoseconds: u64) {}
    /// Returns how many bytes of a thread's trace were made so far.
    fn bytes(&self, thread: usize) -> u64;
    /// Fails if the trace of a thread could not be written, so that the rest would be lost.
    fn check(&self, thread: usize) -> Result<(), Error>;
    /// Removes the capture: the log that it is made from contradicts the program.
    fn discard(self: Box<Self>) {}
    /// Ends the trace, and adds what a reader needs.
    fn finish(self: Box<Self>, executed: Executed<'_>, remarks: &mut Vec<Remark>) -> Result<Traced, Error>;
}

/// Totals of a trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traced {
    /// Bytes that were made.
    pub bytes: u64,
    /// Bytes that are in the capture: fewer if only the newest are kept.
    pub kept: u64,
    /// Instruction trace packets, if the encoder counts them.
    pub packets: Option<u64>,
    /// Data trace packets.
    pub data_packets: u64,
    /// Instructions that are in the trace, if the encoder counts them.
    pub instructions: Option<u64>,
    /// Memory accesses that are not in the data trace, since the log has too little information on them.
    pub unknown: u64,
    /// Report on the port, if there is one.
    pub port: Option<port::Report>,
    /// Delta trace, if there is one.
    pub delta: Option<DeltaTraced>,
    /// Set if the capture lacks code that ran.
    pub lacks_code: bool,
}

impl Traced {
    /// Adds up the totals of several harts or threads.
    pub(crate) fn sum(traced: &[Self]) -> Self {
        let sum = |of: fn(&Self) -> u64| traced.iter().map(of).sum();
        Self {
            bytes: sum(|traced| traced.bytes),
            kept: sum(|traced| traced.kept),
            packets: Some(sum(|traced| traced.packets.unwrap_or_default())),
            data_packets: sum(|traced| traced.data_packets),
            instructions: None,
            unknown: 0,
            port: port::Report::all(traced.iter().filter_map(|traced| traced.port)),
            delta: traced.first().and_then(|traced| traced.delta),
            lacks_code: traced.iter().any(|traced| traced.lacks_code),
        }
    }

    /// Returns whether something is missing from the capture: code that ran, or delta trace, which ends before the rest.
    pub fn is_incomplete(&self) -> bool {
        self.lacks_code || self.delta.is_some_and(|delta| delta.refused.is_some())
    }
}

/// The protocols that captures can be made in. The default has all of tracewright's.
#[derive(Clone)]
pub struct Protocols(Vec<&'static Protocol>);

impl Default for Protocols {
    fn default() -> Self {
        Self(vec![
            &etrace::PROTOCOL,
            &ntrace::PROTOCOL,
            &tacit::PROTOCOL,
            &etm::PROTOCOL,
            &etm::PTM,
            &etm::ETM3,
        ])
    }
}

impl fmt::Debug for Protocols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|protocol| protocol.name)).finish()
    }
}

impl Protocols {
    /// Adds a protocol.
    pub fn register(&mut self, protocol: &'static Protocol) {
        self.0.push(protocol);
    }

    /// Returns all of them.
    pub fn iter(&self) -> impl Iterator<Item = &'static Protocol> {
        self.0.iter().copied()
    }

    /// Returns the protocol with this name.
    pub fn named(&self, name: &str) -> Option<&'static Protocol> {
        self.iter().find(|protocol| protocol.name == name)
    }

    /// Returns the protocol with this name, or the first that can trace a program that begins in this instruction set.
    pub fn of(&self, name: Option<&str>, isa: Isa) -> Result<&'static Protocol, Error> {
        let first = self.iter().find(|protocol| (protocol.supports)(isa));
        let Some(name) = name else {
            return first.ok_or(Error::Unsupported { by: "tracewright", what: "protocol for such programs" });
        };
        let named = self.named(name).ok_or_else(|| Error::UnknownProtocol(name.into()))?;
        match first {
            Some(first) if !(named.supports)(isa) => {
                let of = match named.supports {
                    supports if supports(Isa::A64) => "Arm",
                    supports if supports(Isa::A32) => ARM_32,
                    _ => "RISC-V",
                };
                Err(Error::WrongProtocol { asked: named.name, of, isa, instead: first.name })
            }
            _ => Ok(named),
        }
    }
}

/// Options of a capture to make.
#[derive(Clone, Debug, Default)]
pub struct CaptureOptions {
    /// The folder to make the capture in.
    pub dir: std::path::PathBuf,
    /// Outputs that the capture may replace.
    pub replace: Replace,
    /// The protocols to choose from.
    pub protocols: Protocols,
    /// The protocol's name. If not given, the first that can trace the program is used.
    pub protocol: Option<String>,
    /// Encoder options: `NAME=VALUE`, each.
    pub options: Vec<String>,
    /// The port that packets go through, if any.
    pub port: Option<port::PortRequest>,
    /// The condition for what is traced, if not all is.
    pub control: Option<crate::control::ControlRequest>,
    /// The format of delta trace beside the trace, if any; an empty string stands for a lossless format.
    pub delta: Option<String>,
    /// The ring that keeps the newest bytes of the trace, if not all are kept.
    pub ring: Option<crate::record::Ring>,
}

impl CaptureOptions {
    /// Returns options for a capture of everything, in the folder `dir`.
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), ..Self::default() }
    }

    /// Returns where the capture goes.
    pub(crate) fn place(&self) -> Place<'_> {
        Place::New(&self.dir, self.replace)
    }

    /// Begins a capture in a folder.
    pub(crate) fn create(
        &self,
        place: Place<'_>,
        isa: Isa,
        input: InputKind,
        delta: Option<DeltaSettings>,
        description: &str,
        stop: &StopFlag,
    ) -> Result<Box<dyn TraceWriter>, Error> {
        let (options, port, ring) = (&self.options[..], self.port, self.ring.as_ref().map(|ring| ring.size));
        let request = Request { isa, description, input, options, port, delta, ring, stop };
        (self.protocols.of(self.protocol.as_deref(), isa)?.create)(place, &request)
    }
}
