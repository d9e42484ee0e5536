//! Search for mapped files on this machine.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use tracewright_image::{Bytes, Facts};

use super::record::BuildId;
use super::timeline::{MappedFile, Origin};
use crate::compressed::Compression;
use crate::debug_file::{DebugFiles, perf_store};
use crate::debuginfod::{Debuginfod, Kind};
use crate::file::read_plain;
use crate::program::{foreign, hex, map_file};

#[derive(Debug)]
pub(super) struct Search<'a> {
    /// Folders that the user named: a copy of the machine's file tree, or a flat collection.
    symfs: &'a [PathBuf],
    /// Files by build ID, from a list in one of the folders, as simpleperf's scripts make it.
    listed: HashMap<String, PathBuf>,
    /// Folder of the recording.
    beside: PathBuf,
    /// perf's own store of files, by build ID.
    cache: Option<PathBuf>,
    /// Version of the kernel.
    release: Option<&'a str>,
    /// Whether a RISC-V hart was traced rather than an Arm core, if known.
    is_riscv: Option<bool>,
    /// Servers to ask in the end.
    debuginfod: Option<&'a Debuginfod>,
}

/// Error for a binary that was not found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BinaryNotFound {
    /// Files that were tried, each with the reason why it was rejected.
    pub tried: Vec<(PathBuf, String)>,
}

/// Mapped file, as found on this machine.
#[derive(Clone, Debug)]
pub struct Found {
    /// Path of the file.
    pub path: PathBuf,
    /// Unpacked bytes.
    pub bytes: Bytes,
    /// Debug file, if it was found.
    pub debug: Option<Bytes>,
}

/// Most tried files that are named.
const MOST_NAMED: usize = 2;
/// Reason for a file that does not exist.
pub(super) const NO_FILE: &str = "no such file";
/// Most bytes of a list of build IDs.
const MOST_LIST: u64 = 16 << 20;

impl fmt::Display for BinaryNotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A wrong file says most, a path by build ID least.
        let mut tried: Vec<_> = self.tried.iter().collect();
        tried.sort_by_key(|(path, why)| {
            (why == NO_FILE, path.components().any(|part| part.as_os_str() == ".build-id"))
        });
        let name = |(path, why): &&(PathBuf, String)| match why.as_str() {
            NO_FILE => path.display().to_string(),
            why => format!("{} ({why})", path.display()),
        };
        let named: Vec<_> = tried.iter().take(MOST_NAMED).map(name).collect();
        let mut folders: Vec<String> = Vec::new();
        for (path, _) in tried.iter().skip(MOST_NAMED) {
            let folder = folder(path).display().to_string();
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        match (named.is_empty(), folders.is_empty()) {
            (true, _) => f.write_str("nothing says where it is"),
            (_, true) => write!(f, "tried {}", named.join(", ")),
            _ => write!(f, "tried {}, and looked in {}", named.join(", "), folders.join(", ")),
        }
    }
}

/// Returns the folder that was searched for this path: of paths by build ID, the one with all of them.
fn folder(path: &Path) -> &Path {
    let by_id = path.ancestors().find(|folder| folder.ends_with(".build-id"));
    by_id.or(path.parent()).filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(path)
}

impl std::error::Error for BinaryNotFound {}

/// Finds the file of a binary called `path`, with this build ID if it has one. Searches the folders `symfs`,
/// the original path, perf's own store, and the folder of the file `beside`, and asks the servers of `debuginfod`.
///
/// # Errors
/// Lists the files that were tried.
pub fn find_binary(
    path: &str,
    build_id: &[u8],
    symfs: &[PathBuf],
    beside: &Path,
    debuginfod: Option<&Debuginfod>,
) -> Result<Found, BinaryNotFound> {
    let search = Search { is_riscv: None, debuginfod, ..Search::new(symfs, beside, None) };
    let build_id = BuildId::new(build_id, None);
    let file = MappedFile { path: path.to_owned(), build_id, origin: Origin::File };
    if path.starts_with("[kernel.") { search.kernel(&file) } else { search.file(&file) }
}

impl<'a> Search<'a> {
    pub fn new(symfs: &'a [PathBuf], recording: &Path, release: Option<&'a str>) -> Self {
        let mut listed = HashMap::new();
        for dir in symfs {
            let list = dir.join("build_id_list");
            let text = read_plain(&list, MOST_LIST).unwrap_or_default();
            let text = String::from_utf8(text).unwrap_or_default();
            for (id, path) in text.lines().filter_map(|line| line.split_once('=')) {
                let id = id.trim().trim_start_matches("0x").to_ascii_lowercase();
                listed.insert(id.trim_end_matches("00").to_owned(), dir.join(path.trim()));
            }
        }
        let parent = recording.parent().filter(|parent| !parent.as_os_str().is_empty());
        let beside = parent.unwrap_or(Path::new(".")).to_owned();
        Self { symfs, listed, beside, cache: perf_store(), release, is_riscv: Some(false), debuginfod: None }
    }

