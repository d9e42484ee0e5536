//! System calls on descriptors.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, PermissionsExt};

use super::Linux;
use super::descriptors::{Descriptor, Device, Entry, Open, OpenFolder};
use super::errno::{Answer, Errno, Failure};
use super::{guest, stat};
use crate::Core;

/// Number of bytes copied between the host and the program at once.
const CHUNK: usize = 1 << 16;
/// Maximum number of bytes that Linux moves in one call.
const MOST: u64 = 0x7fff_f000;

pub(super) const O_ACCMODE: u64 = 3;
pub(super) const O_APPEND: u64 = 0o2000;
const O_NONBLOCK: u64 = 0o4000;
pub(super) const O_CLOEXEC: u64 = 0o200_0000;

impl Linux {
    /// Implements `read`, and `pread64` with an offset.
    pub(super) fn read(&mut self, core: &mut Core, fd: i32, to: u64, len: u64, at: Option<u64>) -> Answer {
        self.write_back_all(core)?;
        let len = len.min(MOST);
        let mut done = 0;
        let mut bytes = vec![0; CHUNK.min(len as usize)];
        loop {
            let want = (len - done).min(CHUNK as u64) as usize;
            let count = match at {
                None => self.descriptors.read(fd, &mut bytes[..want], &mut self.random),
                Some(at) => self.read_at(fd, &mut bytes[..want], at.wrapping_add(done)),
            };
            let count = match count {
                Err(_) if done > 0 => break,
                Err(Errno::EAGAIN) if self.threads.are_many() && !self.is_nonblocking(fd) => {
                    return Err(Failure::Again);
                }
                other => other?,
            };
            guest::put(core, to.wrapping_add(done), &bytes[..count])?;
            done += count as u64;
            // A stream returns what is available instead of waiting for more.
            if count < want
                || done == len
                || !matches!(self.descriptors.get(fd)?.open, Open::File(_) | Open::Device(Device::Zero))
            {
                break;
            }
        }
        Ok(done)
    }

    fn is_nonblocking(&mut self, fd: i32) -> bool {
        self.descriptors.get(fd).is_ok_and(|descriptor| descriptor.flags & O_NONBLOCK != 0)
    }

    fn read_at(&mut self, fd: i32, to: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let descriptor = self.descriptors.get(fd)?;
        match &descriptor.open {
            Open::File(_) if descriptor.flags & O_ACCMODE == 1 => Err(Errno::EBADF),
            Open::File(file) => Ok(file.read_at(to, offset)?),
            Open::Folder(_) => Err(Errno::EISDIR),
            Open::Stream(_) | Open::Pipe { .. } => Err(Errno::ESPIPE),
            Open::Device(_) => self.descriptors.read(fd, to, &mut self.random),
        }
    }

    /// Implements `write`, and `pwrite64` with an offset.
    pub(super) fn write(&mut self, core: &mut Core, fd: i32, from: u64, len: u64, at: Option<u64>) -> Answer {
        self.descriptors.get(fd)?;
        let len = len.min(MOST);
        let mut done = 0;
        let mut bytes = vec![0; CHUNK.min(len as usize)];
        loop {
            let want = (len - done).min(CHUNK as u64) as usize;
            let from = core.address(from.wrapping_add(done));
            let read = core.memory.read(from, &mut bytes[..want]);
            let count = read.map_err(Errno::from).and_then(|()| match at {
                None => self.descriptors.write(fd, &bytes[..want]),
                Some(at) => self.write_at(fd, &bytes[..want], at.wrapping_add(done)),
            });
            if matches!(count, Err(Errno::EPIPE)) {
                self.reader_has_gone();
            }
            let count = match count {
                Err(_) if done > 0 => break,
                Err(Errno::EAGAIN) if self.threads.are_many() && !self.is_nonblocking(fd) => {
                    return Err(Failure::Again);
                }
                other => other?,
            };
            done += count as u64;
            if count < want || done == len {
                break;
            }
        }
        Ok(done)
    }

    fn write_at(&mut self, fd: i32, bytes: &[u8], offset: u64) -> Result<usize, Errno> {
        let descriptor = self.descriptors.get(fd)?;
        match &descriptor.open {
            Open::File(_) if descriptor.flags & O_ACCMODE == 0 => Err(Errno::EBADF),
            Open::File(file) => Ok(file.write_at(bytes, offset)?),
            Open::Folder(_) => Err(Errno::EBADF),
            Open::Stream(_) | Open::Pipe { .. } => Err(Errno::ESPIPE),
            Open::Device(_) => Ok(bytes.len()),
        }
    }

