//! Path lookup: every path of the program is resolved here, name by name, so that none leads out of its root.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, OFlags};

use super::descriptors::Device;
use super::errno::Errno;
use super::guest;
use super::host::{Dir, Named};
use super::stat::Stat;

/// Maximum number of symbolic links that Linux follows in one path.
const MOST_LINKS: usize = 40;

/// A folder of the host that the program sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Absolute path for the program.
    pub at: PathBuf,
    /// Path on the host.
    pub host: PathBuf,
    /// Set if the program may change what is in it.
    pub writable: bool,
}

/// The file tree that a program sees.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Mounts with their folders, the longest paths first.
    mounts: Vec<(Names, Mount, Arc<Dir>)>,
    /// Target of `/proc/self/exe` on the host.
    program: PathBuf,
    program_folder: Option<Arc<Dir>>,
    /// Set if `/dev`, `/proc` and `/sys` are provided by Linux.
    is_linux: bool,
}

/// A path without links, from the root.
pub type Names = Vec<OsString>;

/// A folder that the program sees, with the folders it was reached through. It stays the same folder if names change.
#[derive(Clone, Debug)]
pub struct Folder {
    root: Arc<Level>,
    /// Folders from the root.
    below: Vec<Arc<Level>>,
}

/// One folder of a path.
#[derive(Clone, Debug)]
struct Level {
    name: OsString,
    /// Folder of the host. `None` if the host has none because the path leads to a mount or Linux provides the contents.
    dir: Option<Arc<Dir>>,
    /// Path on the host when it was found.
    path: PathBuf,
    writable: bool,
}

/// Target of a path.
#[derive(Debug)]
pub enum Place {
    /// Something of the host, or nothing yet.
    Host(Box<Found>),
    /// A file that Linux provides.
    Special(Special),
}

/// A place in the host's file system: a folder and a name in it.
#[derive(Debug)]
pub struct Found {
    /// Path for the program.
    pub names: Names,
    /// Path on the host, for captures and messages. The program can replace what is there; use [`dir`](Self::dir) instead.
    pub path: PathBuf,
    dir: Option<Arc<Dir>>,
    /// Name in that folder; `.` for the folder itself.
    pub name: OsString,
    /// Status; `None` if it does not exist (its folder does).
    pub stat: Option<Stat>,
    /// The folder that it is, if it is one.
    pub folder: Option<Folder>,
    /// Set if the program may change it.
    pub writable: bool,
    /// Set if the path ended in `/`, so that it must be a folder.
    pub is_folder: bool,
}

/// Files that Linux provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// A device.
    Device(Device),
    /// `/dev/tty`, which cannot be opened.
    Terminal,
    /// `/dev/stdin`, `/dev/fd/3` and similar: the file of a descriptor.
    Descriptor(i32),
    /// `/proc/self/exe`, not followed.
    Program,
}

impl Folder {
    fn here(&self) -> &Level {
        self.below.last().unwrap_or(&self.root)
    }

    /// Returns the path for the program.
    pub fn names(&self) -> Names {
        self.below.iter().map(|level| level.name.clone()).collect()
    }

    /// Returns the host's folder, or ENOENT if the host has none.
    pub fn dir(&self) -> Result<&Dir, Errno> {
        self.here().dir.as_deref().ok_or(Errno::ENOENT)
    }

    fn with(&self, level: Level) -> Self {
        let mut folder = self.clone();
        folder.below.push(Arc::new(level));
        folder
    }
}

impl Found {
    /// Returns the host's folder that contains [`name`](Self::name), or EROFS if the host has none, so that nothing can
    /// be created there.
    pub fn dir(&self) -> Result<&Dir, Errno> {
        self.dir.as_deref().ok_or(Errno::EROFS)
    }

    /// Returns the status, or ENOENT if it does not exist.
    pub fn stat(&self) -> Result<&Stat, Errno> {
        self.stat.as_ref().ok_or(Errno::ENOENT)
    }

    /// Opens it as a regular file. Returns EACCES for devices and pipes of the host.
    pub fn open(&self, flags: OFlags) -> Result<File, Errno> {
        Errno::EACCES.when(self.stat()?.kind() != FileType::RegularFile)?;
        self.dir()?.file(&self.name, flags, 0)
    }
}

/// Result of looking up a name in a folder of the tree.
enum Look {
    Missing,
    Folder(Level, Stat),
    /// A folder that the host does not have.
    Made(Level),
    Link(OsString, Stat),
    Other(Stat),
    Special(Special),
}