    /// Searches for programs of RISC-V harts, or of Arm cores.
    pub fn of_riscv(self, is_riscv: bool) -> Self {
        Self { is_riscv: Some(is_riscv), ..self }
    }

    /// Asks these servers in the end.
    pub fn asking(self, debuginfod: Option<&'a Debuginfod>) -> Self {
        Self { debuginfod, ..self }
    }

    /// Returns where a file with this path may be, its own place last, without its contents as proof.
    pub fn by_path(&self, path: &str) -> Vec<PathBuf> {
        let mut places = self.beside_or_named(path);
        places.push(path.into());
        places
    }

    /// Returns where a file with this path may be in folders of the user, and beside the recording.
    pub fn beside_or_named(&self, path: &str) -> Vec<PathBuf> {
        let relative = Path::new(path.trim_start_matches('/'));
        let Some(name) = relative.file_name() else { return Vec::new() };
        let named = self.symfs.iter().flat_map(|dir| [dir.join(relative), dir.join(name)]);
        named.chain([self.beside.join(name)]).collect()
    }

    /// Finds a mapped file.
    pub fn file(&self, file: &MappedFile) -> Result<Found, BinaryNotFound> {
        // A library inside an archive is mapped as a part of the archive.
        let path = file.path.split("!/").next().unwrap_or_default();
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        let relative = Path::new(path.trim_start_matches('/'));
        let name = relative.file_name().map(Path::new);
        let mut places = Vec::new();
        for dir in self.symfs {
            places.push((dir.join(relative), Trust::Named));
            places.extend(name.map(|name| (dir.join(name), Trust::Named)));
        }
        self.by_build_id(file, "elf", &mut places);
        // A file found by chance counts only if it is the same.
        if path.starts_with('/') || self.is_riscv.is_none() {
            places.push((path.into(), Trust::Same));
        }
        places.extend(name.map(|name| (self.beside.join(name), Trust::Proved)));
        let found = self.first(file, with_other_names(path, places), &[Kind::Executable])?;
        let debug_files = DebugFiles { symfs: self.symfs, debuginfod: self.debuginfod };
        Ok(Found { debug: debug_files.find(&found.path, relative, &found.bytes), ..found })
    }

    /// Finds the kernel.
    pub fn kernel(&self, file: &MappedFile) -> Result<Found, BinaryNotFound> {
        let mut places = Vec::new();
        for dir in self.symfs {
            places.extend(["vmlinux", "kcore"].map(|name| (dir.join(name), Trust::Named)));
            for release in self.release.into_iter().filter(|release| !release.contains('/')) {
                let names = [
                    format!("boot/vmlinux-{release}"),
                    format!("lib/modules/{release}/vmlinux"),
                    format!("lib/modules/{release}/build/vmlinux"),
                    format!("usr/lib/debug/boot/vmlinux-{release}"),
                    format!("usr/lib/debug/lib/modules/{release}/vmlinux"),
                ];
                places.extend(names.map(|name| (dir.join(name), Trust::Named)));
            }
        }
        self.by_build_id(file, "vmlinux", &mut places);
        places.push((self.beside.join("vmlinux"), Trust::Proved));
        // Servers have the kernel with its code as the debug file.
        self.first(file, places, &[Kind::Executable, Kind::DebugInfo])
    }

    /// Adds the paths where a file with this build ID would be. `stored` is its name in perf's own store.
    fn by_build_id(&self, file: &MappedFile, stored: &str, places: &mut Vec<(PathBuf, Trust)>) {
        let Some(id) = &file.build_id else { return };
        let hex = id.hex();
        places.extend(self.listed.get(hex.trim_end_matches("00")).map(|path| (path.clone(), Trust::Named)));
        let (Some(first), Some(rest)) = (hex.get(..2), hex.get(2..)) else { return };
        for dir in self.symfs.iter().chain(&self.cache) {
            let dir = dir.join(".build-id").join(first);
            places.push((dir.join(rest).join(stored), Trust::Proved));
            places.push((dir.join(rest), Trust::Proved));
            places.push((dir.join(format!("{rest}.debug")), Trust::Proved));
        }
    }

