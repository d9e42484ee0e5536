//! Reads logs of executions, tracewright's and other tools', into a sink.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use tracewright_core::{Block, Isa, MemorySpace};
use tracewright_hart::log::{self, Kind, own};
use tracewright_hart::{Blocks, HartSink};
use tracewright_image::Image;
use tracewright_input::Process;
use tracewright_input::compressed::Unpacked;
use tracewright_input::file::existing;
use tracewright_isa::riscv::{Xlen, len};
use tracewright_qemu::format::Target;
use tracewright_qemu::read;

use crate::error::LogProblem;
use crate::retirement::{CodePages, Missing};
use crate::stop::{StopFlag, UntilStopped};
use crate::{Error, retirement};

/// Code that a log has, as it was executed.
#[derive(Debug, Default)]
pub struct ExecutedCode {
    /// Addresses and bytes, without overlaps.
    pub pieces: Vec<(u64, Vec<u8>)>,
    /// The first address where the code changed, if any. Code that changed is left out.
    pub changed: Option<u64>,
}

/// Returns the code in a log of a hart, up to its end or to damage. A log without instructions has only what is in no program file, at its
/// start.
pub fn executed_by_hart(log: &[u8]) -> ExecutedCode {
    let mut code = HartCode::default();
    // Whoever decodes the log reports the damage.
    let _ = own::Reader::new(log).and_then(|mut reader| match reader.header().instructions {
        true => reader.read(&mut code),
        false => reader.read_chunk(&mut code).map(drop),
    });
    let HartCode { pages, .. } = code;
    let changed = pages.changed;
    ExecutedCode { pieces: pieces(pages.rest(false)), changed }
}

/// Returns the code of a process: that in its retirement log, and around it that of the files that were mapped. Also returns the files
/// that are not used, and why.
pub fn executed_by_process(
    definitions: &read::Definitions,
    process: &Process,
) -> (ExecutedCode, Vec<(PathBuf, String)>) {
    let mut pages: CodePages = retirement::code(definitions).collect();
    let changed = pages.changed;
    let (mut mapped, missing) = pages.mapped(Path::new(""), &process.mappings);
    mapped.extend(pages.rest(false));
    let missing = missing.into_iter().map(|Missing { path, why }| (path, why)).collect();
    (ExecutedCode { pieces: pieces(mapped), changed }, missing)
}

fn pieces(pieces: Vec<retirement::Piece>) -> Vec<(u64, Vec<u8>)> {
    pieces.into_iter().map(|piece| (piece.address, piece.bytes)).collect()
}

/// A sink that keeps the code of each block.
#[derive(Default)]
struct HartCode {
    pages: CodePages,
    bits: Vec<u32>,
    /// Blocks that were added, by start and number of instructions, each with its instructions in short.
    added: HashMap<(u64, u32), u64>,
}

impl HartSink for HartCode {
    const INSTRUCTIONS: bool = true;

    fn instructions(&mut self, bits: &[u32]) {
        self.bits.extend_from_slice(bits);
    }

    fn block(&mut self, block: &Block) {
        let mix = |sum: u64, &bits: &u32| {
            (sum ^ u64::from(bits)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        };
        let sum = self.bits.iter().fold(0, mix);
        if self.bits.is_empty() {
            return;
        }
        if self.added.insert((block.start, block.count), sum) != Some(sum) {
            let code: Vec<u8> = self
                .bits
                .iter()
                .flat_map(|&bits| bits.to_le_bytes().into_iter().take(len(bits as u16).into()))
                .collect();
            self.pages.extend([(block.start, code)]);
        }
        self.bits.clear();
    }

    fn code(&mut self, address: u64, bytes: &[u8]) {
        self.pages.extend([(address, bytes.to_vec())]);
    }
}

/// Why a log could not be read to its end.
pub type LogError = Box<dyn std::error::Error + Send + Sync>;

/// How reading a log ended.
#[derive(Debug, Default)]
pub struct LogEnd {
    /// Why it ended early, if it did.
    pub error: Option<LogError>,
    /// Places where instructions do not follow from those before them.
    pub gaps: u64,
    /// The first of these places.
    pub first_gap: Option<String>,
}

impl From<Option<LogError>> for LogEnd {
    fn from(error: Option<LogError>) -> Self {
        Self { error, ..Self::default() }
    }
}

/// Returns the file of a name: `-` is standard input, as everywhere.
pub(crate) fn named(path: &Path) -> &Path {
    if cfg!(unix) && path.as_os_str() == "-" { Path::new("/dev/stdin") } else { path }
}

/// An open log of a known kind.
pub struct Log {
    path: PathBuf,
    input: Input,
    /// Set if each instruction must follow from the one before it.
    is_in_sequence: bool,
}

/// The file of a log, unpacked if it is compressed.
type LogFile = BufReader<io::Chain<io::Cursor<Vec<u8>>, Unpacked<UntilStopped<File>>>>;

/// Number of bytes at the start of a log that tell its kind.
const HEAD: u64 = 1 << 12;

enum Input {
    Own(Box<own::Reader<LogFile>>),
    Other(Kind, LogFile),
    /// A retirement log, and the thread to read.
    Retirement(Box<read::Log>, u32),
}

impl Log {
    /// Opens a log and detects its kind. Reading fails once `stop` is set.
    pub fn open(path: &Path, stop: &StopFlag) -> Result<Self, Error> {
        // It may be a pipe that another program writes to.
        let path = named(path);
        let on = |error| Error::read(path, error);
        let path: &Path = &existing(path);
        let file = UntilStopped(File::open(path).map_err(on)?, StopFlag::clone(stop));
        let mut file = Unpacked::new(file).map_err(on)?;
        // One read may give a few bytes only.
        let mut head = Vec::new();
        file.by_ref().take(HEAD).read_to_end(&mut head).map_err(on)?;
        let kind = log::detect(&head);
        let input = BufReader::with_capacity(1 << 20, io::Cursor::new(head).chain(file));
        let input = match kind {
            Some(Kind::Own) => {
                let reader = own::Reader::new(input);
                Input::Own(Box::new(
                    reader.map_err(|error| Error::log(path, LogProblem::Damaged(error.into())))?,
                ))
            }
            Some(Kind::Retirement) => {
                let log = retirement::open(path)?;
                let first = log.threads().next().unwrap_or_default();
                Input::Retirement(Box::new(log), first)
            }
            Some(kind) => Input::Other(kind, input),
            None => {
                let wrong = log::wrong_header(input.get_ref().get_ref().0.get_ref());
                let problem = wrong.map_or(LogProblem::Unknown, |error| LogProblem::Damaged(error.into()));
                return Err(Error::log(path, problem));
            }
        };
        Ok(Self { path: path.to_owned(), input, is_in_sequence: false })
    }

