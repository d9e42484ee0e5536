//! Output folder of a capture.

use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::earlier::{self, Earlier};
use super::{Replace, cannot_write};
use crate::file::open_now;
use crate::problem::Problem;

/// Folder that a recording is written to, locked until its last clone is dropped. The system releases the lock if the process is killed.
///
/// It is written beside its name, with `.part` at the end, and takes its name when the last clone is dropped, if it is
/// [finished](Self::finish) or a [trace](Self::trace) in it has begun; else nothing remains of it. An earlier capture of that name is then
/// removed. Where no folder can be made beside it, files are written into the folder itself, and replaced one by one.
///
/// Files are replaced, never written through: a symbolic link with the name of a file is removed, and its target stays as it is.
#[derive(Clone, Debug)]
pub struct OutputFolder {
    /// Folder that files are written to.
    dir: PathBuf,
    claim: Arc<Claim>,
}

#[derive(Debug)]
struct Claim {
    /// The name that the folder will have.
    place: PathBuf,
    /// Where it is written, if not in its place.
    part: Option<PathBuf>,
    lock: File,
    /// Trace files.
    traces: Mutex<Vec<PathBuf>>,
    is_finished: AtomicBool,
    is_discarded: AtomicBool,
    is_published: AtomicBool,
}

impl Drop for Claim {
    fn drop(&mut self) {
        // If it fails, the name says that something is missing.
        let _ = self.publish();
        // Releases the lock at once. Closing the file does not, while a process that another thread starts still has a copy of it.
        let _ = self.lock.unlock();
    }
}

impl Claim {
    /// Puts the folder in its place if it is worth it, else removes it.
    fn publish(&self) -> io::Result<()> {
        let is_discarded = self.is_discarded.load(Ordering::Relaxed);
        if self.part.is_none() && is_discarded {
            return earlier::remove(&self.place);
        }
        let Some(part) = self.part.as_ref().filter(|_| !self.is_published.swap(true, Ordering::Relaxed))
        else {
            return Ok(());
        };
        if is_discarded {
            return fs::remove_dir_all(part);
        }
        let has_trace = |path: &PathBuf| fs::metadata(path).is_ok_and(|about| about.len() > 0);
        let traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_finished.load(Ordering::Relaxed) && !traces.iter().any(has_trace) {
            return fs::remove_dir_all(part);
        }
        // An empty folder is replaced by this.
        if fs::rename(part, &self.place).is_ok() {
            return Ok(());
        }
        match Earlier::of(&self.place)? {
            Earlier::Nothing | Earlier::Capture => {}
            Earlier::More(_) | Earlier::Foreign => {
                let why = format!("it was changed meanwhile: the recording is in {}", part.display());
                return Err(io::Error::other(why));
            }
        }
        let old =
            beside(&self.place, &format!(".{}.old", std::process::id())).ok_or(io::ErrorKind::NotFound)?;
        fs::rename(&self.place, &old)?;
        if let Err(error) = fs::rename(part, &self.place) {
            let _ = fs::rename(&old, &self.place);
            return Err(error);
        }
        fs::remove_dir_all(old)
    }
}

/// Returns a path beside another, with something added to its name.
fn beside(path: &Path, ending: &str) -> Option<PathBuf> {
    let mut name = path.file_name()?.to_owned();
    name.push(ending);
    Some(path.with_file_name(name))
}