impl Tree {
    /// Creates a tree of these mounts, one of which must be at `/`. `program` is the path of the program on the host. The
    /// error is the folder of a mount that cannot be opened, and why.
    pub fn new(mounts: Vec<Mount>, program: PathBuf) -> Result<Self, (PathBuf, io::Error)> {
        let mut open = Vec::new();
        for mount in mounts {
            let dir = Dir::open(&mount.host).map_err(|error| (mount.host.clone(), error))?;
            open.push((names(mount.at.as_os_str()), mount, Arc::new(dir)));
        }
        open.sort_by_key(|(names, ..)| usize::MAX - names.len());
        let program_folder = program.parent().and_then(|folder| Dir::open(folder).ok()).map(Arc::new);
        Ok(Self { mounts: open, program, program_folder, is_linux: true })
    }

    /// Creates a read-only tree of a folder's files, without files that Linux provides.
    pub fn of_folder(host: &Path) -> io::Result<Self> {
        let mount = Mount { at: "/".into(), host: host.to_path_buf(), writable: false };
        let tree = Self::new(vec![mount], PathBuf::new()).map_err(|(_, error)| error)?;
        Ok(Self { is_linux: false, ..tree })
    }

    /// Returns the path under which the program sees itself.
    pub fn program(&self) -> PathBuf {
        self.seen(&self.program)
    }

    /// Returns the path under which the program sees a file of the host, or else the host's own path.
    pub fn seen(&self, host: &Path) -> PathBuf {
        let inside = |(names, mount, _): &(Names, Mount, _)| {
            let rest = host.strip_prefix(&mount.host).ok()?;
            Some(text(names).join(rest))
        };
        self.mounts.iter().find_map(inside).unwrap_or_else(|| host.to_path_buf())
    }

    /// Returns the folder `/`.
    pub fn root(&self) -> Folder {
        let root = self.mount(&[]).unwrap_or_else(|| made(OsString::new()));
        Folder { root: Arc::new(root), below: Vec::new() }
    }

    /// Returns the folder of the mount at `names`.
    fn mount(&self, names: &[OsString]) -> Option<Level> {
        let (_, mount, dir) = self.mounts.iter().find(|(at, ..)| at == names)?;
        let name = names.last().cloned().unwrap_or_default();
        let (dir, path) = (Some(Arc::clone(dir)), mount.host.clone());
        Some(Level { name, dir, path, writable: mount.writable })
    }

    /// Resolves `path` from the folder `from`. A link at its end is followed if `follow` is set.
    pub fn find(&self, from: &Folder, path: &[u8], follow: bool) -> Result<Place, Errno> {
        Errno::ENOENT.when(path.is_empty())?;
        Errno::ENAMETOOLONG.when(path.len() >= guest::PATH_MAX)?;
        let mut here = if path[0] == b'/' { self.root() } else { from.clone() };
        let mut to_go: VecDeque<_> = names(OsStr::from_bytes(path)).into();
        let is_folder = path.ends_with(b"/") || path.ends_with(b"/.") || path.ends_with(b"/..");
        let mut links = 0;
        while let Some(name) = to_go.pop_front() {
            if name == ".." {
                here.below.pop();
                continue;
            }
            let is_last = to_go.is_empty();
            let (folder, stat) = match self.look(&here, &name)? {
                Look::Folder(level, _) | Look::Made(level) if !is_last => {
                    here.below.push(Arc::new(level));
                    continue;
                }
                Look::Link(target, _) if !is_last || follow || is_folder => {
                    links += 1;
                    Errno::ELOOP.when(links > MOST_LINKS)?;
                    if target.as_bytes().starts_with(b"/") {
                        here = self.root();
                    }
                    for name in names(&target).into_iter().rev() {
                        to_go.push_front(name);
                    }
                    continue;
                }
                Look::Missing if !is_last => return Err(Errno::ENOENT),
                Look::Special(_) | Look::Other(_) if !is_last => return Err(Errno::ENOTDIR),
                Look::Other(_) if is_folder => return Err(Errno::ENOTDIR),
                Look::Special(Special::Program) if follow => {
                    return Ok(Place::Host(Box::new(self.program_found()?)));
                }
                Look::Special(special) => return Ok(Place::Special(special)),
                Look::Missing => (None, None),
                Look::Made(level) => (Some(here.with(level)), None),
                Look::Other(stat) | Look::Link(_, stat) => (None, Some(stat)),
                Look::Folder(level, stat) => (Some(here.with(level)), Some(stat)),
            };
            let mut found = found_in(&here, name, stat);
            // The folder of a mount hides the host's, and folders that Linux provides are not the host's.
            if let Some(folder) = &folder
                && (found.stat.is_none() || self.mount(&found.names).is_some())
            {
                found = found_itself(folder)?;
            }
            return Ok(Place::Host(Box::new(Found { folder, is_folder, ..found })));
        }
        Ok(Place::Host(Box::new(Found { is_folder: true, ..found_itself(&here)? })))
    }

