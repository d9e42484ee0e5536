//! System calls on paths.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use rustix::fs::{FileType, OFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};

use super::Linux;
use super::descriptors::{Descriptor, Open, OpenFolder};
use super::errno::{Answer, Errno};
use super::files::{O_ACCMODE, O_APPEND, O_CLOEXEC};
use super::guest;
use super::paths::{self, Found, Place, Special};
use super::stat::Stat;
use crate::Core;

const AT_FDCWD: i32 = -100;
const AT_SYMLINK_NOFOLLOW: u64 = 0x100;
const AT_REMOVEDIR: u64 = 0x200;
const AT_SYMLINK_FOLLOW: u64 = 0x400;
const AT_EMPTY_PATH: u64 = 0x1000;

/// Nanoseconds in a second.
const NANOSECONDS: u64 = 1_000_000_000;

const O_CREAT: u64 = 0o100;
const O_EXCL: u64 = 0o200;
const O_TRUNC: u64 = 0o1000;
const O_DIRECTORY: u64 = 0o20_0000;
const O_NOFOLLOW: u64 = 0o40_0000;
const O_PATH: u64 = 0o1000_0000;
const O_TMPFILE: u64 = 0o2000_0000;

impl Linux {
    /// Returns what a path of the program refers to.
    fn place(&mut self, core: &mut Core, folder: u64, path: u64, follow: bool) -> Result<Place, Errno> {
        let path = guest::string(core, path)?;
        self.place_of(folder as i32, &path, follow)
    }

    fn place_of(&mut self, folder: i32, path: &[u8], follow: bool) -> Result<Place, Errno> {
        let from = if folder == AT_FDCWD || path.starts_with(b"/") {
            &self.folder
        } else {
            match &self.descriptors.get(folder)?.open {
                Open::Folder(open) => &open.folder,
                _ => return Err(Errno::ENOTDIR),
            }
        };
        self.tree.find(from, path, follow)
    }

    /// Returns a place that is to be changed. Returns EROFS if that is not allowed but, as in Linux, ENOENT first if it
    /// does not exist.
    fn changeable(&mut self, core: &mut Core, folder: u64, path: u64, must: Must) -> Result<Found, Errno> {
        let Place::Host(found) = self.place(core, folder, path, must == Must::ExistFollowed)? else {
            return Err(Errno::EACCES);
        };
        match (&found.stat, must) {
            (None, Must::Exist | Must::ExistFollowed) => Err(Errno::ENOENT),
            (Some(_), Must::NotExist) => Err(Errno::EEXIST),
            _ if !found.writable => Err(Errno::EROFS),
            // EBUSY: the program cannot remove or rename the folder of a mount, nor those above it.
            _ if must != Must::ExistFollowed && self.tree.leads_to_mount(&found.names) => Err(Errno(16)),
            _ => Ok(*found),
        }
    }

    pub(super) fn openat(&mut self, core: &mut Core, [folder, path, flags, mode, ..]: [u64; 6]) -> Answer {
        Errno::EOPNOTSUPP.when(flags & O_TMPFILE != 0)?;
        let follow = flags & O_NOFOLLOW == 0 && flags & (O_CREAT | O_EXCL) != O_CREAT | O_EXCL;
        let close_on_exec = flags & O_CLOEXEC != 0;
        let (open, host, writable) = match self.place(core, folder, path, follow)? {
            Place::Host(found) => {
                (open(&found, flags, mode & !self.umask)?, Some(found.path), found.writable)
            }
            Place::Special(Special::Device(device)) => (Open::Device(device), None, true),
            // ENXIO: no terminal
            Place::Special(Special::Terminal) => return Err(Errno(6).into()),
            Place::Special(Special::Descriptor(fd)) => {
                return Ok(self.descriptors.duplicate(fd, 0, close_on_exec)?);
            }
            Place::Special(Special::Program) => return Err(Errno::ELOOP.into()),
        };
        let flags = flags & (O_ACCMODE | O_APPEND);
        Ok(self.descriptors.add(Descriptor { open, host, writable, flags, close_on_exec }, 0)?)
    }