impl OutputFolder {
    /// Locks the folder `dir`, which is created if necessary; its parent must exist.
    ///
    /// # Errors
    /// Fails if the folder cannot be created, is a symbolic link, is in use by another recording, or holds something else than a capture
    /// that we wrote, unless anything may be replaced.
    pub fn claim(dir: &Path, replace: Replace) -> Result<Self, Problem> {
        let failed = |error: io::Error| Problem::file_error(dir, format!("cannot write here: {error}"));
        let refused = |why: &str| Err(Problem::file_error(dir, why));
        if cfg!(not(unix)) {
            return refused(
                "captures are written on Unix-like systems only: a folder cannot be locked on this one",
            );
        }
        // A link with a slash at its end would be followed.
        let place: PathBuf = dir.components().collect();
        let earlier = match fs::symlink_metadata(&place) {
            Ok(found) if found.is_symlink() => {
                return refused("is a symbolic link, which is not written through: name the folder itself");
            }
            Ok(found) if !found.is_dir() => return refused("is not a folder"),
            Ok(_) => Some(Earlier::of(&place).map_err(failed)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        match &earlier {
            Some(Earlier::Foreign) if replace == Replace::SameKind => {
                return refused(
                    "the folder is not empty and holds no capture of tracewright: name a new folder, or add --force",
                );
            }
            Some(Earlier::More(other)) if replace == Replace::SameKind => {
                return refused(&format!(
                    "the folder holds {other:?} besides a capture: name a new folder, or add --force"
                ));
            }
            _ => {}
        }
        let is_replaced = matches!(earlier, None | Some(Earlier::Nothing | Earlier::Capture));
        let part = beside(&place, ".part").filter(|_| is_replaced && !is_mount(&place));
        let part = match part.map(|part| make_part(&part).map(|()| part)).transpose() {
            Ok(part) => part,
            // Perhaps only the folder itself may be written.
            Err(error) if earlier.is_some() && is_refused(&error) => None,
            Err(error) => return Err(failed(error)),
        };
        let dir = part.as_ref().unwrap_or(&place).clone();
        let lock = lock(&dir)?;
        let remains = match &part {
            Some(part) if Earlier::of(part).map_err(failed)? == Earlier::Nothing => Ok(()),
            Some(part) if earlier::is_ours(part) => empty(part),
            Some(part) => {
                return refused(&format!(
                    "{} is in the way: remove it, or name another folder",
                    part.display()
                ));
            }
            None => earlier::remove(&place),
        };
        remains.map_err(failed)?;
        let claim = Claim {
            place,
            part,
            lock,
            traces: Mutex::default(),
            is_finished: AtomicBool::new(false),
            is_discarded: AtomicBool::new(false),
            is_published: AtomicBool::new(false),
        };
        Ok(Self { dir, claim: Arc::new(claim) })
    }

    /// Returns a folder inside this one, which is created if necessary. It takes its place together with this one.
    ///
    /// # Errors
    /// Fails if the folder cannot be created.
    pub fn inside(&self, name: &str) -> Result<Self, Problem> {
        let dir = self.dir.join(name);
        match fs::create_dir(&dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(cannot_write(&dir, &error)),
            _ => Ok(Self { dir, claim: Arc::clone(&self.claim) }),
        }
    }

    /// Ends the recording: all that belongs to it is written. The folder takes its place now, if this is its last clone. Returns where it is.
    ///
    /// # Errors
    /// Fails if the folder cannot be put in its place.
    pub fn finish(self) -> Result<PathBuf, Problem> {
        self.claim.is_finished.store(true, Ordering::Relaxed);
        let is_last = Arc::strong_count(&self.claim) == 1;
        if !is_last || self.claim.part.is_none() {
            return Ok(self.dir);
        }
        let place = self.claim.place.clone();
        self.claim.publish().map_err(|error| cannot_write(&place, &error))?;
        Ok(place)
    }

    /// Ends a recording that is worth nothing. All that was written is removed with the last clone; an earlier capture stays, unless it was
    /// removed to begin with because no folder can be made beside it.
    pub fn discard(self) {
        self.claim.is_discarded.store(true, Ordering::Relaxed);
    }

    /// Returns where files are written.
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

    /// Creates an empty trace file. What comes to be in it is kept, also if the recording is not finished.
    pub fn trace(&self, name: &str) -> Result<File, Problem> {
        let file = self.create(name)?;
        let mut traces = self.claim.traces.lock().unwrap_or_else(PoisonError::into_inner);
        traces.push(self.dir.join(name));
        Ok(file)
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

/// Creates the folder that is written, if it is not there.
fn make_part(part: &Path) -> io::Result<()> {
    match fs::symlink_metadata(part) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(io::Error::other(format!("{} is in the way", part.display()))),
        Err(_) => fs::create_dir(part),
    }
}

fn is_refused(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// Removes what a recording that was killed left.
fn empty(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        match fs::symlink_metadata(&path)?.is_dir() {
            true => fs::remove_dir_all(path)?,
            false => fs::remove_file(path)?,
        }
    }
    Ok(())
}

/// Opens a folder and locks it.
fn lock(dir: &Path) -> Result<File, Problem> {
    let failed = |error: io::Error| Problem::file_error(dir, format!("cannot write here: {error}"));
    let refused = |why: &str| Err(Problem::file_error(dir, why));
    let lock = open_now(dir).map_err(failed)?;
    let (opened, named) = (lock.metadata().map_err(failed)?, fs::symlink_metadata(dir).map_err(failed)?);
    if !opened.is_dir() {
        return refused("is not a folder");
    }
    if !is_same(&opened, &named) {
        return refused("was replaced by something else just now");
    }
    // On a file system without locks, the folder is used without one.
    if let Err(TryLockError::WouldBlock) = lock.try_lock() {
        return refused("another recording is writing to this folder: wait for it, or name another folder");
    }
    Ok(lock)
}

/// Returns whether a folder is where a file system is mounted: it cannot be renamed.
#[cfg(unix)]
fn is_mount(dir: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &Path| fs::metadata(path).ok().map(|about| about.dev());
    dir.exists() && device(dir) != device(&dir.join(".."))
}

#[cfg(not(unix))]
fn is_mount(_: &Path) -> bool {
    false
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
