//! Retirement logs: what tracewright's plugin for QEMU writes.

mod counts;
mod programs;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tracewright_core::{Block, Class, Ended};
use tracewright_input::file::{first_bytes, open_plain};
use tracewright_input::{Mapping, Process};
use tracewright_qemu::format::{Header, MAGIC, Off};
use tracewright_qemu::read::{Definitions, Log, Map, Translation};

pub use self::counts::{LogCounts, ThreadCounts};
pub use self::programs::{programs, symbols};
use crate::error::LogProblem;
use crate::{Error, Remark};

/// Returns whether a file is a retirement log.
pub fn is_log(path: &Path) -> bool {
    first_bytes(path) == Some(MAGIC)
}

/// Opens a retirement log.
pub fn open(path: &Path) -> Result<Log, Error> {
    let file = open_plain(path).map_err(|error| Error::read(path, error))?;
    Log::new(file).map_err(|error| Error::log(path, LogProblem::Damaged(error.into())))
}

/// Returns the name that a thread has as a source of a capture.
pub fn source_name(thread: u32) -> String {
    format!("thread{thread}")
}

/// Returns the thread that a source with this name is.
pub fn thread_of(source: &str) -> Option<u32> {
    source.strip_prefix("thread")?.parse().ok()
}

/// Returns the process that was recorded.
pub fn process(header: &Header, definitions: &Definitions) -> Process {
    let mapping = |map: &Map| Mapping {
        start: map.start,
        end: map.end,
        offset: map.offset,
        path: (!map.path.is_empty()).then(|| PathBuf::from(&map.path)),
        build_id: (!map.build_id.is_empty()).then(|| hex(&map.build_id)),
    };
    Process {
        pid: header.pid,
        command: command(definitions),
        mappings: definitions.maps().iter().map(mapping).collect(),
    }
}

/// Returns the name of the program.
pub fn command(definitions: &Definitions) -> String {
    let program = definitions.command().first().map(String::as_str).unwrap_or_default();
    let name = Path::new(program).file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Returns all code that was translated, as if each translation were a block.
pub fn translated(definitions: &Definitions) -> impl Iterator<Item = Block> {
    definitions.translations().iter().map(|translation| {
        let &Translation { start, end, isa, count, .. } = translation;
        Block { start, end, count, isa, last_len: isa.shortest(), class: Class::NEXT, ended: Ended::Through }
    })
}

/// Returns the half-words of all code that was translated, by address. What was something else later is left out: nobody is to take one for the other.
pub fn halfwords(definitions: &Definitions) -> HashMap<u64, [u8; 2]> {
    let mut all = HashMap::new();
    for translation in definitions.translations() {
        let code = definitions.code(translation);
        for (index, &half) in (0..).zip(code.as_chunks::<2>().0) {
            let known = all.entry(translation.start.wrapping_add(2 * index)).or_insert(Some(half));
            *known = known.filter(|&known| known == half);
        }
    }
    all.into_iter().filter_map(|(at, half)| Some((at, half?))).collect()
}

/// Returns a remark if other code ran than before at the same address.
pub fn changes(definitions: &Definitions, code: &HashMap<u64, [u8; 2]>) -> Option<Remark> {
    definitions.translations().iter().find_map(|translation| {
        let bytes = definitions.code(translation);
        let halves = (translation.start..).step_by(2).zip(bytes.as_chunks::<2>().0);
        let (address, _) = halves.into_iter().find(|(at, half)| code.get(at) != Some(half))?;
        Some(Remark::CodeChanged { address, is_kept: false })
    })
}

/// Returns how a thread's recording ended, in words.
pub const fn end_words(off: Option<Off>) -> &'static str {
    match off {
        Some(Off::Exit) => "ended",
        Some(Off::Stop) => "at the stop address",
        Some(Off::Limit) => "at the instruction limit",
        Some(Off::Exec) => "replaced (execve)",
        Some(Off::Failed) => "the log could not be written",
        None => "cut: killed, or crashed",
    }
}

/// Returns bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