    /// Returns the first file that is the right one, and asks servers for these kinds of files in the end.
    fn first(
        &self,
        file: &MappedFile,
        places: Vec<(PathBuf, Trust)>,
        kinds: &[Kind],
    ) -> Result<Found, BinaryNotFound> {
        let mut missing = BinaryNotFound::default();
        for (path, trust) in places {
            match check(&path, file, trust, self.is_riscv) {
                Ok(bytes) => return Ok(Found { path, bytes, debug: None }),
                Err(why) => {
                    if !missing.tried.iter().any(|(tried, _)| *tried == path) {
                        missing.tried.push((path, why));
                    }
                }
            }
        }
        let servers = self.debuginfod.zip(file.build_id.as_ref());
        for (kind, (debuginfod, id)) in kinds.iter().filter_map(|kind| Some((kind, servers?))) {
            let place = PathBuf::from(format!("debuginfod ({})", kind.name()));
            let fetched = debuginfod.fetch(&id.0, *kind).map_err(|error| (place, error.to_string()));
            let checked = fetched.and_then(|path| match check(&path, file, Trust::Proved, self.is_riscv) {
                Ok(bytes) => Ok(Found { path, bytes, debug: None }),
                Err(why) => Err((path, why)),
            });
            match checked {
                Ok(found) => return Ok(found),
                Err(tried) => missing.tried.push(tried),
            }
        }
        Err(missing)
    }
}

/// Adds other names of the same kernel module to the places: compressed or not, with or without the path.
fn with_other_names(path: &str, places: Vec<(PathBuf, Trust)>) -> Vec<(PathBuf, Trust)> {
    let plain = Compression::ENDINGS.iter().find_map(|ending| path.strip_suffix(ending)).unwrap_or(path);
    // A file that perf did not find has the module's name in brackets.
    let bracketed = plain.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    // The code that the kernel maps into each process is not a module.
    let bracketed = bracketed.filter(|name| !name.is_empty() && *name != "vdso");
    if !plain.ends_with(".ko") && bracketed.is_none() {
        return places;
    }
    let mut all = Vec::new();
    for (place, trust) in places {
        let text = place.display().to_string();
        let stem = match bracketed {
            Some(name) => text.strip_suffix(path).map(|dir| format!("{dir}{name}.ko")),
            None => text.strip_suffix(path.rsplit('/').next().unwrap_or(path)).map(|dir| {
                let name = plain.rsplit('/').next().unwrap_or(plain);
                format!("{dir}{name}")
            }),
        };
        all.push((place, trust));
        let Some(stem) = stem else { continue };
        let others =
            std::iter::once(stem.clone()).chain(Compression::ENDINGS.map(|ending| format!("{stem}{ending}")));
        all.extend(others.map(|other| (other.into(), trust)));
    }
    all
}

/// Evidence that a file must give to be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    /// Named by the user: it must not have a different build ID.
    Named,
    /// Same path: without any build ID it is accepted.
    Same,
    /// The build ID must match.
    Proved,
}

/// Returns the bytes of a file, if it is the one that was mapped.
fn check(path: &Path, file: &MappedFile, trust: Trust, is_riscv: Option<bool>) -> Result<Bytes, String> {
    let metadata = path.metadata().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => NO_FILE.to_owned(),
        _ => error.to_string(),
    })?;
    if !metadata.is_file() {
        return Err("not a file".into());
    }
    let bytes = map_file(path).map_err(|problem| problem.message)?;
    if let Some(machine) = is_riscv.and_then(|is_riscv| foreign(bytes.as_slice(), is_riscv)) {
        return Err(format!("a program for {machine}"));
    }
    let facts = Facts::of(bytes.as_slice());
    if facts.is_some_and(|facts| !facts.has_code) {
        return Err("it has no code, only debug information".into());
    }
    match (&file.build_id, facts.and_then(|facts| facts.build_id)) {
        (Some(id), Some(found)) if !id.is(found) => {
            Err(format!("its build ID is {}, and {} ran", hex(found), id.hex()))
        }
        (Some(_), Some(_)) => Ok(bytes),
        (None, _) if trust == Trust::Proved => Err("nothing says that it is the same".into()),
        (Some(_), None) if trust != Trust::Named => Err("without a build ID".into()),
        (Some(id), None) if bytes.as_slice().starts_with(b"\x7fELF") => {
            Err(format!("it has no build ID, and {} ran", id.hex()))
        }
        _ => Ok(bytes),
    }
}
