//! Retirement logs, which tracewright's QEMU plugin writes.

mod code;
mod counts;

use std::path::{Path, PathBuf};

use tracewright_core::{Block, Class, Ended, MemorySpace};
use tracewright_image::{Bytes, Image, Place};
use tracewright_input::file::{first_bytes, open_seekable};
use tracewright_input::{ImageFile, Mapping, Process, ProcessThread, build_id, map_file};
use tracewright_qemu::format::{Header, MAGIC, Off};
use tracewright_qemu::read::{Definitions, Log, Map, Translation};

pub(crate) use self::code::{CodePages, Missing, Piece};
pub use self::counts::{LogCounts, ThreadCounts};
use crate::error::LogProblem;
use crate::{Error, Remark};

/// Returns whether a file is a retirement log.
pub fn is_log(path: &Path) -> bool {
    first_bytes(path) == Some(MAGIC)
}

/// Opens a retirement log.
pub fn open(path: &Path) -> Result<Log, Error> {
    let file = open_seekable(path).map_err(|error| Error::read(path, error))?;
    Log::new(file).map_err(|error| Error::log(path, LogProblem::Damaged(error.into())))
}

/// Returns the name of the source that stands for a thread in a capture.
pub fn source_name(thread: u32) -> String {
    format!("thread{thread}")
}

/// Returns the thread that a source with this name stands for.
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
    let threads = definitions.tids().map(|tid| ProcessThread { tid, name: String::new() });
    Process {
        pid: header.pid,
        command: command(definitions),
        threads: threads.collect(),
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

/// Returns the bytes of all code that was translated, with their addresses.
pub(crate) fn code(definitions: &Definitions) -> impl Iterator<Item = (u64, Vec<u8>)> {
    definitions.translations().iter().map(|translation| (translation.start, definitions.code(translation)))
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

/// Returns each mapped file once for each place it was mapped at. A file that is gone or has changed is left out with a remark; only the
/// log has its code.
pub fn programs(maps: &[Map], remarks: &mut Vec<Remark>) -> Vec<ImageFile> {
    let mut found: Vec<ImageFile> = Vec::new();
    let mut refused: Vec<&str> = Vec::new();
    for map in maps.iter().filter(|map| !map.path.is_empty()) {
        if refused.contains(&map.path.as_str()) {
            continue;
        }
        match program(map) {
            Ok(Some(file)) if !found.contains(&file) => found.push(file),
            Ok(_) => {}
            Err(why) => {
                let remark = Remark::FileGone((&map.path).into(), why);
                if !remarks.contains(&remark) {
                    remarks.push(remark);
                }
                refused.push(&map.path);
            }
        }
    }
    found
}

/// Returns the file of a mapping with the address of its first byte; `None` if it is not an ELF file.
fn program(map: &Map) -> Result<Option<ImageFile>, String> {
    let path = map.path.as_str().as_ref();
    let ran = (!map.build_id.is_empty()).then(|| hex(&map.build_id));
    let bytes = file_that_ran(path, ran.as_deref())?;
    if !bytes.as_slice().starts_with(b"\x7fELF") {
        return Ok(None);
    }
    let mut builder = Image::builder();
    let place = Place::Mapping { address: map.start, offset: map.offset };
    builder.elf("", bytes, place, MemorySpace::ANY).map_err(|error| error.reason.to_string())?;
    let image = builder.build();
    let lowest = image.regions().map(|region| region.range().start).min();
    // The address of its first page, as in /proc/PID/maps.
    Ok(lowest.map(|lowest| ImageFile { path: path.into(), at: Some(lowest & !0xfff) }))
}

/// Returns the bytes of a mapped file. Fails if its build ID is no longer this one.
pub(crate) fn file_that_ran(path: &Path, id: Option<&str>) -> Result<Bytes, String> {
    if let Some(id) = id {
        let found = build_id(path).map_err(|problem| problem.message)?;
        if found.as_deref() != Some(id) {
            return Err(format!("its build ID is {}, and {id} ran", found.as_deref().unwrap_or("none")));
        }
    }
    map_file(path).map_err(|problem| problem.message)
}

/// Returns the symbols of the mapped files. Skips files that cannot be read; [`programs`] reports them.
pub fn symbols(maps: &[Map]) -> Image {
    let mut builder = Image::builder();
    for file in programs(maps, &mut Vec::new()) {
        if let Ok(bytes) = map_file(&file.path) {
            let _ = builder.elf("", bytes, file.at, MemorySpace::ANY);
        }
    }
    builder.build()
}
