//! Where a result goes: a file, or standard output.

use std::fmt;
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};

use super::escape::{Escaping, Form};
use super::{Error, report};

/// A file that a result is written to, or standard output (`-`).
///
/// A name that cannot be written is told when it is opened, so before the work begins. Of a result that says nothing, no file remains,
/// and one that was there before stays as it was.
///
/// Errors name the file. [`finish`](Self::finish) tells those of the bytes written last, so it must be called.
pub struct Output(BufWriter<Escaping<Target>>);

enum Target {
    Stdout(Stdout),
    File(NamedFile),
    Replacement(Replacement),
}

/// A file that is written where it is. It is emptied when the first byte comes.
struct NamedFile {
    file: File,
    path: PathBuf,
    /// Whether this made the file.
    is_new: bool,
    has_begun: bool,
}

/// A plain file that is written beside its name, and takes it when it is complete.
struct Replacement {
    path: PathBuf,
    /// Where it will be: `path` without links.
    place: PathBuf,
    /// Where it is written.
    part: PathBuf,
    /// The permissions of the file that it replaces.
    permissions: Option<Permissions>,
    /// `None` until the first byte comes.
    file: Option<File>,
}

/// An error of a file, with its name.
#[derive(Debug)]
pub struct FileError {
    path: PathBuf,
    error: io::Error,
}

impl FileError {
    /// Returns an error that names the file; its kind is that of no closed pipe, which only standard output may be.
    pub fn wrap(path: &Path, error: io::Error) -> io::Error {
        io::Error::other(Self { path: path.to_owned(), error })
    }

    /// Returns whether an error is one that [`wrap`](Self::wrap) made.
    pub fn is_in(error: &io::Error) -> bool {
        match error.get_ref() {
            Some(inner) => inner.is::<Self>(),
            None => false,
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: cannot write: {}", self.path.display(), self.error)
    }
}

impl std::error::Error for FileError {}

impl Output {
    /// Opens standard output if `path` is `-`, else a file that counts only when it is complete. Until [`finish`](Self::finish) puts the
    /// new one in its place, a file that was there before stays. Devices and pipes are written as they are.
    pub fn open_whole(path: &Path, form: Form) -> Result<Self, Error> {
        if path.as_os_str() == "-" {
            return Ok(Self::stdout(form));
        }
        match Replacement::new(path).map_err(|error| FileError::wrap(path, error))? {
            Some(file) => Ok(Self::new(Target::Replacement(file), form)),
            None => Self::open(path, form),
        }
    }

    /// Opens standard output if `path` is `-`, else a file that others may read while it grows: what is written of it stays, whatever
    /// comes.
    pub fn open(path: &Path, form: Form) -> Result<Self, Error> {
        if path.as_os_str() == "-" {
            return Ok(Self::stdout(form));
        }
        let file = NamedFile::create(path).map_err(|error| FileError::wrap(path, error))?;
        Ok(Self::new(Target::File(file), form))
    }

    /// Returns standard output.
    pub fn stdout(form: Form) -> Self {
        Self::new(Target::Stdout(io::stdout()), form)
    }

    fn new(target: Target, form: Form) -> Self {
        Self(BufWriter::with_capacity(1 << 16, Escaping::new(target, form)))
    }

    /// Writes a whole result, and finishes.
    ///
    /// A result that says nothing (`is_empty`) leaves no file and replaces none, and that is reported. Standard output gets it all the
    /// same: a table without rows is an answer for who reads it.
    pub fn write_whole(mut self, bytes: &[u8], is_empty: bool) -> Result<(), Error> {
        let path = match self.0.get_ref().inner() {
            Target::Stdout(_) => None,
            Target::File(NamedFile { path, .. }) | Target::Replacement(Replacement { path, .. }) => {
                Some(path)
            }
        };
        if let Some(path) = path.filter(|_| is_empty) {
            report_unwritten(path);
            return Ok(());
        }
        self.write_all(bytes)?;
        Ok(self.finish()?)
    }

    /// Writes what is left, and puts the file in its place.
    pub fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        if let Target::Replacement(file) = self.0.get_mut().inner_mut() {
            file.finish().map_err(|error| FileError::wrap(&file.path, error))?;
        }
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl NamedFile {
    fn create(path: &Path) -> io::Result<Self> {
        let (file, is_new) = match File::options().write(true).create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                (File::options().write(true).create(true).truncate(false).open(path)?, false)
            }
            opened => (opened?, true),
        };
        Ok(Self { file, path: path.to_owned(), is_new, has_begun: false })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.has_begun && !bytes.is_empty() {
            self.has_begun = true;
            // Devices and pipes have no length.
            if !self.is_new && self.file.metadata()?.is_file() {
                self.file.set_len(0)?;
            }
        }
        self.file.write(bytes)
    }
}

