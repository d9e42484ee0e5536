//! Calls on paths.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, FileTimes, Metadata, OpenOptions, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::time::{Duration, SystemTime};

use super::Linux;
use super::descriptors::{Descriptor, Folder, Open};
use super::errno::{Answer, Errno};
use super::files::{O_ACCMODE, O_APPEND, O_CLOEXEC};
use super::guest;
use super::paths::{self, Found, Names, Place, Special};
use super::stat::Stat;
use crate::Core;

const AT_FDCWD: i32 = -100;
const AT_SYMLINK_NOFOLLOW: u64 = 0x100;
const AT_REMOVEDIR: u64 = 0x200;
const AT_SYMLINK_FOLLOW: u64 = 0x400;
const AT_EMPTY_PATH: u64 = 0x1000;

const O_CREAT: u64 = 0o100;
const O_EXCL: u64 = 0o200;
const O_TRUNC: u64 = 0o1000;
const O_DIRECTORY: u64 = 0o20_0000;
const O_NOFOLLOW: u64 = 0o40_0000;
const O_PATH: u64 = 0o1000_0000;
const O_TMPFILE: u64 = 0o2000_0000;

impl Linux {
    /// What a path of the program leads to.
    fn place(&mut self, core: &mut Core, folder: u64, path: u64, follow: bool) -> Result<Place, Errno> {
        let path = guest::string(core, path)?;
        self.place_of(folder as i32, &path, follow)
    }

    fn place_of(&mut self, folder: i32, path: &[u8], follow: bool) -> Result<Place, Errno> {
        let from = if folder == AT_FDCWD || path.starts_with(b"/") {
            &self.folder
        } else {
            let descriptor = self.descriptors.get(folder)?;
            match (&descriptor.open, &descriptor.names) {
                (Open::Folder(_), Some(names)) => names,
                _ => return Err(Errno::ENOTDIR),
            }
        };
        self.tree.find(from, path, follow)
    }

    /// A place that is to be changed. EROFS where that is not allowed, as Linux has it: after what does not exist.
    fn changeable(&mut self, core: &mut Core, folder: u64, path: u64, must: Must) -> Result<Found, Errno> {
        let Place::Host(found) = self.place(core, folder, path, must == Must::ExistFollowed)? else {
            return Err(Errno::EACCES);
        };
        match (&found.metadata, must) {
            (None, Must::Exist | Must::ExistFollowed) => Err(Errno::ENOENT),
            (Some(_), Must::NotExist) => Err(Errno::EEXIST),
            _ if !found.writable => Err(Errno::EROFS),
            // EBUSY: the folder of a mount is not the program's to remove or rename.
            _ if must != Must::ExistFollowed && self.tree.is_mount(&found.names) => Err(Errno(16)),
            _ => Ok(*found),
        }
    }

    /// openat.
    pub(super) fn openat(
        &mut self,
        core: &mut Core,
        folder: u64,
        path: u64,
        flags: u64,
        mode: u64,
    ) -> Answer {
        if flags & O_TMPFILE != 0 {
            return Err(Errno::EOPNOTSUPP.into());
        }
        let follow = flags & O_NOFOLLOW == 0 && flags & (O_CREAT | O_EXCL) != O_CREAT | O_EXCL;
        let found = match self.place(core, folder, path, follow)? {
            Place::Host(found) => found,
            Place::Special(special) => return self.open_special(special, flags),
        };
        let close_on_exec = flags & O_CLOEXEC != 0;
        let (names, host) = (Some(found.names.clone()), Some(found.path.clone()));
        let open = open(&found, flags, mode & !self.umask)?;
        let flags = flags & (O_ACCMODE | O_APPEND);
        Ok(self.descriptors.add(Descriptor { open, names, host, flags, close_on_exec }, 0)?)
    }

    fn open_special(&mut self, special: Special, flags: u64) -> Answer {
        let open = match special {
            Special::Null => Open::Null,
            Special::Zero => Open::Zero,
            Special::Random => Open::Random,
            Special::Terminal => return Err(Errno(6).into()), // ENXIO: no terminal
            Special::Descriptor(fd) => {
                return Ok(self.descriptors.duplicate(fd, 0, flags & O_CLOEXEC != 0)?);
            }
            Special::Program => return Err(Errno::ELOOP.into()),
        };
        let close_on_exec = flags & O_CLOEXEC != 0;
        let flags = flags & (O_ACCMODE | O_APPEND);
        Ok(self.descriptors.add(Descriptor { open, names: None, host: None, flags, close_on_exec }, 0)?)
    }

