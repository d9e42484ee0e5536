//! An output file.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{OutputKind, Replace};

/// A file that is written beside its name, and takes it when it is complete. Until then, a file that was there before stays.
///
/// Devices and pipes are written as they are, and so is a file in a folder where no other can be made. A name that cannot be written is
/// reported when the file is created, so before the work begins. If nothing is written, no file remains, and one that was there before
/// stays as it was.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    target: Target,
    is_kept: bool,
}

#[derive(Debug)]
enum Target {
    InPlace(InPlace),
    Beside(Beside),
}

/// A file that is written where it is. It is emptied when the first byte comes.
#[derive(Debug)]
struct InPlace {
    file: File,
    /// Whether this made the file.
    is_new: bool,
    has_begun: bool,
}

/// A plain file that is written beside its name.
#[derive(Debug)]
struct Beside {
    /// Where it will be: its path without links.
    place: PathBuf,
    /// Where it is written.
    part: PathBuf,
    /// The permissions of the file that it replaces.
    permissions: Option<Permissions>,
    /// `None` until the first byte comes.
    file: Option<File>,
}

impl OutputFile {
    /// Prepares a file of this kind. Unless it is [finished](Self::finish), nothing remains of it.
    ///
    /// # Errors
    /// Fails if the file cannot be written, or if there is a file of another kind that may not be replaced.
    pub fn create(path: &Path, kind: OutputKind, replace: Replace) -> io::Result<Self> {
        if path.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        let is_special = path.starts_with("/dev") || path.starts_with("/proc");
        if !is_special && replace == Replace::SameKind && path.is_file() {
            kind.check(path)?;
        }
        // Links there stand for what is open, as /dev/stdout does.
        let beside = if is_special { None } else { Beside::new(path)? };
        let target = match beside {
            Some(beside) => Target::Beside(beside),
            None => Target::InPlace(InPlace::new(path)?),
        };
        Ok(Self { path: path.to_owned(), target, is_kept: false })
    }

    /// Keeps what was written, also if the file is not finished: for recordings that may end early.
    #[must_use]
    pub fn kept(mut self) -> Self {
        self.is_kept = true;
        self
    }

    /// Returns the name that the file will have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file to write to, which is created by the first call.
    ///
    /// # Errors
    /// Fails if the file cannot be created or emptied.
    pub fn file(&mut self) -> io::Result<&File> {
        match &mut self.target {
            Target::InPlace(target) => target.file(),
            Target::Beside(target) => target.file(),
        }
    }

    /// Puts the file in its place, if anything was written. Returns its length.
    ///
    /// # Errors
    /// Fails if the file cannot be renamed.
    pub fn finish(&mut self) -> io::Result<u64> {
        let len = match &self.target {
            Target::InPlace(target) => target.file.metadata()?.len(),
            Target::Beside(target) => match &target.file {
                Some(file) => file.metadata()?.len(),
                None => 0,
            },
        };
        if let Target::Beside(target) = &mut self.target {
            target.finish()?;
        }
        Ok(len)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let mut file = self.file()?;
        file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        match &mut self.target {
            // If it cannot be removed, it is empty.
            Target::InPlace(target) if target.is_new && !target.has_begun => {
                let _ = fs::remove_file(&self.path);
            }
            Target::InPlace(_) => {}
            // If that fails, its name says what it is.
            Target::Beside(target) if self.is_kept => {
                let _ = target.finish();
            }
            Target::Beside(target) if target.file.is_some() => {
                let _ = fs::remove_file(&target.part);
            }
            Target::Beside(_) => {}
        }
    }
}

impl InPlace {
    fn new(path: &Path) -> io::Result<Self> {
        let (file, is_new) = match File::options().write(true).create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                (File::options().write(true).create(true).truncate(false).open(path)?, false)
            }
            opened => (opened?, true),
        };
        Ok(Self { file, is_new, has_begun: false })
    }

    fn file(&mut self) -> io::Result<&File> {
        if !self.has_begun {
            self.has_begun = true;
            // Devices and pipes have no length.
            if !self.is_new && self.file.metadata()?.is_file() {
                self.file.set_len(0)?;
            }
        }
        Ok(&self.file)
    }
}

impl Beside {
    /// Returns `None` if the file must be written where it is.
    fn new(path: &Path) -> io::Result<Option<Self>> {
        let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let (place, permissions) = match fs::metadata(path) {
            Ok(about) if about.is_file() => {
                // It may be one that nobody may write.
                File::options().write(true).open(path)?;
                (fs::canonicalize(path)?, Some(about.permissions()))
            }
            // A link that leads nowhere is something.
            Err(error) if is_missing(&error) && fs::symlink_metadata(path).is_err() => {
                (path.to_owned(), None)
            }
            _ => return Ok(None),
        };
        let Some(name) = place.file_name() else { return Ok(None) };
        let mut name = name.to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let part = place.with_file_name(name);
        if File::create_new(&part).and_then(|_| fs::remove_file(&part)).is_err() {
            return Ok(None);
        }
        Ok(Some(Self { place, part, permissions, file: None }))
    }

    fn file(&mut self) -> io::Result<&File> {
        if self.file.is_none() {
            let file = File::create_new(&self.part)?;
            if let Some(permissions) = self.permissions.take() {
                file.set_permissions(permissions)?;
            }
            return Ok(self.file.insert(file));
        }
        self.file.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.file.is_some() {
            fs::rename(&self.part, &self.place)?;
            self.file = None;
        }
        Ok(())
    }
}