    fn stat_at(&mut self, core: &mut Core, folder: u64, path: u64, flags: u64) -> Result<Stat, Errno> {
        let path =
            if path == 0 && flags & AT_EMPTY_PATH != 0 { Vec::new() } else { guest::string(core, path)? };
        if path.is_empty() && flags & AT_EMPTY_PATH != 0 && folder as i32 != AT_FDCWD {
            return self.stat_of(folder as i32);
        }
        let path = if path.is_empty() && flags & AT_EMPTY_PATH != 0 { b".".to_vec() } else { path };
        Ok(match self.place_of(folder as i32, &path, flags & AT_SYMLINK_NOFOLLOW == 0)? {
            Place::Host(found) => found.stat()?.clone(),
            Place::Special(special) => match special {
                Special::Device(device) => Stat::character(1, device as u32),
                Special::Terminal => Stat::character(5, 0),
                Special::Descriptor(fd) => self.stat_of(fd)?,
                Special::Program => Stat::link(self.tree.program().as_os_str().len()),
            },
        })
    }

    pub(super) fn newfstatat(&mut self, core: &mut Core, [folder, path, to, flags, ..]: [u64; 6]) -> Answer {
        let stat = self.stat_at(core, folder, path, flags)?;
        guest::put(core, to, &stat.to_bytes(core.is_rv32))
    }

    pub(super) fn statx(&mut self, core: &mut Core, folder: u64, path: u64, flags: u64, to: u64) -> Answer {
        let stat = self.stat_at(core, folder, path, flags)?;
        guest::put(core, to, &stat.to_statx())
    }

    /// Implements `faccessat` and `faccessat2`.
    pub(super) fn faccessat(&mut self, core: &mut Core, [folder, path, mode, flags, ..]: [u64; 6]) -> Answer {
        const R_OK: u64 = 4;
        const W_OK: u64 = 2;
        const X_OK: u64 = 1;
        let found = match self.place(core, folder, path, flags & AT_SYMLINK_NOFOLLOW == 0)? {
            Place::Host(found) => found,
            Place::Special(_) => return if mode & X_OK == 0 { Ok(0) } else { Err(Errno::EACCES.into()) },
        };
        let stat = found.stat()?;
        Errno::EROFS.when(mode & W_OK != 0 && !found.writable)?;
        let refused = mode & R_OK != 0 && !stat.has_mode(0o444)
            || mode & W_OK != 0 && !stat.has_mode(0o222)
            || mode & X_OK != 0 && !stat.has_mode(0o111);
        if refused { Err(Errno::EACCES.into()) } else { Ok(0) }
    }

    pub(super) fn readlinkat(&mut self, core: &mut Core, [folder, path, to, len, ..]: [u64; 6]) -> Answer {
        let target = match self.place(core, folder, path, false)? {
            Place::Host(found) => match found.stat()?.kind() {
                FileType::Symlink => found.dir()?.read_link(&found.name)?,
                _ => return Err(Errno::EINVAL.into()),
            },
            Place::Special(Special::Program) => self.tree.program().into_os_string(),
            Place::Special(_) => return Err(Errno::EINVAL.into()),
        };
        let target = target.as_bytes();
        let target = &target[..target.len().min(len as usize)];
        guest::put(core, to, target)?;
        Ok(target.len() as u64)
    }

    pub(super) fn unlinkat(&mut self, core: &mut Core, folder: u64, path: u64, flags: u64) -> Answer {
        let found = self.changeable(core, folder, path, Must::Exist)?;
        found.dir()?.remove(&found.name, flags & AT_REMOVEDIR != 0)?;
        Ok(0)
    }

    pub(super) fn mkdirat(&mut self, core: &mut Core, folder: u64, path: u64, mode: u64) -> Answer {
        let found = self.changeable(core, folder, path, Must::NotExist)?;
        found.dir()?.make_folder(&found.name, (mode & !self.umask) as u32)?;
        Ok(0)
    }