    /// Returns what `name` is in `here`.
    fn look(&self, here: &Folder, name: &OsStr) -> Result<Look, Errno> {
        let mut names = here.names();
        names.push(name.to_owned());
        if let Some(level) = self.mount(&names) {
            let stat = level.dir.as_ref().map_or(Ok(None), |dir| dir.stat(OsStr::new(".")))?;
            return Ok(stat.map_or(Look::Missing, |stat| Look::Folder(level, stat)));
        }
        if self.is_linux && is_made(&names) && !self.is_mounted(&names) {
            return Ok(special(&names).map_or_else(|| Look::Made(made(name.to_owned())), Look::Special));
        }
        let named = match &here.here().dir {
            Some(dir) => dir.named(name)?,
            None => Named::Missing,
        };
        Ok(match named {
            Named::Missing if self.leads_to_mount(&names) => Look::Made(made(name.to_owned())),
            Named::Missing => Look::Missing,
            Named::Folder(dir, stat) => {
                let Level { path, writable, .. } = here.here();
                let (name, dir, path) = (name.to_owned(), Some(Arc::new(dir)), path.join(name));
                // A program can nest folders without end, but paths are kept here.
                Errno::ENAMETOOLONG.when(path.as_os_str().len() >= guest::PATH_MAX)?;
                Look::Folder(Level { name, dir, path, writable: *writable }, stat)
            }
            Named::Link(target, stat) => Look::Link(target, stat),
            Named::Other(stat) => Look::Other(stat),
        })
    }

    /// Returns whether a mount is here or below.
    pub fn leads_to_mount(&self, names: &[OsString]) -> bool {
        self.mounts.iter().any(|(at, ..)| at.starts_with(names))
    }

    fn is_mounted(&self, here: &[OsString]) -> bool {
        self.mounts.iter().any(|(at, ..)| !at.is_empty() && here.starts_with(at))
    }

    fn program_found(&self) -> Result<Found, Errno> {
        let path = self.program.clone();
        let (dir, name) = (self.program_folder.clone(), path.file_name().unwrap_or_default().to_owned());
        let stat = dir.as_ref().map_or(Ok(None), |dir| dir.stat(&name))?;
        let names = names(self.seen(&path).as_os_str());
        Ok(Found { names, path, dir, name, stat, folder: None, writable: false, is_folder: false })
    }
}

/// Creates a folder that the host does not have.
fn made(name: OsString) -> Level {
    Level { name, dir: None, path: PathBuf::new(), writable: false }
}

/// Returns the place of `name` in a folder.
fn found_in(folder: &Folder, name: OsString, stat: Option<Stat>) -> Found {
    let Level { dir, path, writable, .. } = folder.here();
    let mut names = folder.names();
    names.push(name.clone());
    let path = path.join(&name);
    let (dir, writable) = (dir.clone(), *writable);
    Found { names, path, dir, name, stat, folder: None, writable, is_folder: false }
}

/// Returns the place of a folder itself.
fn found_itself(folder: &Folder) -> Result<Found, Errno> {
    let Level { dir, path, writable, .. } = folder.here();
    let name = OsString::from(".");
    let stat = dir.as_ref().map_or(Ok(None), |dir| dir.stat(&name))?;
    let (names, path, dir, writable) = (folder.names(), path.clone(), dir.clone(), *writable);
    Ok(Found { names, path, dir, name, stat, folder: Some(folder.clone()), writable, is_folder: true })
}

/// Joins names to a path.
pub fn text(names: &[OsString]) -> PathBuf {
    let mut path = PathBuf::from("/");
    path.extend(names);
    path
}

/// Splits a path into names, including `..`.
pub fn names(path: &OsStr) -> Names {
    let parts = path.as_bytes().split(|&byte| byte == b'/').filter(|name| !name.is_empty() && *name != b".");
    parts.map(|name| OsString::from_vec(name.to_vec())).collect()
}

/// Returns whether Linux provides what is here. The host's own `/proc` would expose the machine that runs the program.
fn is_made(here: &[OsString]) -> bool {
    here.first().is_some_and(|first| first == "dev" || first == "proc" || first == "sys")
}

fn special(here: &[OsString]) -> Option<Special> {
    let here: Vec<_> = here.iter().map(|name| name.to_str().unwrap_or("")).collect();
    Some(match here[..] {
        ["dev", "null"] => Special::Device(Device::Null),
        ["dev", "zero"] => Special::Device(Device::Zero),
        ["dev", "random" | "urandom"] => Special::Device(Device::Random),
        ["dev", "tty"] => Special::Terminal,
        ["dev", "stdin"] => Special::Descriptor(0),
        ["dev", "stdout"] => Special::Descriptor(1),
        ["dev", "stderr"] => Special::Descriptor(2),
        ["dev", "fd", number] | ["proc", "self", "fd", number] => Special::Descriptor(number.parse().ok()?),
        ["proc", "self", "exe"] => Special::Program,
        _ => return None,
    })
}
