//! Access to the host's files by descriptor.
//!
//! Every function takes an open folder and one name in it, and follows no link. A folder of the host is reached from
//! the root of a mount one name at a time, so that no path leads out, even if names change in the meantime.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::LazyLock;

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, RenameFlags, Timestamps};
use rustix::io::Errno as HostErrno;
use rustix::process::{Resource, getrlimit};

use super::descriptors::Entry;
use super::errno::Errno;
use super::stat::Stat;

/// Number of host descriptors that programs leave free, since the recording needs some at its end.
const RESERVED: u64 = 64;
/// Maximum number of host descriptors, since each has a path that is kept.
const MOST_DESCRIPTORS: u64 = 1 << 14;
/// Maximum number of retries for a name that changes in the meantime.
const MOST_TRIES: u32 = 64;

/// An open folder of the host. Its descriptor is only a starting point and needs no right to read.
#[derive(Debug)]
pub struct Dir(OwnedFd);

/// Target of a name in a folder.
#[derive(Debug)]
pub enum Named {
    Missing,
    Folder(Dir, Stat),
    /// Symbolic link: its target and its own status.
    Link(OsString, Stat),
    /// File, device, pipe or socket.
    Other(Stat),
}

impl Dir {
    /// Opens a folder by a path from the user, following links.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        Ok(Self(fs::open(path, folder_flags(), Mode::empty())?))
    }

    /// Returns what `name` refers to.
    pub fn named(&self, name: &OsStr) -> Result<Named, Errno> {
        for _ in 0..MOST_TRIES {
            let Some(stat) = self.stat(name)? else { return Ok(Named::Missing) };
            let named = match stat.kind() {
                FileType::Directory => self.folder(name).map(|dir| Named::Folder(dir, stat)),
                FileType::Symlink => self.read_link(name).map(|target| Named::Link(target, stat)),
                _ => return Ok(Named::Other(stat)),
            };
            match named {
                // The name changed in the meantime.
                Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP | Errno::EINVAL) => {}
                other => return other,
            }
        }
        Err(Errno::EAGAIN)
    }

    fn folder(&self, name: &OsStr) -> Result<Self, Errno> {
        let flags = folder_flags() | OFlags::NOFOLLOW;
        Ok(Self(keep(fs::openat(&self.0, name, flags, Mode::empty())?)?))
    }

    /// Returns the target of a symbolic link.
    pub fn read_link(&self, name: &OsStr) -> Result<OsString, Errno> {
        Ok(OsString::from_vec(fs::readlinkat(&self.0, name, Vec::new())?.into_bytes()))
    }

    /// Returns the status of `name` itself, or `None` if it does not exist.
    pub fn stat(&self, name: &OsStr) -> Result<Option<Stat>, Errno> {
        match fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Stat::of(&stat))),
            Err(HostErrno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a regular file, or creates one with `OFlags::CREATE`. Returns EACCES for devices and pipes of the host.
    pub fn file(&self, name: &OsStr, flags: OFlags, mode: u32) -> Result<File, Errno> {
        // NONBLOCK: a pipe that replaced the file must not block the tool.
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(keep(fs::openat(&self.0, name, flags, Mode::from_raw_mode(mode & 0o777))?)?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(Errno::EACCES) }
    }

    /// Returns the entries sorted by name, since the host's order is arbitrary.
    pub fn entries(&self) -> Result<Vec<Entry>, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dot = |name: &[u8]| Entry { name: name.to_vec(), inode: 1, kind: 4 };
        let mut all = vec![dot(b"."), dot(b"..")];
        for entry in fs::Dir::new(fs::openat(&self.0, ".", flags, Mode::empty())?)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                kind = self.stat(OsStr::from_bytes(name))?.map_or(kind, |stat| stat.kind());
            }
            all.push(Entry { name: name.to_vec(), inode: entry.ino(), kind: entry_kind(kind) });
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    pub fn make_folder(&self, name: &OsStr, mode: u32) -> Result<(), Errno> {
        Ok(fs::mkdirat(&self.0, name, Mode::from_raw_mode(mode & 0o777))?)
    }

    pub fn make_link(&self, name: &OsStr, target: &OsStr) -> Result<(), Errno> {
        Ok(fs::symlinkat(target, &self.0, name)?)
    }

    /// Removes a name. It must be a folder if `is_folder` is set, and else must not.
    pub fn remove(&self, name: &OsStr, is_folder: bool) -> Result<(), Errno> {
        let flags = if is_folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        Ok(fs::unlinkat(&self.0, name, flags)?)
    }

    /// Renames `name` to `to_name` in `to`, over what is there if `replace`.
    pub fn rename(&self, name: &OsStr, to: &Self, to_name: &OsStr, replace: bool) -> Result<(), Errno> {
        let flags = if replace { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        Ok(fs::renameat_with(&self.0, name, &to.0, to_name, flags)?)
    }

    /// Creates another name for a file.
    pub fn link(&self, name: &OsStr, to: &Self, to_name: &OsStr) -> Result<(), Errno> {
        Ok(fs::linkat(&self.0, name, &to.0, to_name, AtFlags::empty())?)
    }

    /// Sets the permissions of a file or folder.
    pub fn set_mode(&self, name: &OsStr, mode: u32) -> Result<(), Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = fs::openat(&self.0, name, flags, Mode::empty())?;
        Errno::EOPNOTSUPP.when(Stat::of(&fs::fstat(&fd)?).kind() == FileType::Symlink)?;
        // With this kind of descriptor, Linux changes permissions only by this name.
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        Ok(std::fs::set_permissions(path, Permissions::from_mode(mode & 0o777))?)
    }

    /// Sets the times of `name` itself.
    pub fn set_times(&self, name: &OsStr, times: &Timestamps) -> Result<(), Errno> {
        Ok(fs::utimensat(&self.0, name, times, AtFlags::SYMLINK_NOFOLLOW)?)
    }
}

fn folder_flags() -> OFlags {
    OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC
}

/// Refuses a descriptor if fewer than [`RESERVED`] are left for the tool, or if a program has too many. The host
/// assigns the lowest free number, so a high number means that many are in use.
fn keep(fd: OwnedFd) -> Result<OwnedFd, Errno> {
    static MOST: LazyLock<u64> = LazyLock::new(|| {
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        limit.saturating_sub(RESERVED).max(limit / 2).min(MOST_DESCRIPTORS)
    });
    if fd.as_raw_fd() as u64 >= *MOST { Err(Errno::EMFILE) } else { Ok(fd) }
}

/// Returns the `d_type` of a file type.
fn entry_kind(kind: FileType) -> u8 {
    match kind {
        FileType::Fifo => 1,
        FileType::CharacterDevice => 2,
        FileType::Directory => 4,
        FileType::BlockDevice => 6,
        FileType::RegularFile => 8,
        FileType::Symlink => 10,
        FileType::Socket => 12,
        FileType::Unknown => 0,
    }
}