    pub(super) fn renameat2(&mut self, core: &mut Core, arguments: [u64; 6]) -> Answer {
        const RENAME_NOREPLACE: u64 = 1;
        let [from_folder, from, to_folder, to, flags, _] = arguments;
        Errno::EINVAL.when(flags & !RENAME_NOREPLACE != 0)?;
        let from = self.changeable(core, from_folder, from, Must::Exist)?;
        let replace = flags & RENAME_NOREPLACE == 0;
        let must = if replace { Must::Either } else { Must::NotExist };
        let to = self.changeable(core, to_folder, to, must)?;
        from.dir()?.rename(&from.name, to.dir()?, &to.name, replace)?;
        Ok(0)
    }

    pub(super) fn linkat(&mut self, core: &mut Core, arguments: [u64; 6]) -> Answer {
        let [from_folder, from, to_folder, to, flags, _] = arguments;
        let must = if flags & AT_SYMLINK_FOLLOW != 0 { Must::ExistFollowed } else { Must::Exist };
        let from = self.changeable(core, from_folder, from, must)?;
        let to = self.changeable(core, to_folder, to, Must::NotExist)?;
        from.dir()?.link(&from.name, to.dir()?, &to.name)?;
        Ok(0)
    }

    /// Implements `symlinkat`. The target is resolved from the program's root when the link is used.
    pub(super) fn symlinkat(&mut self, core: &mut Core, target: u64, folder: u64, path: u64) -> Answer {
        let target = guest::string(core, target)?;
        let found = self.changeable(core, folder, path, Must::NotExist)?;
        found.dir()?.make_link(&found.name, OsStr::from_bytes(&target))?;
        Ok(0)
    }

    pub(super) fn fchmodat(&mut self, core: &mut Core, folder: u64, path: u64, mode: u64) -> Answer {
        let found = self.changeable(core, folder, path, Must::ExistFollowed)?;
        found.dir()?.set_mode(&found.name, mode as u32)?;
        Ok(0)
    }

    /// Implements `fchownat`: owners do not change.
    pub(super) fn fchownat(&mut self, core: &mut Core, folder: u64, path: u64, flags: u64) -> Answer {
        let must = if flags & AT_SYMLINK_NOFOLLOW != 0 { Must::Exist } else { Must::ExistFollowed };
        self.changeable(core, folder, path, must)?;
        Ok(0)
    }

    /// Implements `utimensat`, also for a descriptor.
    pub(super) fn utimensat(
        &mut self,
        core: &mut Core,
        [folder, path, times, flags, ..]: [u64; 6],
    ) -> Answer {
        let now = self.clock.realtime(core);
        let now = Timespec { tv_sec: (now / NANOSECONDS) as i64, tv_nsec: (now % NANOSECONDS) as _ };
        let mut set = [now; 2];
        if times != 0 {
            for (at, time) in [times, times.wrapping_add(16)].into_iter().zip(&mut set) {
                let seconds = guest::double(core, at)? as i64;
                *time = match guest::double(core, at.wrapping_add(8))? {
                    nanoseconds if nanoseconds == UTIME_NOW as u64 => now,
                    nanoseconds if nanoseconds < NANOSECONDS || nanoseconds == UTIME_OMIT as u64 => {
                        Timespec { tv_sec: seconds, tv_nsec: nanoseconds as _ }
                    }
                    _ => return Err(Errno::EINVAL.into()),
                };
            }
        }
        let set = Timestamps { last_access: set[0], last_modification: set[1] };
        if path == 0 {
            self.must_be_writable(folder as i32)?;
            match &self.descriptors.get(folder as i32)?.open {
                Open::File(file) => rustix::fs::futimens(file, &set).map_err(Errno::from)?,
                Open::Folder(open) => open.folder.dir()?.set_times(OsStr::new("."), &set)?,
                _ => {}
            }
        } else {
            let must = if flags & AT_SYMLINK_NOFOLLOW != 0 { Must::Exist } else { Must::ExistFollowed };
            let found = self.changeable(core, folder, path, must)?;
            found.dir()?.set_times(&found.name, &set)?;
        }
        Ok(0)
    }

    pub(super) fn truncate(&mut self, core: &mut Core, path: u64, len: u64) -> Answer {
        let found = self.changeable(core, AT_FDCWD as u64, path, Must::ExistFollowed)?;
        Errno::EINVAL.when(len > i64::MAX as u64)?;
        found.open(OFlags::WRONLY)?.set_len(len)?;
        Ok(0)
    }

