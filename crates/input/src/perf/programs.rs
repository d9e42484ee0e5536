//! Programs of a recording as an image: the mappings of each process, the kernel, its modules.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use tracewright_core::MemorySpace;
use tracewright_image::{Builder, Bytes, FileId, Image, Place};

use super::made::MadeFile;
use super::search::{BinaryNotFound, Found, NO_FILE, Search};
use super::timeline::{Mapped, MappedFile, Origin, Timeline};
use crate::debuginfod::Debuginfod;
use crate::problem::{Problem, Severity};
use crate::program::map_file;

/// Mappings of a recording over time, and where to search for the files.
#[derive(Debug)]
pub struct RecordedPrograms {
    pub(super) timeline: Timeline,
    /// Path of the recording.
    pub(super) path: PathBuf,
    /// Folders to search.
    pub(super) symfs: Vec<PathBuf>,
    /// Path of the kernel's memory, if it was recorded.
    pub(super) kcore: Option<PathBuf>,
    pub(super) release: Option<String>,
    /// Whether RISC-V harts were traced.
    pub(super) is_riscv: bool,
    /// Offset of `.text` from the start of each kernel module.
    pub(super) modules: HashMap<String, u64>,
}

/// Code that the kernel maps into each process; collectors store it like a file.
const VDSO: &str = "[vdso]";
/// Most files that are named one by one.
const MOST_NAMED: usize = 5;

impl RecordedPrograms {
    /// Returns whether RISC-V harts were traced.
    pub fn is_riscv(&self) -> bool {
        self.is_riscv
    }

    /// Returns the folders to search.
    pub(crate) fn symfs(&self) -> &[PathBuf] {
        &self.symfs
    }

    /// Adds all programs to an image. Returns problems with wrong or missing files.
    pub(crate) fn add_to(&self, builder: &mut Builder, debuginfod: Option<&Debuginfod>) -> Vec<Problem> {
        let Self { timeline, symfs, .. } = self;
        let mut found = Files {
            search: Search::new(symfs, &self.path, self.release.as_deref())
                .of_riscv(self.is_riscv)
                .asking(debuginfod),
            ids: HashMap::new(),
            missing: Vec::new(),
            wrong: Vec::new(),
            used: Vec::new(),
        };
        for dir in symfs.iter().filter(|dir| !dir.is_dir()) {
            found.wrong.push(Problem::memory_error(dir, "no such folder (--symfs)"));
        }
        for memory in &timeline.memories {
            let Some(number) = builder.number(memory.before) else { break };
            let space = MemorySpace::ANY.of_process(number);
            for (&start, mapped) in &*memory.mappings {
                // Memory of the kernel that was recorded has the code of all functions.
                if timeline.files[mapped.file as usize].origin == Origin::NoCode && self.kcore.is_some() {
                    continue;
                }
                let file = found.id(builder, mapped.file, timeline);
                builder.map(file, start..mapped.end, mapped.offset, space);
            }
        }
        // Code that was made or changed at run time lies above the kernel's own.
        let run_time =
            timeline.run_time_kernel.map(|process| &timeline.processes[process as usize].memories[..]);
        let (own, above) = run_time
            .and_then(<[_]>::split_first)
            .map_or((None, &[][..]), |(own, above)| (Some(own.1), above));
        let has_kernel = own.is_some() || !timeline.kernel.is_empty() || self.kcore.is_some();
        if let Some(number) = own.or_else(|| builder.number(0)).filter(|_| has_kernel) {
            builder.processes().kernel(0, number);
            above.iter().for_each(|&(time, number)| builder.processes().kernel(time, number));
            self.kernel(builder, &mut found, MemorySpace::ANY.of_process(number));
        }
        let processes = builder.processes();
        let numbers: Vec<u32> = timeline
            .processes
            .iter()
            .map(|process| {
                let (first, rest) = process.memories.split_first().unwrap_or((&(0, 0), &[]));
                let added = processes.add(first.1);
                rest.iter().for_each(|&(time, number)| processes.changed(added, time, number));
                added
            })
            .collect();
        for &(tid, time, process) in &timeline.threads {
            processes.thread(tid, time, numbers[process as usize]);
        }
        found.problems(&self.path, symfs)
    }

