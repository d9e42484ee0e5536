//! Where a result goes: a file, or standard output.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};

use super::escape::{Escaping, Form};
use super::{Error, report};

/// A file that a result is written to, or standard output (`-`).
///
/// The file is opened at once, so that a name that cannot be written is told before the work begins. It is emptied when the first byte
/// comes: of a result that says nothing, no file remains, and one that was there before stays as it was.
///
/// Errors name the file. [`finish`](Self::finish) tells those of the bytes written last, so it must be called.
pub struct Output(BufWriter<Escaping<Target>>);

enum Target {
    Stdout(Stdout),
    File(NamedFile),
}

struct NamedFile {
    file: File,
    path: PathBuf,
    /// Whether this made the file.
    is_new: bool,
    has_begun: bool,
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
    /// Opens the file, or standard output if `path` is `-`.
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

    /// Writes what is left.
    pub fn finish(mut self) -> Result<(), Error> {
        Ok(self.flush()?)
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

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::File(file) => file.write(bytes).map_err(|error| FileError::wrap(&file.path, error)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::File(_) => Ok(()),
        }
    }
}

/// Writes a whole result to a file, or to standard output if `path` is `-`.
///
/// A result that says nothing (`is_empty`) leaves no file and replaces none, and that is reported. Standard output gets it all the same:
/// a table without rows is an answer for who reads it.
pub fn write(path: &Path, form: Form, bytes: &[u8], is_empty: bool) -> Result<(), Error> {
    if is_empty && path.as_os_str() != "-" {
        report_unwritten(path);
        return Ok(());
    }
    let mut out = Output::open(path, form)?;
    out.write_all(bytes)?;
    out.finish()
}

/// Reports that a result that says nothing was not written to its file.
pub fn report_unwritten(path: &Path) {
    if path.as_os_str() != "-" {
        report(&format!("{}: not written: nothing would be in it", path.display()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_result_that_says_something_leaves_or_replaces_a_file() {
        let folder = std::env::temp_dir().join(format!("tracewright-output-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (new, old) = (folder.join("new"), folder.join("old"));
        fs::write(&old, "what was there").unwrap();
        for path in [&new, &old] {
            Output::open(path, Form::Text).unwrap().finish().unwrap();
            write(path, Form::Text, b"head,of,nothing\n", true).unwrap();
        }
        assert!(!new.exists());
        assert_eq!(fs::read_to_string(&old).unwrap(), "what was there");
        for path in [&new, &old] {
            write(path, Form::Text, b"short", false).unwrap();
            assert_eq!(fs::read_to_string(path).unwrap(), "short");
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn errors_name_the_file() {
        let full = write(Path::new("/dev/full"), Form::Text, b"text", false).unwrap_err();
        assert!(full.to_string().starts_with("/dev/full: cannot write: No space left"), "{full}");
        let none = write(Path::new("/nowhere/at/all"), Form::Text, b"text", false).unwrap_err();
        assert!(none.to_string().starts_with("/nowhere/at/all: cannot write: No such file"), "{none}");
    }
}