    pub(super) fn chdir(&mut self, core: &mut Core, path: u64) -> Answer {
        let Place::Host(found) = self.place(core, AT_FDCWD as u64, path, true)? else {
            return Err(Errno::ENOTDIR.into());
        };
        found.stat()?;
        self.folder = found.folder.ok_or(Errno::ENOTDIR)?;
        Ok(0)
    }

    pub(super) fn fchdir(&mut self, fd: i32) -> Answer {
        let Open::Folder(open) = &self.descriptors.get(fd)?.open else { return Err(Errno::ENOTDIR.into()) };
        self.folder = open.folder.clone();
        Ok(0)
    }

    pub(super) fn getcwd(&mut self, core: &mut Core, to: u64, len: u64) -> Answer {
        let mut path = paths::text(&self.folder.names()).into_os_string().into_encoded_bytes();
        path.push(0);
        Errno::ERANGE.when(path.len() as u64 > len)?;
        guest::put(core, to, &path)?;
        Ok(path.len() as u64)
    }

    /// Implements `statfs` for any existing path. The numbers are made up.
    pub(super) fn statfs(&mut self, core: &mut Core, path: u64, to: u64) -> Answer {
        if let Place::Host(found) = self.place(core, AT_FDCWD as u64, path, true)? {
            found.stat()?;
        }
        self.put_statfs(core, to)
    }

    /// Writes the result of `statfs` and `fstatfs`: an ext2 file system of 4 GiB, half of it free.
    pub(super) fn put_statfs(&mut self, core: &mut Core, to: u64) -> Answer {
        const MANY: u64 = 1 << 20;
        const HALF: u64 = MANY / 2;
        // The kind, the size of a block; blocks and files, how many and how many are free; the longest name.
        guest::put_words(core, to, &[0xef53, 4096, MANY, HALF, HALF, MANY, HALF, 0, 255, 4096, 0, 0, 0, 0, 0])
    }
}

/// Requirement on a path that is to be changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Must {
    Exist,
    /// The target of a link.
    ExistFollowed,
    NotExist,
    Either,
}

fn open(found: &Found, flags: u64, mode: u64) -> Result<Open, Errno> {
    let writes = flags & O_ACCMODE != 0;
    let mut host = match flags & O_ACCMODE {
        0 => OFlags::RDONLY,
        1 => OFlags::WRONLY,
        _ => OFlags::RDWR,
    };
    let Some(stat) = &found.stat else {
        Errno::ENOENT.when(flags & O_CREAT == 0)?;
        Errno::EISDIR.when(found.is_folder)?;
        Errno::EROFS.when(!found.writable)?;
        // EXCL: something that was created there in the meantime is not opened.
        host |= OFlags::CREATE | OFlags::EXCL;
        if flags & O_APPEND != 0 {
            host |= OFlags::APPEND;
        }
        return Ok(Open::File(Arc::new(found.dir()?.file(&found.name, host, mode as u32)?)));
    };
    Errno::EEXIST.when(flags & O_CREAT != 0 && flags & O_EXCL != 0)?;
    Errno::ELOOP.when(stat.kind() == FileType::Symlink)?;
    if let Some(folder) = &found.folder {
        Errno::EISDIR.when(writes || flags & O_CREAT != 0)?;
        return Ok(Open::Folder(OpenFolder { folder: folder.clone(), entries: None, told: 0 }));
    }
    Errno::ENOTDIR.when(flags & O_DIRECTORY != 0)?;
    if flags & O_PATH != 0 {
        return Ok(Open::File(Arc::new(found.open(OFlags::RDONLY)?)));
    }
    if (writes || flags & O_TRUNC != 0) && !found.writable {
        return Err(if stat.kind() == FileType::RegularFile { Errno::EROFS } else { Errno::EACCES });
    }
    if writes && flags & O_APPEND != 0 {
        host |= OFlags::APPEND;
    }
    let file = found.open(host)?;
    if writes && flags & O_TRUNC != 0 {
        file.set_len(0)?;
    }
    Ok(Open::File(Arc::new(file)))
}
