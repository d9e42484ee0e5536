//! File status in the forms that programs get.

use std::fs::File;

use rustix::fs::{self, FileType};

use super::errno::Errno;

/// Status that `stat` and `statx` return.
#[derive(Clone, Debug, Default)]
pub struct Stat {
    dev: u64,
    inode: u64,
    mode: u32,
    links: u32,
    user: u32,
    group: u32,
    /// Major and minor number of a device.
    device: (u32, u32),
    size: u64,
    blocks: u64,
    /// Access, modification, change: seconds and nanoseconds.
    times: [(i64, u32); 3],
}

const S_IFIFO: u32 = 0o010_000;
const S_IFCHR: u32 = 0o020_000;
const BLOCK_SIZE: u32 = 4096;

impl Stat {
    /// Converts the status of a file of the host.
    pub fn of(stat: &fs::Stat) -> Self {
        Self {
            dev: stat.st_dev,
            inode: stat.st_ino,
            mode: stat.st_mode,
            links: stat.st_nlink as u32,
            user: stat.st_uid,
            group: stat.st_gid,
            device: (0, 0),
            size: stat.st_size as u64,
            blocks: stat.st_blocks as u64,
            times: [
                (stat.st_atime, stat.st_atime_nsec as u32),
                (stat.st_mtime, stat.st_mtime_nsec as u32),
                (stat.st_ctime, stat.st_ctime_nsec as u32),
            ],
        }
    }

    /// Returns the status of an open file of the host.
    pub fn of_file(file: &File) -> Result<Self, Errno> {
        Ok(Self::of(&fs::fstat(file)?))
    }

    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.mode)
    }

    /// Returns whether any of these permissions is given.
    pub fn has_mode(&self, bits: u32) -> bool {
        self.mode & bits != 0
    }

    /// Returns device and number, which identify a file.
    pub fn identity(&self) -> (u64, u64) {
        (self.dev, self.inode)
    }

    /// Returns the status of a pipe.
    pub fn pipe() -> Self {
        Self { dev: 2, inode: 1, mode: S_IFIFO | 0o600, links: 1, ..Self::default() }
    }

    /// Returns the status of a character device.
    pub fn character(major: u32, minor: u32) -> Self {
        let inode = u64::from(major << 8 | minor);
        Self { dev: 3, inode, mode: S_IFCHR | 0o666, links: 1, device: (major, minor), ..Self::default() }
    }

    /// Returns the status of a symbolic link with a target of this length.
    pub fn link(len: usize) -> Self {
        Self { dev: 3, inode: 2, mode: 0o120_777, links: 1, size: len as u64, ..Self::default() }
    }

    /// Encodes the result of `fstat` and `newfstatat`: `struct stat`, or RV32's `struct stat64`.
    pub fn to_bytes(&self, is_rv32: bool) -> Vec<u8> {
        let mut to = Vec::new();
        let device = u64::from(self.device.0) << 8 | u64::from(self.device.1);
        to.extend(self.dev.to_le_bytes());
        to.extend(self.inode.to_le_bytes());
        for value in [self.mode, self.links, self.user, self.group] {
            to.extend(value.to_le_bytes());
        }
        to.extend(device.to_le_bytes());
        to.extend([0; 8]);
        to.extend(self.size.to_le_bytes());
        to.extend(BLOCK_SIZE.to_le_bytes());
        to.extend([0; 4]);
        to.extend(self.blocks.to_le_bytes());
        for (seconds, nanoseconds) in self.times {
            if is_rv32 {
                to.extend((seconds as i32).to_le_bytes());
                to.extend(nanoseconds.to_le_bytes());
            } else {
                to.extend(seconds.to_le_bytes());
                to.extend(u64::from(nanoseconds).to_le_bytes());
            }
        }
        to.extend([0; 8]);
        to
    }

    /// Encodes the result of `statx`.
    pub fn to_statx(&self) -> Vec<u8> {
        /// All but the time of birth, which few hosts have.
        const MASK: u32 = 0x7ff;
        let mut to = Vec::new();
        let time = |(seconds, nanoseconds): (i64, u32)| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&seconds.to_le_bytes());
            bytes[8..12].copy_from_slice(&nanoseconds.to_le_bytes());
            bytes
        };
        to.extend(MASK.to_le_bytes());
        to.extend(BLOCK_SIZE.to_le_bytes());
        to.extend([0; 8]);
        for value in [self.links, self.user, self.group, self.mode] {
            to.extend(value.to_le_bytes());
        }
        for value in [self.inode, self.size, self.blocks, 0] {
            to.extend(value.to_le_bytes());
        }
        let [access, modification, change] = self.times;
        for bytes in [time(access), [0; 16], time(change), time(modification)] {
            to.extend(bytes);
        }
        for value in [self.device.0, self.device.1, (self.dev >> 8) as u32, self.dev as u32 & 0xff] {
            to.extend(value.to_le_bytes());
        }
        to.resize(256, 0);
        to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_have_their_sizes() {
        let stat = Stat::character(1, 3);
        assert_eq!(stat.to_bytes(false).len(), 128);
        assert_eq!(stat.to_bytes(true).len(), 104);
        let statx = stat.to_statx();
        assert_eq!(statx.len(), 256);
        assert_eq!(statx[28..30], (0o020_666_u16).to_le_bytes());
        assert_eq!(statx[128..136], [1, 0, 0, 0, 3, 0, 0, 0]);
    }
}
