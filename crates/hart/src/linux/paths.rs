//! Where the files of a program are: every path is looked up here, name by name, so that none leads out.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::errno::Errno;

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
    /// The longest paths first.
    mounts: Vec<(Names, Mount)>,
    /// What `/proc/self/exe` leads to.
    program: PathBuf,
}

/// A path without links, from the root on.
pub type Names = Vec<OsString>;

/// What a path leads to.
#[derive(Debug)]
pub enum Place {
    /// Something of the host, or nothing yet.
    Host(Box<Found>),
    /// One of the few files that Linux itself makes.
    Special(Special),
}

/// A place in the host's file system.
#[derive(Debug)]
pub struct Found {
    /// Where it is for the program.
    pub names: Names,
    /// Where it is.
    pub path: PathBuf,
    /// What it is; `None` if it is not there (its folder is).
    pub metadata: Option<Metadata>,
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

impl Tree {
    /// The tree of these mounts; the one at `/` is to be among them. `program` is where the program is on the host.
    pub fn new(mounts: Vec<Mount>, program: PathBuf) -> Self {
        let mut mounts: Vec<_> =
            mounts.into_iter().map(|mount| (names(mount.at.as_os_str()), mount)).collect();
        mounts.sort_by_key(|(names, _)| usize::MAX - names.len());
        Self { mounts, program }
    }

    /// Where the program is on the host.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Where the program sees a file of the host: the path it would open. The host's own path if it sees it nowhere.
    pub fn seen(&self, host: &Path) -> PathBuf {
        let inside = |(names, mount): &(Names, Mount)| {
            let rest = host.strip_prefix(&mount.host).ok()?;
            Some(text(names).join(rest))
        };
        self.mounts.iter().find_map(inside).unwrap_or_else(|| host.to_path_buf())
    }

    /// What `path` leads to from the folder `from`. A link at its end is followed if `follow`.
    pub fn find(&self, from: &[OsString], path: &[u8], follow: bool) -> Result<Place, Errno> {
        if path.is_empty() {
            return Err(Errno::ENOENT);
        }
        let mut here = if path[0] == b'/' { Names::new() } else { from.to_vec() };
        let mut to_go: VecDeque<_> = names(OsStr::from_bytes(path)).into();
        let is_folder = path.ends_with(b"/") || path.ends_with(b"/.") || path.ends_with(b"/..");
        let mut links = 0;
        let mut found = self.look(here.clone());
        while let Some(name) = to_go.pop_front() {
            if found.metadata.as_ref().is_some_and(|metadata| !metadata.is_dir()) {
                return Err(Errno::ENOTDIR);
            }
            if found.metadata.is_none() && !self.leads_to_mount(&here) && !is_made(&here) {
                return Err(Errno::ENOENT);
            }
            if name == ".." {
                here.pop();
                found = self.look(here.clone());
                continue;
            }
            here.push(name);
            let is_last = to_go.is_empty();
            if is_made(&here) && !self.is_mounted(&here) {
                match special(&here) {
                    Some(Special::Program) if !is_last => return Err(Errno::ENOTDIR),
                    Some(Special::Program) if follow => {
                        return Ok(Place::Host(Box::new(self.program_found())));
                    }
                    Some(special) if is_last => return Ok(Place::Special(special)),
                    Some(_) => return Err(Errno::ENOTDIR),
                    None => {}
                }
            }
            found = self.look(here.clone());
            let is_link = found.metadata.as_ref().is_some_and(Metadata::is_symlink);
            if is_link && (!is_last || follow || is_folder) {
                links += 1;
                if links > MOST_LINKS {
                    return Err(Errno::ELOOP);
                }
                let target = fs::read_link(&found.path)?.into_os_string();
                here.pop();
                if target.as_bytes().starts_with(b"/") {
                    here.clear();
                }
                for name in names(&target).into_iter().rev() {
                    to_go.push_front(name);
                }
                found = self.look(here.clone());
            }
        }
        if is_folder && found.metadata.as_ref().is_some_and(|metadata| !metadata.is_dir()) {
            return Err(Errno::ENOTDIR);
        }
        found.is_folder = is_folder;
        Ok(Place::Host(Box::new(found)))
    }

    /// Looks at one path without links in its folders.
    fn look(&self, here: Names) -> Found {
        let mount = self.mounts.iter().find(|(names, _)| here.starts_with(names));
        let Some((at, mount)) = mount.filter(|(at, _)| !at.is_empty() || !is_made(&here)) else {
            return Found {
                names: here,
                path: PathBuf::new(),
                metadata: None,
                writable: false,
                is_folder: false,
            };
        };
        let mut path = mount.host.clone();
        path.extend(&here[at.len()..]);
        // The folder of a mount itself may be a link on the host: it is what the caller asked for.
        let metadata = if here.len() == at.len() { fs::metadata(&path) } else { fs::symlink_metadata(&path) };
        Found { names: here, path, metadata: metadata.ok(), writable: mount.writable, is_folder: false }
    }

    /// Whether the program may change what is at this path.
    pub fn is_writable(&self, names: &[OsString]) -> bool {
        let mount = self.mounts.iter().find(|(at, _)| names.starts_with(at));
        mount.is_some_and(|(_, mount)| mount.writable)
    }

    /// Whether a mount starts here.
    pub fn is_mount(&self, names: &[OsString]) -> bool {
        self.mounts.iter().any(|(at, _)| at == names)
    }

    fn program_found(&self) -> Found {
        let path = self.program.clone();
        let metadata = fs::metadata(&path).ok();
        Found {
            names: names(self.seen(&path).as_os_str()),
            path,
            metadata,
            writable: false,
            is_folder: false,
        }
    }

    fn leads_to_mount(&self, here: &[OsString]) -> bool {
        self.mounts.iter().any(|(at, _)| at.starts_with(here))
    }

    fn is_mounted(&self, here: &[OsString]) -> bool {
        self.mounts.iter().any(|(at, _)| !at.is_empty() && here.starts_with(at))
    }
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
