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
