//! Search for mapped files on this machine.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use tracewright_image::{Bytes, Facts};

use super::record::BuildId;
use super::timeline::MappedFile;
use super::unpack::{ENDINGS, unpacked_file};
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
        match tried.len() {
            0 => f.write_str("nothing says where it is"),
            len if len > MOST_NAMED => {
                write!(f, "tried {} and {} more places", named.join(", "), len - MOST_NAMED)
            }
            _ => write!(f, "tried {}", named.join(", ")),
        }
    }
}

impl std::error::Error for BinaryNotFound {}

/// Finds the file of a binary called `path`, with this build ID if it has one. Searches the folders `symfs`,
/// the original path, perf's own store, and the folder of the file `beside`.
///
/// # Errors
/// Lists the files that were tried.
pub fn find_binary(
    path: &str,
    build_id: &[u8],
    symfs: &[PathBuf],
    beside: &Path,
) -> Result<Found, BinaryNotFound> {
    let search = Search { is_riscv: None, ..Search::new(symfs, beside, None) };
    let build_id = BuildId::new(build_id, None);
    let file = MappedFile { path: path.to_owned(), build_id };
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
        let cache = std::env::var_os("HOME").map(|home| Path::new(&home).join(".debug"));
        Self { symfs, listed, beside, cache, release, is_riscv: Some(false) }
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
        let found = self.first(file, with_other_names(path, places))?;
        Ok(Found { debug: self.debug(relative, &found), ..found })
    }

    /// Returns the debug file of a stripped file: a file with the same build ID and without code.
    fn debug(&self, relative: &Path, found: &Found) -> Option<Bytes> {
        let facts = Facts::of(found.bytes.as_slice()).filter(|facts| facts.is_stripped)?;
        let id = facts.build_id?;
        let hex = hex(id);
        let (first, rest) = hex.split_at_checked(2)?;
        let mut places = Vec::new();
        for dir in self.symfs.iter().map(PathBuf::as_path).chain([Path::new("/")]) {
            let debug = dir.join("usr/lib/debug");
            for dir in [dir, &debug] {
                places.push(dir.join(".build-id").join(first).join(format!("{rest}.debug")));
            }
            places.push(PathBuf::from(format!("{}.debug", debug.join(relative).display())));
        }
        places
            .extend(self.cache.iter().map(|dir| dir.join(".build-id").join(first).join(rest).join("debug")));
        places.push(PathBuf::from(format!("{}.debug", found.path.display())));
        places.into_iter().filter(|path| path.is_file()).find_map(|path| {
            let bytes = map_file(&path).ok()?;
            let has_more = Facts::of(bytes.as_slice())
                .is_some_and(|facts| !facts.is_stripped && facts.build_id == Some(id));
            has_more.then_some(bytes)
        })
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
        self.first(file, places)
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

    fn first(&self, file: &MappedFile, places: Vec<(PathBuf, Trust)>) -> Result<Found, BinaryNotFound> {
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
        Err(missing)
    }
}

/// Adds other names of the same kernel module to the places: compressed or not, with or without the path.
fn with_other_names(path: &str, places: Vec<(PathBuf, Trust)>) -> Vec<(PathBuf, Trust)> {
    let plain = ENDINGS.iter().find_map(|ending| path.strip_suffix(ending)).unwrap_or(path);
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
        let others = std::iter::once(stem.clone()).chain(ENDINGS.map(|ending| format!("{stem}{ending}")));
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
    let bytes = unpacked_file(map_file(path).map_err(|problem| problem.message)?)?;
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
