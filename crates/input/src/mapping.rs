//! What was mapped where while a program ran, as `/proc/PID/maps` and perf's `MMAP` records tell it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::capture::Program;
use crate::program::ImageFile;

/// A process that was traced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Linux's number for it.
    pub pid: u32,
    /// The command's name.
    pub command: String,
    /// Executable mappings, in the order in which they were made: later ones replace earlier ones where they overlap.
    pub mappings: Vec<Mapping>,
}

/// An executable mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
    /// Offset in the file of what is at `start`.
    pub offset: u64,
    /// The file, seen from the capture's folder; `None`: memory that the program made or the kernel gave.
    pub path: Option<PathBuf>,
    /// Its build ID, in hexadecimal, if it has one.
    pub build_id: Option<String>,
}

/// The file that was mapped to all of these bytes, and the offset of the first of them in it; `None` if processes differ in that.
pub(crate) fn mapped(processes: &[Process], address: u64, length: u64) -> Option<(&Path, u64)> {
    let end = address.checked_add(length)?;
    let mut found = None;
    for process in processes {
        // The last that is there counts.
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

/// The files of mappings. They tell symbols and lines; memory dumps tell code.
pub(crate) fn programs(dir: &Path, processes: &[Process]) -> Vec<Program> {
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