    fn stat_at(&mut self, core: &mut Core, folder: u64, path: u64, flags: u64) -> Result<Stat, Errno> {
        let path =
            if path == 0 && flags & AT_EMPTY_PATH != 0 { Vec::new() } else { guest::string(core, path)? };
        if path.is_empty() && flags & AT_EMPTY_PATH != 0 && folder as i32 != AT_FDCWD {
            return self.stat_of(folder as i32);
        }
        let path = if path.is_empty() && flags & AT_EMPTY_PATH != 0 { b".".to_vec() } else { path };
        Ok(match self.place_of(folder as i32, &path, flags & AT_SYMLINK_NOFOLLOW == 0)? {
            Place::Host(found) => Stat::of(&found.metadata.ok_or(Errno::ENOENT)?),
            Place::Special(special) => match special {
                Special::Null => Stat::character(1, 3),
                Special::Zero => Stat::character(1, 5),
                Special::Random => Stat::character(1, 9),
                Special::Terminal => Stat::character(5, 0),
                Special::Descriptor(fd) => self.stat_of(fd)?,
                Special::Program => Stat::link(self.program_path().as_os_str().len()),
            },
        })
    }

    /// newfstatat.
    pub(super) fn newfstatat(
        &mut self,
        core: &mut Core,
        folder: u64,
        path: u64,
        to: u64,
        flags: u64,
    ) -> Answer {
        let stat = self.stat_at(core, folder, path, flags)?;
        guest::put(core, to, &stat.to_bytes(core.is_rv32))?;
        Ok(0)
    }

    /// statx.
    pub(super) fn statx(&mut self, core: &mut Core, folder: u64, path: u64, flags: u64, to: u64) -> Answer {
        let stat = self.stat_at(core, folder, path, flags)?;
        guest::put(core, to, &stat.to_statx())?;
        Ok(0)
    }

    /// faccessat and faccessat2.
    pub(super) fn faccessat(
        &mut self,
        core: &mut Core,
        folder: u64,
        path: u64,
        mode: u64,
        flags: u64,
    ) -> Answer {
        const R_OK: u64 = 4;
        const W_OK: u64 = 2;
        const X_OK: u64 = 1;
        let found = match self.place(core, folder, path, flags & AT_SYMLINK_NOFOLLOW == 0)? {
            Place::Host(found) => found,
            Place::Special(_) => return if mode & X_OK == 0 { Ok(0) } else { Err(Errno::EACCES.into()) },
        };
        let metadata = found.metadata.as_ref().ok_or(Errno::ENOENT)?;
        if mode & W_OK != 0 && !found.writable {
            return Err(Errno::EROFS.into());
        }
        let allowed = |bits: u32| metadata.mode() & bits != 0;
        let refused = mode & R_OK != 0 && !allowed(0o444)
            || mode & W_OK != 0 && !allowed(0o222)
            || mode & X_OK != 0 && !allowed(0o111);
        if refused { Err(Errno::EACCES.into()) } else { Ok(0) }
    }

    /// readlinkat.
    pub(super) fn readlinkat(
        &mut self,
        core: &mut Core,
        folder: u64,
        path: u64,
        to: u64,
        len: u64,
    ) -> Answer {
        let target = match self.place(core, folder, path, false)? {
            Place::Host(found) => match &found.metadata {
                None => return Err(Errno::ENOENT.into()),
                Some(metadata) if !metadata.is_symlink() => return Err(Errno::EINVAL.into()),
                Some(_) => fs::read_link(&found.path)?,
            },
            Place::Special(Special::Program) => self.program_path(),
            Place::Special(_) => return Err(Errno::EINVAL.into()),
        };
        let target = target.as_os_str().as_bytes();
        let target = &target[..target.len().min(len as usize)];
        guest::put(core, to, target)?;
        Ok(target.len() as u64)
    }

    /// unlinkat.
    pub(super) fn unlinkat(&mut self, core: &mut Core, folder: u64, path: u64, flags: u64) -> Answer {
        let found = self.changeable(core, folder, path, Must::Exist)?;
        let is_folder = found.metadata.as_ref().is_some_and(Metadata::is_dir);
        match (flags & AT_REMOVEDIR != 0, is_folder) {
            (true, true) => fs::remove_dir(&found.path)?,
            (false, false) => fs::remove_file(&found.path)?,
            (true, false) => return Err(Errno::ENOTDIR.into()),
            (false, true) => return Err(Errno::EISDIR.into()),
        }
        Ok(0)
    }

    /// mkdirat.
    pub(super) fn mkdirat(&mut self, core: &mut Core, folder: u64, path: u64, mode: u64) -> Answer {
        let found = self.changeable(core, folder, path, Must::NotExist)?;
        DirBuilder::new().mode((mode & !self.umask & 0o777) as u32).create(&found.path)?;
        Ok(0)
    }

