//! Logs of executions as captures: tracewright's own log of a hart, and the retirement log of its QEMU plugin.
//!
//! A log reports what ran, so it is decoded without a program: `protocol` gives it to the engine as a protocol whose packets are the
//! chunks of the log. A log of a hart is one source. Each thread of a retirement log is a source with a buffer of its own, whose pieces
//! are the thread's chunks in the file. The code that ran comes from the log as far as it has it, and from the programs that it and
//! the user name.

mod elements;
mod protocol;

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use tracewright_capture::log::{ExecutedCode, executed_by_hart, executed_by_process};
use tracewright_capture::retirement::{command, process, source_name};
use tracewright_core::Isa;
use tracewright_engine as engine;
use tracewright_hart::log::own;
use tracewright_image::{Bytes, Moment};
use tracewright_input::file::{compression, first_bytes};
use tracewright_input::{
    Buffer, Capture, Packing, Piece, Problem, Process, Protocol, Source, map_file, mapped_programs,
};
use tracewright_isa::riscv::Xlen;
use tracewright_qemu::format::{MAGIC, Target};
use tracewright_qemu::read::{Chunk, Log};

use self::protocol::{Contents, LogProtocol, Params};

/// Kind of log that can be opened as a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// Log of a hart, as `record` writes it.
    Hart,
    /// Retirement log of the QEMU plugin.
    Retirement,
}

impl LogKind {
    /// Returns what kind of log begins with these bytes.
    pub fn of(start: &[u8]) -> Option<Self> {
        if start.starts_with(own::MAGIC) {
            return Some(Self::Hart);
        }
        start.starts_with(&MAGIC).then_some(Self::Retirement)
    }
}

/// Returns what kind of log a file is.
pub(crate) fn kind(path: &Path) -> Option<LogKind> {
    LogKind::of(&first_bytes::<8>(path)?)
}

/// Opens a log as a capture.
///
/// # Errors
/// Fails if the file cannot be read, or its header is damaged. Other damage is in [`Capture::problems`], or found by decoding.
pub(crate) fn open(path: &Path, kind: LogKind) -> Result<Capture, Problem> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| engine::register(&LogProtocol));
    let bytes = map_file(path).map_err(|problem| Problem::file_error(path, problem.message))?;
    match kind {
        LogKind::Hart => of_hart(path, &bytes),
        LogKind::Retirement => {
            let mut capture = of_process(path, &bytes)?;
            if compression(path).is_some() {
                capture.buffers.iter_mut().for_each(|buffer| buffer.contents = Some(bytes.clone()));
            }
            Ok(capture)
        }
    }
}

/// Returns the instruction set of a source that a log describes.
pub(crate) fn isa(source: &Source) -> Option<Isa> {
    params(source).map(|params| params.isa)
}

/// Returns whether a source is a log with the cycle of each instruction.
pub(crate) fn has_cycles(source: &Source) -> bool {
    params(source).is_some_and(Params::has_cycles)
}

/// Returns a warning if a capture is a log without the code that ran.
pub(crate) fn lacks_code(capture: &Capture) -> Option<Problem> {
    let message = "the log has no code, only where it was: name the program with --image";
    let lacks = capture.sources.iter().filter_map(params).any(Params::lacks_code);
    lacks.then(|| Problem::memory_warning(&capture.path, message))
}

/// Returns whether a capture is a log, which has no packets.
pub fn is_log(capture: &Capture) -> bool {
    capture.sources.iter().any(|source| params(source).is_some())
}

fn params(source: &Source) -> Option<&Params> {
    match &source.protocol {
        Protocol::Registered(params) => (&**params as &dyn std::any::Any).downcast_ref(),
        _ => None,
    }
}

fn of_hart(path: &Path, bytes: &Bytes) -> Result<Capture, Problem> {
    let header = own::Header::read(bytes.as_slice().get(..own::Header::LEN).unwrap_or_default())
        .map_err(|error| Problem::file_error(path, error.to_string()))?;
    let isa = if header.xlen == Xlen::Rv32 { Isa::Rv32 } else { Isa::Rv64 };
    let mut capture = Capture { path: path.into(), ..Capture::default() };
    add_code(&mut capture, executed_by_hart(bytes.as_slice()));
    add_source(&mut capture, "hart0".into(), Params { id: 0, isa, contents: Contents::Hart(header) }, None);
    Ok(capture)
}

fn of_process(path: &Path, bytes: &Bytes) -> Result<Capture, Problem> {
    let failed = |message: String| Problem::file_error(path, message);
    let log = Log::new(Cursor::new(Contained(bytes.clone()))).map_err(|error| failed(error.to_string()))?;
    let isa = match log.header().target {
        Target::Aarch64 => Isa::A64,
        Target::Arm => Isa::A32,
        Target::Riscv64 => Isa::Rv64,
    };
    let mut capture = Capture { path: path.into(), ..Capture::default() };
    capture.description = Some(command(log.definitions())).filter(|command| !command.is_empty());
    capture.problems.extend(log.damage().map(|damage| failed(damage.to_string())));
    let notes = log.definitions().notes().iter();
    capture.problems.extend(notes.map(|note| Problem::file_warning(path, note)));
    let process: Process = process(log.header(), log.definitions());
    let (code, missing) = executed_by_process(log.definitions(), &process);
    add_code(&mut capture, code);
    let no_symbols = |(file, why): (PathBuf, String)| {
        Problem::memory_warning(&file, format!("{why}: no symbols of it; the code that ran is in the log"))
    };
    capture.problems.extend(missing.into_iter().map(no_symbols));
    capture.programs = mapped_programs(Path::new(""), std::slice::from_ref(&process));
    capture.processes = vec![process];
    let header = *log.header();
    let chunks_of = |index| (index, Arc::<[Chunk]>::from(log.chunks_of(index)));
    let threads: Vec<_> = log.threads().map(chunks_of).collect();
    let definitions = Arc::new(log.into_definitions());
    for (index, chunks) in threads {
        let Ok(id) = u16::try_from(index) else {
            let message = format!("it has more than {} threads: the others are left out", u16::MAX);
            capture.problems.push(failed(message));
            break;
        };
        let pieces = |chunk: &Chunk| Piece {
            offset: chunk.offset(),
            len: chunk.bytes(),
            moment: Moment::LAST,
            packed: None,
        };
        let pieces = chunks.iter().map(pieces).filter(|piece| piece.len > 0).collect();
        let contents = Contents::Thread { index, header, definitions: Arc::clone(&definitions), chunks };
        add_source(&mut capture, source_name(index), Params { id, isa, contents }, Some(pieces));
    }
    Ok(capture)
}

fn add_code(capture: &mut Capture, code: ExecutedCode) {
    if let Some(address) = code.changed {
        let message = format!("code changed while the program ran, at {address:#x} first: it is left out");
        capture.problems.push(Problem::memory_warning(&capture.path, message));
    }
    capture.code.extend(code.pieces.into_iter().map(|(address, bytes)| (address, bytes.into())));
}

/// Adds a source with a buffer of its own.
fn add_source(capture: &mut Capture, name: String, params: Params, pieces: Option<Vec<Piece>>) {
    let thread = params.thread_id();
    capture.buffers.push(Buffer {
        name: name.clone(),
        path: capture.path.clone(),
        format: Packing::Source,
        sources: vec![capture.sources.len()],
        pieces,
        contents: None,
        ring: None,
    });
    let source = Source::new(name, Protocol::Registered(Arc::new(params)));
    capture.sources.push(Source { thread, ..source });
}

/// Bytes that a cursor can read.
struct Contained(Bytes);

impl AsRef<[u8]> for Contained {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}