    fn kernel(&self, builder: &mut Builder, found: &mut Files<'_>, space: MemorySpace) {
        let files = &self.timeline.files;
        let is_module = |mapped: &Mapped| is_module(&files[mapped.file as usize].path);
        for (range, mapped) in self.timeline.kernel.iter().filter(|(_, mapped)| is_module(mapped)) {
            let file = &files[mapped.file as usize];
            let placed = found.file(file).and_then(|Found { path, bytes, .. }| {
                let text = self.modules.get(&file.path).copied();
                elf(builder, &path, bytes, Place::Module { start: range.start, text }, space)?;
                builder.ran_as(&file.path);
                Ok(())
            });
            if let Err(missing) = placed {
                found.absent(builder, file, missing, (range.clone(), space));
            }
        }
        if let Some(path) = &self.kcore {
            let added = map_file(path).map_err(|problem| problem.message);
            let added = added.and_then(|bytes| {
                let name = path.display().to_string();
                builder.elf(&name, bytes, None, space).map_err(|error| error.reason.to_string())
            });
            match added {
                Ok(()) => return,
                Err(message) => found.wrong.push(Problem::missing_code(path, message)),
            }
        }
        let Some((range, mapped)) = self.timeline.kernel.iter().find(|(_, mapped)| !is_module(mapped)) else {
            return;
        };
        let file = &files[mapped.file as usize];
        let placed = found.search.kernel(file).and_then(|Found { path, bytes, .. }| {
            found.used.push(path.clone());
            let at = kernel_place(&bytes, range.start, mapped, &file.path);
            elf(builder, &path, bytes, at, space)
        });
        if let Err(missing) = placed {
            found.absent(builder, file, missing, (range.clone(), space));
        }
    }
}

/// Returns whether a file that was mapped in the kernel is a module rather than the kernel itself.
fn is_module(path: &str) -> bool {
    !path.starts_with("[kernel") && !path.starts_with("[guest.kernel")
}

fn elf(
    builder: &mut Builder,
    path: &Path,
    bytes: Bytes,
    at: Place,
    space: MemorySpace,
) -> Result<(), BinaryNotFound> {
    let name = path.display().to_string();
    let added = builder.elf(&name, bytes, at, space);
    added.map_err(|error| BinaryNotFound { tried: vec![(path.to_owned(), error.reason.to_string())] })
}

/// Returns the place of the kernel: the recorder names one of its symbols and the address of that.
fn kernel_place(bytes: &Bytes, start: u64, mapped: &Mapped, path: &str) -> Place {
    let mut builder = Image::builder();
    if builder.elf("", bytes.clone(), None, MemorySpace::ANY).is_err() {
        return Place::AsLinked;
    }
    let image = builder.build();
    // A dump of its memory has no symbols and is at its final address.
    let is_core = bytes.as_slice().get(16..18) == Some(&[4, 0]);
    let symbol = path.split_once(']').map_or("", |(_, symbol)| symbol);
    let linked = image.symbols().resolve(symbol).map(|range| range.start);
    let linked = linked.or_else(|| {
        let text = image.regions().find_map(|region| region.section_named(".text"));
        text.map(|section| section.range.start)
    });
    // Linux perf gives the symbol's address as the mapping's offset, simpleperf as its start.
    let at = if mapped.offset != 0 { mapped.offset } else { start };
    match linked {
        Some(linked) if at != 0 && !is_core => Place::Bias(at.wrapping_sub(linked)),
        _ => Place::AsLinked,
    }
}

/// Files, found or not, each searched for once.
struct Files<'a> {
    search: Search<'a>,
    /// By index of the file.
    ids: HashMap<u32, FileId>,
    /// Files that were not found, with the reason.
    missing: Vec<(String, BinaryNotFound)>,
    wrong: Vec<Problem>,
    /// Paths of the found files.
    used: Vec<PathBuf>,
}

