//! Mappings of a running program, as in `/proc/PID/maps` and perf's `MMAP` records.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::capture::Program;
use crate::program::ImageFile;

/// Traced process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Process ID.
    pub pid: u32,
    /// Name of the command.
    pub command: String,
    /// Its threads, as far as they are known.
    pub threads: Vec<ProcessThread>,
    /// Executable mappings in the order in which they were made; later ones replace earlier ones where they
    /// overlap.
    pub mappings: Vec<Mapping>,
}

/// Thread of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessThread {
    /// Thread ID.
    pub tid: u32,
    /// Name; empty if unknown.
    pub name: String,
}

/// Executable mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
    /// File offset of the byte at `start`.
    pub offset: u64,
    /// Path of the file, relative to the capture's folder; `None` for memory without a file.
    pub path: Option<PathBuf>,
    /// Build ID in hexadecimal, if the file has one.
    pub build_id: Option<String>,
}

/// Returns the file that was mapped to all of these bytes and the offset of the first; `None` if processes
/// differ.
pub(crate) fn mapped(processes: &[Process], address: u64, length: u64) -> Option<(&Path, u64)> {
    let end = address.checked_add(length)?;
    let mut found = None;
    for process in processes {
        // The last mapping counts.
        let mut mappings = process.mappings.iter().rev();
        let Some(last) = mappings.find(|mapping| mapping.start < end && address < mapping.end) else {
            continue;
        };
        if address < last.start || last.end < end {
            return None;
        }
        let this = (last.path.as_deref()?, last.offset.checked_add(address - last.start)?);
        if *found.get_or_insert(this) != this {
            return None;
        }
    }
    found
}

/// Returns the files of mappings, with paths relative to `dir`. They give symbols and lines; memory dumps give the code.
pub fn programs(dir: &Path, processes: &[Process]) -> Vec<Program> {
    let mut places = HashSet::new();
    let mappings = processes.iter().flat_map(|process| &process.mappings);
    let program = |mapping: &Mapping| {
        let path = dir.join(mapping.path.as_ref()?);
        // A file that is mapped in pieces is one program.
        places.insert((path.clone(), mapping.start.wrapping_sub(mapping.offset))).then(|| Program {
            file: ImageFile { path, at: Some(mapping.start) },
            offset: Some(mapping.offset),
            build_id: mapping.build_id.clone(),
        })
    };
    mappings.filter_map(program).collect()
}