impl Drop for NamedFile {
    fn drop(&mut self) {
        if self.is_new && !self.has_begun {
            // If it cannot be removed, it is empty.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Replacement {
    /// Returns `None` if the file must be written where it is: a device, a pipe, a file in a folder where none can be made.
    fn new(path: &Path) -> io::Result<Option<Self>> {
        // Links there stand for what is open, as /dev/stdout does.
        if path.starts_with("/dev") || path.starts_with("/proc") {
            return Ok(None);
        }
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
        // A file is left behind only by who is ended while writing it.
        if File::create_new(&part).and_then(|_| fs::remove_file(&part)).is_err() {
            return Ok(None);
        }
        Ok(Some(Self { path: path.to_owned(), place, part, permissions, file: None }))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let file = none.insert(File::create_new(&self.part)?);
                if let Some(permissions) = self.permissions.take() {
                    file.set_permissions(permissions)?;
                }
                file
            }
        };
        file.write(bytes)
    }

    /// Puts the file in its place, if there is anything in it.
    fn finish(&mut self) -> io::Result<()> {
        if self.file.is_some() {
            fs::rename(&self.part, &self.place)?;
            self.file = None;
        }
        Ok(())
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if self.file.is_some() {
            // If it cannot be removed, its name says what it is.
            let _ = fs::remove_file(&self.part);
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::File(file) => file.write(bytes).map_err(|error| FileError::wrap(&file.path, error)),
            Self::Replacement(file) => file.write(bytes).map_err(|error| FileError::wrap(&file.path, error)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::File(_) | Self::Replacement(_) => Ok(()),
        }
    }
}

/// Writes a whole result to a file, or to standard output if `path` is `-`, as [`Output::write_whole`] does.
pub fn write(path: &Path, form: Form, bytes: &[u8], is_empty: bool) -> Result<(), Error> {
    Output::open_whole(path, form)?.write_whole(bytes, is_empty)
}

/// Reports that a result that says nothing was not written to its file.
pub fn report_unwritten(path: &Path) {
    if path.as_os_str() != "-" {
        report(&format!("{}: not written: nothing would be in it", path.display()));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tracewright_testkit::Scratch;

    use super::*;

    #[test]
    fn only_a_result_that_says_something_leaves_or_replaces_a_file() {
        let folder = Scratch::new("output");
        let (new, old) = (folder.path().join("new"), folder.path().join("old"));
        fs::write(&old, "what was there").unwrap();
        for path in [&new, &old] {
            Output::open(path, Form::Text).unwrap().finish().unwrap();
            Output::open_whole(path, Form::Text).unwrap().finish().unwrap();
            write(path, Form::Text, b"head,of,nothing\n", true).unwrap();
        }
        assert!(!new.exists());
        assert_eq!(fs::read_to_string(&old).unwrap(), "what was there");
        for path in [&new, &old] {
            write(path, Form::Text, b"short", false).unwrap();
            assert_eq!(fs::read_to_string(path).unwrap(), "short");
        }
    }

    #[test]
    fn what_was_there_stays_until_the_new_one_is_complete() {
        let folder = Scratch::new("replaced");
        let (old, link) = (folder.path().join("old"), folder.path().join("link"));
        fs::write(&old, "what was there").unwrap();
        fs::set_permissions(&old, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&old, &link).unwrap();
        let list = || {
            let mut names: Vec<_> =
                fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        // One that is broken off, here and through a link.
        for path in [&old, &link] {
            let mut out = Output::open_whole(path, Form::Text).unwrap();
            out.write_all(&[b'.'; 1 << 17]).unwrap();
            out.flush().unwrap();
            assert_eq!(fs::read_to_string(&old).unwrap(), "what was there");
            assert_eq!(list().len(), 3);
            drop(out);
            assert_eq!(fs::read_to_string(&old).unwrap(), "what was there");
            assert_eq!(list(), ["link", "old"]);
        }
        // One that is complete.
        let mut out = Output::open_whole(&link, Form::Text).unwrap();
        out.write_all(b"new").unwrap();
        out.finish().unwrap();
        assert_eq!(fs::read_to_string(&old).unwrap(), "new");
        assert_eq!(fs::metadata(&old).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(link.is_symlink());
        assert_eq!(list(), ["link", "old"]);
    }

    #[test]
    fn errors_name_the_file() {
        let full = write(Path::new("/dev/full"), Form::Text, b"text", false).unwrap_err();
        assert!(full.to_string().starts_with("/dev/full: cannot write: No space left"), "{full}");
        let none = write(Path::new("/nowhere/at/all"), Form::Text, b"text", false).unwrap_err();
        assert!(none.to_string().starts_with("/nowhere/at/all: cannot write: No such file"), "{none}");
    }
}
