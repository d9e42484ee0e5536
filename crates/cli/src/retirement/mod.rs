//! Retirement logs: what tracewright's plugin for QEMU writes.

mod encode;
mod info;
mod programs;
mod stats;

use std::collections::HashMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use tracewright_core::{Block, Class, Ended};
use tracewright_input::file::{first_bytes, open_plain};
use tracewright_input::{Mapping, Process};
use tracewright_qemu::format::{Header, MAGIC, Off};
use tracewright_qemu::read::{Definitions, Log, Map, Translation};

pub use self::encode::{Asked, encode};
pub use self::info::info;
pub use self::programs::{programs, symbols};
pub use self::stats::stats;
use crate::output::{Error, report};

/// Whether a file is one.
pub fn is_log(path: &Path) -> bool {
    first_bytes(path) == Some(MAGIC)
}

/// Opens one.
pub fn open(path: &Path) -> Result<Log, Error> {
    let on = |error: &dyn Display| Error::Message(format!("{}: {error}", path.display()));
    Log::new(open_plain(path).map_err(|error| on(&error))?).map_err(|error| on(&error))
}

/// The name that a thread has as a source of a capture.
pub fn source_name(thread: u32) -> String {
    format!("thread{thread}")
}

/// The thread that a source with this name is.
pub fn thread_of(source: &str) -> Option<u32> {
    source.strip_prefix("thread")?.parse().ok()
}

/// The process that was recorded.
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

/// The name of the program.
pub fn command(definitions: &Definitions) -> String {
    let program = definitions.command().first().map(String::as_str).unwrap_or_default();
    let name = Path::new(program).file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// All code that was translated, as if each translation were a block.
pub fn translated(definitions: &Definitions) -> impl Iterator<Item = Block> {
    definitions.translations().iter().map(|translation| {
        let &Translation { start, end, isa, count, .. } = translation;
        Block { start, end, count, isa, last_len: isa.shortest(), class: Class::NEXT, ended: Ended::Through }
    })
}

/// Half-words of all code that was translated, by address. What was something else later is left out: nobody is to take one for the other.
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

/// Says where other code ran than before at the same address, if it did.
pub fn report_changes(definitions: &Definitions, code: &HashMap<u64, [u8; 2]>) {
    for translation in definitions.translations() {
        let bytes = definitions.code(translation);
        let halves = (translation.start..).step_by(2).zip(bytes.as_chunks::<2>().0);
        if let Some((at, _)) = halves.into_iter().find(|(at, half)| code.get(at) != Some(half)) {
            report(&format!(
                "code was changed while it ran, at {at:#x} for one: the capture leaves out what changed; the log has all of it"
            ));
            return;
        }
    }
}

/// How a thread's recording ended, in words.
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

/// Bytes in hexadecimal.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