    /// renameat2.
    pub(super) fn renameat2(&mut self, core: &mut Core, arguments: [u64; 6]) -> Answer {
        const RENAME_NOREPLACE: u64 = 1;
        let [from_folder, from, to_folder, to, flags, _] = arguments;
        if flags & !RENAME_NOREPLACE != 0 {
            return Err(Errno::EINVAL.into());
        }
        let from = self.changeable(core, from_folder, from, Must::Exist)?;
        let must = if flags & RENAME_NOREPLACE != 0 { Must::NotExist } else { Must::Either };
        let to = self.changeable(core, to_folder, to, must)?;
        fs::rename(&from.path, &to.path)?;
        Ok(0)
    }

    /// linkat.
    pub(super) fn linkat(&mut self, core: &mut Core, arguments: [u64; 6]) -> Answer {
        let [from_folder, from, to_folder, to, flags, _] = arguments;
        let must = if flags & AT_SYMLINK_FOLLOW != 0 { Must::ExistFollowed } else { Must::Exist };
        let from = self.changeable(core, from_folder, from, must)?;
        let to = self.changeable(core, to_folder, to, Must::NotExist)?;
        fs::hard_link(&from.path, &to.path)?;
        Ok(0)
    }

    /// symlinkat. Where the link leads is looked up when it is used, from the program's root.
    pub(super) fn symlinkat(&mut self, core: &mut Core, target: u64, folder: u64, path: u64) -> Answer {
        let target = guest::string(core, target)?;
        let found = self.changeable(core, folder, path, Must::NotExist)?;
        symlink(OsStr::from_bytes(&target), &found.path)?;
        Ok(0)
    }

    /// fchmodat.
    pub(super) fn fchmodat(&mut self, core: &mut Core, folder: u64, path: u64, mode: u64) -> Answer {
        let found = self.changeable(core, folder, path, Must::ExistFollowed)?;
        fs::set_permissions(&found.path, Permissions::from_mode(mode as u32 & 0o777))?;
        Ok(0)
    }

    /// fchownat: files stay whose they are.
    pub(super) fn fchownat(&mut self, core: &mut Core, folder: u64, path: u64, flags: u64) -> Answer {
        let must = if flags & AT_SYMLINK_NOFOLLOW != 0 { Must::Exist } else { Must::ExistFollowed };
        self.changeable(core, folder, path, must)?;
        Ok(0)
    }

    /// utimensat, also of a descriptor.
    pub(super) fn utimensat(
        &mut self,
        core: &mut Core,
        folder: u64,
        path: u64,
        times: u64,
        flags: u64,
    ) -> Answer {
        const UTIME_NOW: u64 = (1 << 30) - 1;
        const UTIME_OMIT: u64 = (1 << 30) - 2;
        let now = Duration::from_nanos(self.clock.realtime(core));
        let mut set = [Some(now), Some(now)];
        if times != 0 {
            for (at, time) in [times, times.wrapping_add(16)].into_iter().zip(&mut set) {
                let seconds = guest::double(core, at)?;
                *time = match guest::double(core, at.wrapping_add(8))? {
                    UTIME_NOW => Some(now),
                    UTIME_OMIT => None,
                    nanoseconds if nanoseconds < 1_000_000_000 => {
                        Some(Duration::new(seconds, nanoseconds as u32))
                    }
                    _ => return Err(Errno::EINVAL.into()),
                };
            }
        }
        let file = if path == 0 {
            self.must_be_writable(folder as i32)?;
            match &self.descriptors.get(folder as i32)?.open {
                Open::File(file) => file.try_clone()?,
                Open::Folder(folder) => File::open(&folder.path)?,
                _ => return Ok(0),
            }
        } else {
            let must = if flags & AT_SYMLINK_NOFOLLOW != 0 { Must::Exist } else { Must::ExistFollowed };
            let found = self.changeable(core, folder, path, must)?;
            if !found.metadata.as_ref().is_some_and(|metadata| metadata.is_file() || metadata.is_dir()) {
                return Err(Errno::EOPNOTSUPP.into());
            }
            File::open(&found.path)?
        };
        let mut new = FileTimes::new();
        let time = |since: Duration| SystemTime::UNIX_EPOCH.checked_add(since).ok_or(Errno::EINVAL);
        if let Some(access) = set[0] {
            new = new.set_accessed(time(access)?);
        }
        if let Some(modification) = set[1] {
            new = new.set_modified(time(modification)?);
        }
        file.set_times(new)?;
        Ok(0)
    }

    /// truncate.
    pub(super) fn truncate(&mut self, core: &mut Core, path: u64, len: u64) -> Answer {
        let found = self.changeable(core, AT_FDCWD as u64, path, Must::ExistFollowed)?;
        must_be_plain(&found)?;
        OpenOptions::new().write(true).open(&found.path)?.set_len(len)?;
        Ok(0)
    }