impl Files<'_> {
    fn file(&mut self, file: &MappedFile) -> Result<Found, BinaryNotFound> {
        let found = self.search.file(file)?;
        self.used.push(found.path.clone());
        Ok(found)
    }

    /// Returns the ID of a file in the image. Each file is searched for and added once.
    fn id(&mut self, builder: &mut Builder, index: u32, timeline: &Timeline) -> FileId {
        if let Some(id) = self.ids.get(&index) {
            return *id;
        }
        let file = &timeline.files[index as usize];
        let id = match file.origin {
            Origin::File => self.mapped(builder, file),
            Origin::Made(made) => added(builder, timeline.made.get(made as usize)),
            Origin::KernelFunctions => added(builder, timeline.kernel_functions.as_ref()),
            Origin::KernelPatches => builder.patches(&file.path, timeline.kernel_patches.clone().into()),
            Origin::NoCode => builder
                .absent(&file.path, "its code was not recorded (perf record as root keeps BPF programs)"),
            Origin::Named => {
                builder.absent(&file.path, "perf-PID.map has its name, but no code: a jitdump file has both")
            }
        };
        self.ids.insert(index, id);
        id
    }

    /// Adds a file that was mapped, found or not.
    fn mapped(&mut self, builder: &mut Builder, file: &MappedFile) -> FileId {
        if !is_file(&file.path) {
            let name = if file.path.is_empty() { "no file" } else { &file.path };
            return builder.absent(name, "memory of no file: its code is not in a recording");
        }
        match self.file(file) {
            Ok(Found { path, bytes, debug }) => {
                let id = builder.file(&path.display().to_string(), bytes);
                builder.ran_as(&file.path);
                debug.into_iter().for_each(|debug| builder.debug(debug));
                id
            }
            Err(missing) => {
                let id = builder.absent(&file.path, &missing.to_string());
                // It is rarely available.
                if file.path != VDSO {
                    self.missing.push((file.path.clone(), missing));
                }
                id
            }
        }
    }

    /// Records that a file of the kernel is missing.
    fn absent(
        &mut self,
        builder: &mut Builder,
        file: &MappedFile,
        missing: BinaryNotFound,
        (range, space): (Range<u64>, MemorySpace),
    ) {
        let id = builder.absent(&file.path, &missing.to_string());
        builder.map(id, range, 0, space);
        self.missing.push((file.path.clone(), missing));
    }

    /// Returns the problems in few words, since most mapped code never runs.
    fn problems(self, recording: &Path, symfs: &[PathBuf]) -> Vec<Problem> {
        let Self { missing, mut wrong, used, .. } = self;
        for dir in symfs.iter().filter(|dir| dir.is_dir()) {
            let is_there = |(path, why): &(PathBuf, String)| path.starts_with(dir) && why != NO_FILE;
            let any_wrong = missing.iter().any(|(_, missing)| missing.tried.iter().any(is_there));
            if !missing.is_empty() && !any_wrong && !used.iter().any(|path| path.starts_with(dir)) {
                let message = "nothing of what was mapped is in this folder (--symfs): is it the right one? it should have \
                               the files under the paths that they had, by their names alone, or in .build-id";
                wrong.push(Problem::memory_warning(dir, message));
            }
        }
        let mut others: Vec<_> = missing.iter().flat_map(|(_, missing)| &missing.tried).collect();
        // A file in a folder that the user named is meant to be the right one; elsewhere there may be
        // anything.
        let is_meant = |path: &Path| symfs.iter().any(|dir| path.starts_with(dir));
        others.retain(|(path, why)| {
            why.contains("build ID is") || why.contains("no build ID") || why != NO_FILE && is_meant(path)
        });
        others.dedup_by_key(|(path, _)| path.clone());
        let not_here = |path: &Path, message: String| Problem {
            severity: Severity::Warning,
            ..Problem::missing_code(path, message)
        };
        for (path, why) in others.iter().take(MOST_NAMED) {
            wrong.push(not_here(path, format!("{why}: not used")));
        }
        if let Some(more) = others.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
            let message = format!("{more} more files are not what ran, or cannot be read");
            wrong.push(not_here(recording, message));
        }
        if let Some((first, why)) = missing.first() {
            let what = match missing.len() {
                1 => format!("{first}, which was mapped, is not here"),
                count => format!("{count} files that were mapped are not here, {first} for one"),
            };
            let how = if symfs.is_empty() { "; --symfs FOLDER says where to look" } else { "" };
            let message = format!("{what}: {}{how} (info --json tells of all)", why);
            wrong.push(not_here(recording, message));
        }
        wrong
    }
}

/// Adds code that was made at run time.
fn added(builder: &mut Builder, made: Option<&MadeFile>) -> FileId {
    match made {
        Some(made) => builder.file(&made.name, made.write().into()),
        None => builder.absent("", "its code is missing"),
    }
}

/// Returns whether this is a file rather than memory of a process or the kernel.
fn is_file(path: &str) -> bool {
    let no_files = ["//", "[", "/memfd:", "/dev/", "anon_inode:", "/SYSV"];
    path == VDSO || !path.is_empty() && !no_files.iter().any(|start| path.starts_with(start))
}
