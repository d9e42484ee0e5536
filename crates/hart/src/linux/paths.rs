//! Where the files of a program are: every path is looked up here, name by name, so that none leads out.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, OFlags};

use super::errno::Errno;
use super::guest;
use super::host::{Dir, Named};
use super::stat::Stat;

/// As many symbolic links as Linux follows in one path.
const MOST_LINKS: usize = 40;

/// A folder of the host that the program sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Where the program sees it: an absolute path.
    pub at: PathBuf,
    /// Where it is.
    pub host: PathBuf,
    /// Whether the program may change what is in it.
    pub writable: bool,
}

/// The tree of files that a program sees.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The longest paths first, each with its folder.
    mounts: Vec<(Names, Mount, Arc<Dir>)>,
    /// What `/proc/self/exe` leads to, and the folder it is in.
    program: PathBuf,
    program_folder: Option<Arc<Dir>>,
    /// Whether `/dev`, `/proc` and `/sys` are Linux's.
    is_linux: bool,
}

/// A path without links, from the root on.
pub type Names = Vec<OsString>;

/// A folder that the program sees, with those it was reached through. It stays the same folder when its names change.
#[derive(Clone, Debug)]
pub struct Folder {
    root: Arc<Level>,
    /// From the root on.
    below: Vec<Arc<Level>>,
}

/// One of the folders of a path.
#[derive(Clone, Debug)]
struct Level {
    name: OsString,
    /// `None` for a folder that the host does not have: it leads to a mount, or Linux makes what is in it.
    dir: Option<Arc<Dir>>,
    /// Where it was on the host when it was found.
    path: PathBuf,
    writable: bool,
}

/// What a path leads to.
#[derive(Debug)]
pub enum Place {
    /// Something of the host, or nothing yet.
    Host(Box<Found>),
    /// One of the few files that Linux itself makes.
    Special(Special),
}

/// A place in the host's file system: a folder and a name in it.
#[derive(Debug)]
pub struct Found {
    /// Where it is for the program.
    pub names: Names,
    /// Where it is on the host, for captures and messages. The program can put something else there: see [`dir`](Self::dir).
    pub path: PathBuf,
    dir: Option<Arc<Dir>>,
    /// Its name in that folder; `.` for the folder itself.
    pub name: OsString,
    /// What it is; `None` if it is not there (its folder is).
    pub stat: Option<Stat>,
    /// The folder that it is, if it is one.
    pub folder: Option<Folder>,
    /// Whether the program may change it.
    pub writable: bool,
    /// The path ended in `/`: only a folder will do.
    pub is_folder: bool,
}

/// Files that Linux makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// `/dev/null`.
    Null,
    /// `/dev/zero`.
    Zero,
    /// `/dev/random` and `/dev/urandom`.
    Random,
    /// `/dev/tty`: there is none.
    Terminal,
    /// `/dev/stdin`, `/dev/fd/3` and the like: a descriptor's file.
    Descriptor(i32),
    /// `/proc/self/exe`, not followed.
    Program,
}

impl Folder {
    fn here(&self) -> &Level {
        self.below.last().unwrap_or(&self.root)
    }

    /// Returns where it is for the program.
    pub fn names(&self) -> Names {
        self.below.iter().map(|level| level.name.clone()).collect()
    }

    /// Returns the host's folder.
    ///
    /// # Errors
    /// ENOENT if the host has none.
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
    /// Returns the host's folder in which [`name`](Self::name) is.
    ///
    /// # Errors
    /// EROFS if the host has none: nothing can be made there.
    pub fn dir(&self) -> Result<&Dir, Errno> {
        self.dir.as_deref().ok_or(Errno::EROFS)
    }

    /// Returns what it is.
    ///
    /// # Errors
    /// ENOENT if it is not there.
    pub fn stat(&self) -> Result<&Stat, Errno> {
        self.stat.as_ref().ok_or(Errno::ENOENT)
    }

    /// Opens it as a plain file. EACCES for devices and pipes of the host: they are not the program's.
    pub fn open(&self, flags: OFlags) -> Result<File, Errno> {
        if self.stat()?.kind() != FileType::RegularFile {
            return Err(Errno::EACCES);
        }
        self.dir()?.file(&self.name, flags, 0)
    }
}