    /// chdir.
    pub(super) fn chdir(&mut self, core: &mut Core, path: u64) -> Answer {
        let Place::Host(found) = self.place(core, AT_FDCWD as u64, path, true)? else {
            return Err(Errno::ENOTDIR.into());
        };
        match found.metadata {
            None => Err(Errno::ENOENT.into()),
            Some(metadata) if !metadata.is_dir() => Err(Errno::ENOTDIR.into()),
            Some(_) => {
                self.folder = found.names;
                Ok(0)
            }
        }
    }

    /// fchdir.
    pub(super) fn fchdir(&mut self, fd: i32) -> Answer {
        let descriptor = self.descriptors.get(fd)?;
        let (Open::Folder(_), Some(names)) = (&descriptor.open, &descriptor.names) else {
            return Err(Errno::ENOTDIR.into());
        };
        self.folder = Names::clone(names);
        Ok(0)
    }

    /// getcwd.
    pub(super) fn getcwd(&mut self, core: &mut Core, to: u64, len: u64) -> Answer {
        let mut path = paths::text(&self.folder).into_os_string().into_encoded_bytes();
        path.push(0);
        if path.len() as u64 > len {
            return Err(Errno::ERANGE.into());
        }
        guest::put(core, to, &path)?;
        Ok(path.len() as u64)
    }

    /// statfs of anything there is: the numbers are nobody's.
    pub(super) fn statfs(&mut self, core: &mut Core, path: u64, to: u64) -> Answer {
        if let Place::Host(found) = self.place(core, AT_FDCWD as u64, path, true)?
            && found.metadata.is_none()
        {
            return Err(Errno::ENOENT.into());
        }
        self.put_statfs(core, to)
    }

    /// What statfs and fstatfs tell: an ext2 file system of 4 GiB, half of it free.
    pub(super) fn put_statfs(&mut self, core: &mut Core, to: u64) -> Answer {
        let (blocks, name_len) = (1 << 20, 255);
        let words = [
            0xef53,
            4096,
            blocks,
            blocks / 2,
            blocks / 2,
            1 << 20,
            1 << 19,
            0,
            name_len,
            4096,
            0,
            0,
            0,
            0,
            0,
        ];
        guest::put_words(core, to, &words)?;
        Ok(0)
    }
}

/// What a path that is to be changed must lead to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Must {
    Exist,
    /// Behind a link.
    ExistFollowed,
    NotExist,
    Either,
}

fn open(found: &Found, flags: u64, mode: u64) -> Result<Open, Errno> {
    let writes = flags & O_ACCMODE != 0;
    let Some(metadata) = &found.metadata else {
        if flags & O_CREAT == 0 {
            return Err(Errno::ENOENT);
        }
        if found.is_folder {
            return Err(Errno::EISDIR);
        }
        if !found.writable {
            return Err(Errno::EROFS);
        }
        // create_new: should something have come there meanwhile, a link to elsewhere perhaps, it is not opened.
        let mut options = OpenOptions::new();
        options.read(flags & O_ACCMODE != 1).write(true).append(flags & O_APPEND != 0).create_new(true);
        return Ok(Open::File(options.mode(mode as u32 & 0o777).open(&found.path)?));
    };
    if flags & O_CREAT != 0 && flags & O_EXCL != 0 {
        return Err(Errno::EEXIST);
    }
    if metadata.is_symlink() {
        return Err(Errno::ELOOP);
    }
    if metadata.is_dir() {
        if writes || flags & O_CREAT != 0 {
            return Err(Errno::EISDIR);
        }
        return Ok(Open::Folder(Folder { path: found.path.clone(), entries: None, told: 0 }));
    }
    if flags & O_DIRECTORY != 0 {
        return Err(Errno::ENOTDIR);
    }
    must_be_plain(found)?;
    if flags & O_PATH != 0 {
        return Ok(Open::File(File::open(&found.path)?));
    }
    if (writes || flags & O_TRUNC != 0) && !found.writable {
        return Err(Errno::EROFS);
    }
    let mut options = OpenOptions::new();
    options.read(flags & O_ACCMODE != 1).write(writes && flags & O_APPEND == 0);
    options.append(writes && flags & O_APPEND != 0);
    let file = options.open(&found.path)?;
    if writes && flags & O_TRUNC != 0 {
        file.set_len(0)?;
    }
    Ok(Open::File(file))
}

/// Devices and pipes of the host are not the program's.
fn must_be_plain(found: &Found) -> Result<(), Errno> {
    let is_plain = found.metadata.as_ref().is_some_and(Metadata::is_file);
    if is_plain { Ok(()) } else { Err(Errno::EACCES) }
}
