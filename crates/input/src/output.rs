//! The folder that a capture is written to.

use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::file::{open_now, open_plain};
use crate::folder::{CAPTURE_FILE, CHECKSUMS_FILE};
use crate::problem::Problem;

/// A folder that a recording writes to, locked until this is dropped. The system releases the lock if the process is killed.
///
/// Files are replaced, never written through: a symbolic link that has the name of a file is removed, and what it points to stays
/// as it is.
#[derive(Debug)]
pub struct OutputFolder {
    dir: PathBuf,
    lock: File,
}

impl Drop for OutputFolder {
    /// Releases the lock at once. Closing the file does not, while a process that another thread starts still has a copy of it.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

/// Files that make a folder one of ours. Snapshots that we write have checksums from the first moment on; those without are of others.
const OURS: [&str; 2] = [CAPTURE_FILE, CHECKSUMS_FILE];
/// The log of a recording without a trace, and what it begins with.
const LOG: (&str, &[u8]) = ("run.log", b"twright\n");

impl OutputFolder {
    /// Locks `dir`, which is made if it is not there.
    ///
    /// # Errors
    /// When the folder cannot be made, is a symbolic link, is in use by another recording, or holds something that is no capture.
    pub fn claim(dir: &Path) -> Result<Self, Problem> {
        let failed = |error: io::Error| Problem::file_error(dir, format!("cannot write here: {error}"));
        let refused = |why: &str| Err(Problem::file_error(dir, why));
        if cfg!(not(unix)) {
            return refused(
                "captures are written on Unix-like systems only: a folder cannot be locked on this one",
            );
        }
        // With a slash at its end, a link would be followed.
        let dir: PathBuf = dir.components().collect();
        match fs::symlink_metadata(&dir) {
            Ok(found) if found.is_symlink() => {
                return refused("is a symbolic link, which is not written through: name the folder itself");
            }
            Ok(found) if !found.is_dir() => return refused("is not a folder"),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(&dir).map_err(failed)?;
            }
            Err(error) => return Err(failed(error)),
        }
        let lock = open_now(&dir).map_err(failed)?;
        let (opened, named) = (lock.metadata().map_err(failed)?, fs::symlink_metadata(&dir).map_err(failed)?);
        if !opened.is_dir() {
            return refused("is not a folder");
        }
        if !is_same(&opened, &named) {
            return refused("was replaced by something else just now");
        }
        // Where the file system has no locks, it is used without.
        if let Err(TryLockError::WouldBlock) = lock.try_lock() {
            return refused(
                "another recording is writing to this folder: wait for it, or name another folder",
            );
        }
        if !is_ours(&dir).map_err(failed)? {
            return refused("the folder is not empty and holds no capture: name a new folder");
        }
        Ok(Self { dir, lock })
    }

    /// Returns where the folder is.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// Makes an empty file, which may be read again. An earlier one is replaced.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn create(&self, name: &str) -> Result<File, Problem> {
        self.remove(name)?;
        let path = self.dir.join(name);
        let made = File::options().read(true).write(true).create_new(true).open(&path);
        made.map_err(|error| cannot_write(&path, &error))
    }

    /// Writes a whole file. Who reads it meanwhile, or after this process was killed, finds the earlier one or this one, never a
    /// part.
    ///
    /// # Errors
    /// When that cannot be done; the earlier file is still there.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), Problem> {
        let beside = format!("{name}.part");
        let path = self.dir.join(&beside);
        let mut file = self.create(&beside)?;
        let written = file.write_all(bytes).and_then(|()| fs::rename(&path, self.dir.join(name)));
        written.map_err(|error| {
            // The message says enough if this fails, too.
            let _ = fs::remove_file(&path);
            cannot_write(&self.dir.join(name), &error)
        })
    }

    /// Removes a file or a link, if there is one.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn remove(&self, name: &str) -> Result<(), Problem> {
        let path = self.dir.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Problem::file_error(&path, format!("cannot be replaced: {error}")))
            }
            _ => Ok(()),
        }
    }
}

/// Whether both describe the same file.
#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    false
}

/// Whether a folder may be written to: it is empty, or holds a recording.
fn is_ours(dir: &Path) -> io::Result<bool> {
    let is_file = |name: &str| fs::symlink_metadata(dir.join(name)).is_ok_and(|found| found.is_file());
    if fs::read_dir(dir)?.next().is_none() || OURS.into_iter().any(is_file) {
        return Ok(true);
    }
    let (log, magic) = LOG;
    let mut start = Vec::new();
    if is_file(log) {
        open_plain(&dir.join(log))?.take(magic.len() as u64).read_to_end(&mut start)?;
    }
    Ok(start == magic)
}

pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Problem {
    Problem::file_error(path, format!("cannot write: {error}"))
}