/// What a name in a folder of the tree is.
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
    /// The tree of these mounts; the one at `/` is to be among them. `program` is where the program is on the host.
    ///
    /// # Errors
    /// The folder of a mount that cannot be opened, and why.
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

    /// The tree of a folder's files, read-only, without any that Linux makes.
    ///
    /// # Errors
    /// When the folder cannot be opened.
    pub fn of_folder(host: &Path) -> io::Result<Self> {
        let mount = Mount { at: "/".into(), host: host.to_path_buf(), writable: false };
        let tree = Self::new(vec![mount], PathBuf::new()).map_err(|(_, error)| error)?;
        Ok(Self { is_linux: false, ..tree })
    }

    /// Where the program is on the host.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Where the program sees a file of the host: the path it would open. The host's own path if it sees it nowhere.
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

    /// The folder of the mount at `names`.
    fn mount(&self, names: &[OsString]) -> Option<Level> {
        let (_, mount, dir) = self.mounts.iter().find(|(at, ..)| at == names)?;
        let name = names.last().cloned().unwrap_or_default();
        let (dir, path) = (Some(Arc::clone(dir)), mount.host.clone());
        Some(Level { name, dir, path, writable: mount.writable })
    }

    /// What `path` leads to from the folder `from`. A link at its end is followed if `follow`.
    pub fn find(&self, from: &Folder, path: &[u8], follow: bool) -> Result<Place, Errno> {
        if path.is_empty() {
            return Err(Errno::ENOENT);
        }
        if path.len() >= guest::PATH_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
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
                    if links > MOST_LINKS {
                        return Err(Errno::ELOOP);
                    }
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
            // The folder of a mount is not the one that the host has there, and one that Linux makes is not the host's at all.
            if let Some(folder) = &folder
                && (found.stat.is_none() || self.is_mount(&found.names))
            {
                found = found_itself(folder)?;
            }
            return Ok(Place::Host(Box::new(Found { folder, is_folder, ..found })));
        }
        Ok(Place::Host(Box::new(Found { is_folder: true, ..found_itself(&here)? })))
    }

    /// What `name` is in `here`.
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
                // A program may make folders within folders without end. Here paths are kept.
                if path.as_os_str().len() >= guest::PATH_MAX {
                    return Err(Errno::ENAMETOOLONG);
                }
                Look::Folder(Level { name, dir, path, writable: *writable }, stat)
            }
            Named::Link(target, stat) => Look::Link(target, stat),
            Named::Other(stat) => Look::Other(stat),
        })
    }

    /// Whether a mount starts here, or below.
    pub fn leads_to_mount(&self, names: &[OsString]) -> bool {
        self.mounts.iter().any(|(at, ..)| at.starts_with(names))
    }

    fn is_mount(&self, names: &[OsString]) -> bool {
        self.mounts.iter().any(|(at, ..)| at == names)
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

/// A folder that the host does not have.
fn made(name: OsString) -> Level {
    Level { name, dir: None, path: PathBuf::new(), writable: false }
}

/// The place of `name` in a folder.
fn found_in(folder: &Folder, name: OsString, stat: Option<Stat>) -> Found {
    let Level { dir, path, writable, .. } = folder.here();
    let mut names = folder.names();
    names.push(name.clone());
    let path = path.join(&name);
    let (dir, writable) = (dir.clone(), *writable);
    Found { names, path, dir, name, stat, folder: None, writable, is_folder: false }
}

/// The place of a folder, by itself.
fn found_itself(folder: &Folder) -> Result<Found, Errno> {
    let Level { dir, path, writable, .. } = folder.here();
    let name = OsString::from(".");
    let stat = dir.as_ref().map_or(Ok(None), |dir| dir.stat(&name))?;
    let (names, path, dir, writable) = (folder.names(), path.clone(), dir.clone(), *writable);
    Ok(Found { names, path, dir, name, stat, folder: Some(folder.clone()), writable, is_folder: true })
}

/// A path's text.
pub fn text(names: &[OsString]) -> PathBuf {
    let mut path = PathBuf::from("/");
    path.extend(names);
    path
}

/// The names in a path, `..` among them.
pub fn names(path: &OsStr) -> Names {
    let parts = path.as_bytes().split(|&byte| byte == b'/').filter(|name| !name.is_empty() && *name != b".");
    parts.map(|name| OsString::from_vec(name.to_vec())).collect()
}

/// Whether Linux makes what is here. The host's own `/proc` would show, and give, the machine that runs the program.
fn is_made(here: &[OsString]) -> bool {
    here.first().is_some_and(|first| first == "dev" || first == "proc" || first == "sys")
}

fn special(here: &[OsString]) -> Option<Special> {
    let here: Vec<_> = here.iter().map(|name| name.to_str().unwrap_or("")).collect();
    Some(match here[..] {
        ["dev", "null"] => Special::Null,
        ["dev", "zero"] => Special::Zero,
        ["dev", "random" | "urandom"] => Special::Random,
        ["dev", "tty"] => Special::Terminal,
        ["dev", "stdin"] => Special::Descriptor(0),
        ["dev", "stdout"] => Special::Descriptor(1),
        ["dev", "stderr"] => Special::Descriptor(2),
        ["dev", "fd", number] | ["proc", "self", "fd", number] => Special::Descriptor(number.parse().ok()?),
        ["proc", "self", "exe"] => Special::Program,
        _ => return None,
    })
}