    /// Makes an instruction that does not follow from the one before it an error of the log, where a log leaves nothing out
    /// ([`log::Reader::in_sequence`]).
    #[must_use]
    pub fn in_sequence(self) -> Self {
        Self { is_in_sequence: true, ..self }
    }

    /// Returns what kind of log it is.
    pub fn kind(&self) -> Kind {
        match self.input {
            Input::Own(_) => Kind::Own,
            Input::Other(kind, _) => kind,
            Input::Retirement(..) => Kind::Retirement,
        }
    }

    /// Returns its threads, if it tells them apart. Only one of them is read.
    pub fn threads(&self) -> Option<Vec<u32>> {
        match &self.input {
            Input::Retirement(log, _) => Some(log.threads().collect()),
            Input::Own(_) | Input::Other(..) => None,
        }
    }

    /// Selects the thread to read, instead of the first.
    pub fn set_thread(&mut self, index: u32) -> Result<(), Error> {
        let problem = match &mut self.input {
            Input::Retirement(log, thread) if log.threads().any(|known| known == index) => {
                *thread = index;
                return Ok(());
            }
            Input::Retirement(log, _) => LogProblem::NoThread(index, log.threads().take(9).collect()),
            Input::Own(_) | Input::Other(..) => LogProblem::NoThreads,
        };
        Err(Error::log(&self.path, problem))
    }

    /// Returns the instruction set that its program starts with, if it is of an Arm processor.
    pub fn arm_isa(&self) -> Option<Isa> {
        match &self.input {
            Input::Retirement(log, _) => match log.header().target {
                Target::Aarch64 => Some(Isa::A64),
                Target::Arm => Some(Isa::A32),
                Target::Riscv64 => None,
            },
            Input::Own(_) | Input::Other(..) => None,
        }
    }

    /// Fails if the log is of an Arm processor. `what` names the feature that needs RISC-V.
    pub fn check_riscv(&self, what: &'static str) -> Result<(), Error> {
        match &self.input {
            Input::Retirement(log, _) if log.header().target != Target::Riscv64 => {
                let target = log.header().target.name();
                Err(Error::log(&self.path, LogProblem::NotRiscv { what, target }))
            }
            _ => Ok(()),
        }
    }

    /// Returns the width of registers, if the log has it.
    pub fn xlen(&self) -> Option<Xlen> {
        match &self.input {
            Input::Own(reader) => Some(reader.header().xlen),
            Input::Retirement(log, _) => (log.header().target == Target::Riscv64).then_some(Xlen::Rv64),
            Input::Other(..) => None,
        }
    }

    /// Fails if the log has only addresses and there is no program.
    pub fn check_program(&self, has_program: bool) -> Result<(), Error> {
        if self.kind() != Kind::Qemu || has_program {
            return Ok(());
        }
        Err(Error::log(&self.path, LogProblem::OnlyAddresses))
    }

    /// Passes the whole log to a sink. Returns the sink, and how reading ended. `xlen` is used if the log does not have it; `image` is
    /// the program, whose code QEMU's log lacks.
    pub fn read<S: HartSink>(self, xlen: Xlen, image: &Image, mut sink: S) -> (S, LogEnd) {
        let (kind, input) = match self.input {
            Input::Own(mut reader) => {
                let result = reader.read(&mut sink);
                return (sink, result.err().map(LogError::from).into());
            }
            Input::Retirement(mut log, thread) => {
                let result = log.read(thread, &mut sink);
                let error = result.as_ref().err().or(log.damage());
                return (sink, error.map(|error| error.to_string().into()).into());
            }
            Input::Other(kind, input) => (kind, input),
        };
        let mut reader = log::Reader::new(kind, xlen, input, |pc| bits(image, pc));
        if self.is_in_sequence {
            reader = reader.in_sequence();
        }
        let mut blocks = Blocks::new(xlen, sink);
        let mut end = LogEnd::default();
        loop {
            let retired = match reader.next() {
                Ok(Some(retired)) => retired,
                Ok(None) => break,
                Err(error) => {
                    end.error = Some(error.into());
                    break;
                }
            };
            if let Some(gap) = reader.gap() {
                end.gaps += 1;
                end.first_gap.get_or_insert_with(|| gap.to_string());
                blocks.gap();
            }
            blocks.take(&retired);
        }
        (blocks.finish(), end)
    }
}

/// Returns the bits of the instruction at an address of the program.
pub fn bits(image: &Image, pc: u64) -> Option<u32> {
    let mut bytes = [0; 4];
    let got = image.read_into(pc, MemorySpace::ANY, &mut bytes);
    (got >= 2).then(|| u32::from_le_bytes(bytes)).filter(|bits| got == 4 || bits & 3 != 3)
}
