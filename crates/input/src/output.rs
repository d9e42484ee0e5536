//! Output folder of a capture.

use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::file::{open_now, open_plain};
use crate::folder::{CAPTURE_FILE, CHECKSUMS_FILE};
use crate::problem::Problem;

/// Folder that a recording is written to, locked until this is dropped. The system releases the lock if the
/// process is killed.
///
/// Files are replaced, never written through: a symbolic link with the name of a file is removed, and its
/// target stays as it is.
#[derive(Debug)]
pub struct OutputFolder {
    dir: PathBuf,
    lock: File,
}

impl Drop for OutputFolder {
    /// Releases the lock at once. Closing the file does not, while a process that another thread starts still
    /// has a copy of it.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

/// Files that mark a folder as ours. Snapshots that we write have checksums from the first moment on;
/// snapshots without them come from other tools.
const OURS: [&str; 2] = [CAPTURE_FILE, CHECKSUMS_FILE];
/// Log of a recording without a trace, and its first bytes.
const LOG: (&str, &[u8]) = ("run.log", b"twright\n");

impl OutputFolder {
    /// Creates `dir` if necessary, and locks it.
    ///
    /// # Errors
    /// Fails if the folder cannot be created, is a symbolic link, is in use by another recording, or holds
    /// something that is not a capture.
    pub fn claim(dir: &Path) -> Result<Self, Problem> {
        let failed = |error: io::Error| Problem::file_error(dir, format!("cannot write here: {error}"));
        let refused = |why: &str| Err(Problem::file_error(dir, why));
        if cfg!(not(unix)) {
            return refused(
                "captures are written on Unix-like systems only: a folder cannot be locked on this one",
            );
        }
        // A link with a slash at its end would be followed.
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
        // On a file system without locks, the folder is used without one.
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

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// Creates an empty file, which can also be read. Replaces an earlier one.
    pub fn create(&self, name: &str) -> Result<File, Problem> {
        self.remove(name)?;
        let path = self.dir.join(name);
        let made = File::options().read(true).write(true).create_new(true).open(&path);
        made.map_err(|error| cannot_write(&path, &error))
    }

    /// Writes a whole file. A reader in the meantime, or after this process was killed, finds the earlier
    /// file or this one, never a part.
    ///
    /// # Errors
    /// Fails if the file cannot be written; the earlier file is then still there.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), Problem> {
        let beside = format!("{name}.part");
        let path = self.dir.join(&beside);
        let mut file = self.create(&beside)?;
        let written = file.write_all(bytes).and_then(|()| fs::rename(&path, self.dir.join(name)));
        written.map_err(|error| {
            // If this fails too, the message still says enough.
            let _ = fs::remove_file(&path);
            cannot_write(&self.dir.join(name), &error)
        })
    }

    /// Removes a file or a link, if there is one.
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

/// Returns whether both describe the same file.
#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    false
}

/// Returns whether a folder may be written to: it is empty or holds a recording.
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