    /// Implements `readv`, `writev`, `preadv` and `pwritev`: calls `one` for each part until one is moved incompletely.
    pub(super) fn vectored(
        &mut self,
        core: &mut Core,
        fd: i32,
        [vectors, count]: [u64; 2],
        at: Option<u64>,
        one: impl Fn(&mut Self, &mut Core, i32, u64, u64, Option<u64>) -> Answer,
    ) -> Answer {
        let mut done = 0;
        for (address, len) in guest::vectors(core, vectors, count)? {
            // Linux moves no more in one call.
            let len = len.min(MOST - done);
            if len == 0 {
                continue;
            }
            match one(self, core, fd, address, len, at.map(|at| at.wrapping_add(done))) {
                Ok(count) => {
                    done += count;
                    if count < len {
                        break;
                    }
                }
                Err(_) if done > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    pub(super) fn lseek(&mut self, fd: i32, offset: u64, whence: u64) -> Answer {
        let offset = offset as i64;
        match &mut self.descriptors.get(fd)?.open {
            Open::File(file) => {
                let to = match whence {
                    0 => SeekFrom::Start(u64::try_from(offset).map_err(|_| Errno::EINVAL)?),
                    1 => SeekFrom::Current(offset),
                    2 => SeekFrom::End(offset),
                    _ => return Err(Errno::EINVAL.into()),
                };
                Ok(file.seek(to)?)
            }
            Open::Folder(folder) if whence == 0 => {
                folder.told = offset.max(0) as usize;
                if folder.told == 0 {
                    folder.entries = None;
                }
                Ok(offset.max(0) as u64)
            }
            Open::Folder(folder) if whence == 1 && offset == 0 => Ok(folder.told as u64),
            Open::Folder(_) => Err(Errno::EINVAL.into()),
            Open::Device(_) => Ok(0),
            Open::Stream(_) | Open::Pipe { .. } => Err(Errno::ESPIPE.into()),
        }
    }

    pub(super) fn ftruncate(&mut self, fd: i32, len: u64) -> Answer {
        let descriptor = self.descriptors.get(fd)?;
        let Open::File(file) = &descriptor.open else { return Err(Errno::EINVAL.into()) };
        Errno::EINVAL.when(descriptor.flags & O_ACCMODE == 0 || len > i64::MAX as u64)?;
        file.set_len(len)?;
        Ok(0)
    }

    /// Implements `fallocate` without modes: extends the file.
    pub(super) fn fallocate(&mut self, fd: i32, mode: u64, offset: u64, len: u64) -> Answer {
        Errno::EOPNOTSUPP.when(mode != 0)?;
        let Open::File(file) = &self.descriptors.get(fd)?.open else { return Err(Errno::ENODEV.into()) };
        let end = offset.checked_add(len).ok_or(Errno::EFBIG)?;
        if file.metadata()?.len() < end {
            return self.ftruncate(fd, end);
        }
        Ok(0)
    }

    pub(super) fn fchmod(&mut self, fd: i32, mode: u64) -> Answer {
        self.must_be_writable(fd)?;
        match &self.descriptors.get(fd)?.open {
            Open::File(file) => file.set_permissions(Permissions::from_mode(mode as u32 & 0o777))?,
            Open::Folder(open) => open.folder.dir()?.set_mode(OsStr::new("."), mode as u32)?,
            _ => {}
        }
        Ok(0)
    }

    /// Returns EROFS for a file in a read-only folder.
    pub(super) fn must_be_writable(&mut self, fd: i32) -> Result<(), Errno> {
        if self.descriptors.get(fd)?.writable { Ok(()) } else { Err(Errno::EROFS) }
    }

    pub(super) fn fcntl(&mut self, core: &mut Core, fd: i32, command: u64, argument: u64) -> Answer {
        let descriptor = self.descriptors.get(fd)?;
        match command {
            // F_DUPFD, F_DUPFD_CLOEXEC
            0 | 1030 => Ok(self.descriptors.duplicate(fd, argument as i32, command != 0)?),
            // F_GETFD, F_SETFD
            1 => Ok(u64::from(descriptor.close_on_exec)),
            2 => {
                descriptor.close_on_exec = argument & 1 != 0;
                Ok(0)
            }
            // F_GETFL, F_SETFL
            3 => Ok(descriptor.flags),
            4 => {
                let changes = O_APPEND | O_NONBLOCK;
                descriptor.flags = descriptor.flags & !changes | argument & changes;
                Ok(0)
            }
            // F_GETLK, F_OFD_GETLK: l_type is F_UNLCK.
            5 | 36 => guest::put(core, argument, &2_u16.to_le_bytes()),
            // F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW: there is no other process.
            6 | 7 | 37 | 38 => Ok(0),
            // F_GETPIPE_SZ
            1032 => Ok(1 << 16),
            _ => Err(Errno::EINVAL.into()),
        }
    }

    pub(super) fn ioctl(&mut self, core: &mut Core, fd: i32, request: u64, argument: u64) -> Answer {
        let terminals = self.descriptors.streams.terminals;
        let descriptor = self.descriptors.get(fd)?;
        let is_terminal = match descriptor.open {
            Open::Stream(number) => terminals[usize::from(number)],
            _ => false,
        };
        match request {
            // TCGETS: a terminal as after login.
            0x5401 if is_terminal => {
                let mut settings = [0; 36];
                for (at, flags) in [0x500, 0x5, 0xbf, 0x8a3b_u32].into_iter().enumerate() {
                    settings[at * 4..at * 4 + 4].copy_from_slice(&flags.to_le_bytes());
                }
                guest::put(core, argument, &settings)
            }
            // TIOCGWINSZ
            0x5413 if is_terminal => guest::put(core, argument, &[24, 0, 80, 0, 0, 0, 0, 0]),
            // FIONREAD
            0x541b => {
                if let Open::File(file) = &mut descriptor.open {
                    let left = file.metadata()?.len().saturating_sub(file.stream_position()?);
                    guest::put(core, argument, &(left as u32).to_le_bytes())?;
                    return Ok(0);
                }
                Err(Errno::ENOTTY.into())
            }
            // FIONCLEX, FIOCLEX
            0x5450 | 0x5451 => {
                descriptor.close_on_exec = request == 0x5451;
                Ok(0)
            }
            _ => Err(Errno::ENOTTY.into()),
        }
    }

    pub(super) fn pipe2(&mut self, core: &mut Core, to: u64, flags: u64) -> Answer {
        let number = self.descriptors.pipe();
        let end = |writes: bool| Descriptor {
            open: Open::Pipe { number, writes },
            host: None,
            writable: true,
            flags: u64::from(writes) | flags & O_NONBLOCK,
            close_on_exec: flags & O_CLOEXEC != 0,
        };
        let reader = self.descriptors.add(end(false), 0)?;
        let writer = self.descriptors.add(end(true), 0)?;
        guest::put(core, to, &((writer << 32) | reader).to_le_bytes())
    }

    pub(super) fn close_range(&mut self, first: u64, last: u64, flags: u64) -> Answer {
        let range = first as u32..=last as u32;
        for fd in self.descriptors.numbers().into_iter().filter(|&fd| range.contains(&(fd as u32))) {
            // CLOSE_RANGE_CLOEXEC
            if flags & 4 != 0 {
                self.descriptors.get(fd)?.close_on_exec = true;
            } else {
                self.descriptors.close(fd)?;
            }
        }
        Ok(0)
    }

    pub(super) fn getdents64(&mut self, core: &mut Core, fd: i32, to: u64, len: u64) -> Answer {
        let Open::Folder(folder) = &mut self.descriptors.get(fd)?.open else {
            return Err(Errno::ENOTDIR.into());
        };
        let mut bytes = Vec::new();
        let mut told = folder.told;
        for entry in entries(folder)?.iter().skip(told) {
            let size = (19 + entry.name.len() + 1).next_multiple_of(8);
            if bytes.len() + size > len as usize {
                break;
            }
            told += 1;
            let end = bytes.len() + size;
            bytes.extend(entry.inode.to_le_bytes());
            bytes.extend((told as u64).to_le_bytes());
            bytes.extend((size as u16).to_le_bytes());
            bytes.push(entry.kind);
            bytes.extend(&entry.name);
            bytes.resize(end, 0);
        }
        Errno::EINVAL.when(bytes.is_empty() && told < entries(folder)?.len())?;
        folder.told = told;
        guest::put(core, to, &bytes)?;
        Ok(bytes.len() as u64)
    }

    /// Implements `sendfile`: copies between descriptors.
    pub(super) fn sendfile(&mut self, core: &mut Core, [to, from, offset_at, len, ..]: [u64; 6]) -> Answer {
        let (to, from) = (to as i32, from as i32);
        let mut offset = if offset_at == 0 { None } else { Some(guest::double(core, offset_at)?) };
        let mut bytes = vec![0; CHUNK];
        let mut done = 0;
        while done < len.min(MOST) {
            let want = (len - done).min(CHUNK as u64) as usize;
            let count = match offset {
                Some(offset) => self.read_at(from, &mut bytes[..want], offset)?,
                None => self.descriptors.read(from, &mut bytes[..want], &mut self.random)?,
            };
            let written = self.descriptors.write(to, &bytes[..count])?;
            done += written as u64;
            offset = offset.map(|offset| offset.wrapping_add(written as u64));
            if written == 0 {
                break;
            }
        }
        if let Some(offset) = offset {
            guest::put(core, offset_at, &offset.to_le_bytes())?;
        }
        Ok(done)
    }

    /// Implements `ppoll`: everything is always ready, as files are.
    pub(super) fn ppoll(&mut self, core: &mut Core, array: u64, count: u64) -> Answer {
        Errno::EINVAL.when(count > 1024)?;
        let mut ready = 0;
        for index in 0..count {
            let at = array.wrapping_add(index * 8);
            let [a, b, c, d, events, high, ..] = guest::get::<8>(core, at)?;
            let fd = i32::from_le_bytes([a, b, c, d]);
            // POLLIN, POLLOUT and related bits; POLLNVAL.
            let is_open = self.descriptors.get(fd).is_ok();
            let got = match fd {
                ..0 => 0,
                _ if is_open => u16::from_le_bytes([events, high]) & 0x345,
                _ => 0x20,
            };
            ready += u64::from(got != 0);
            guest::put(core, at.wrapping_add(6), &got.to_le_bytes())?;
        }
        Ok(ready)
    }

    /// Implements `pselect6`: everything is ready for reading and writing, and nothing has failed.
    pub(super) fn pselect6(&mut self, core: &mut Core, arguments: [u64; 6]) -> Answer {
        let [count, read, write, failed, ..] = arguments;
        Errno::EINVAL.when(count > 1024)?;
        let mut ready = 0;
        for at in [read, write, failed].into_iter().filter(|&at| at != 0) {
            for byte in 0..count.div_ceil(8) {
                let [mut bits] = guest::get::<1>(core, at.wrapping_add(byte))?;
                // The rest of a byte after the last descriptor, and zeros.
                let left = count - byte * 8;
                bits &= if left < 8 { (1 << left) - 1 } else { 0xff };
                if at == failed {
                    bits = 0;
                }
                ready += u64::from(bits.count_ones());
                guest::put(core, at.wrapping_add(byte), &[bits])?;
            }
        }
        Ok(ready)
    }

    pub(super) fn fstat(&mut self, core: &mut Core, fd: i32, to: u64) -> Answer {
        let stat = self.stat_of(fd)?;
        guest::put(core, to, &stat.to_bytes(core.is_rv32))
    }

    /// Returns the status of a descriptor's file.
    pub(super) fn stat_of(&mut self, fd: i32) -> Result<stat::Stat, Errno> {
        let terminals = self.descriptors.streams.terminals;
        Ok(match &self.descriptors.get(fd)?.open {
            Open::File(file) => stat::Stat::of_file(file)?,
            Open::Folder(open) => open.folder.dir()?.stat(OsStr::new("."))?.ok_or(Errno::ENOENT)?,
            Open::Stream(number) if terminals[usize::from(*number)] => stat::Stat::character(136, 0),
            Open::Stream(_) | Open::Pipe { .. } => stat::Stat::pipe(),
            Open::Device(device) => stat::Stat::character(1, *device as u32),
        })
    }
}

/// Returns the entries of a folder sorted by name, which are read on first use.
fn entries(open: &mut OpenFolder) -> Result<&[Entry], Errno> {
    if open.entries.is_none() {
        open.entries = Some(open.folder.dir()?.entries()?.into());
    }
    Ok(open.entries.as_deref().unwrap_or_default())
}
