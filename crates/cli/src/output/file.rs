//! Where a result goes: a file, or standard output.

use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use tracewright::escape::{Escaping, Form};
use tracewright_input::{OutputFile, OutputKind, Replace};

use super::{Error, report};
use crate::terminal::{self, Pager, leave_out, switch};

/// What may be replaced.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct ForceArgs {
    /// Replace an output that exists, whatever it is. Without it, only an output of the same kind is replaced.
    #[arg(long)]
    pub force: bool,
}

impl ForceArgs {
    /// Returns what an output may replace.
    pub fn replace(self) -> Replace {
        if self.force { Replace::Anything } else { Replace::SameKind }
    }
}

/// A file that a result is written to, or standard output (`-`).
///
/// A name that cannot be written is told when it is opened, so before the work begins. Of a result that says nothing, no file remains,
/// and one that was there before stays as it was.
///
/// Errors name the file. [`finish`](Self::finish) tells those of the bytes written last, so it must be called.
pub struct Output(BufWriter<Escaping<Target>>);

enum Target {
    Stdout(Stdout),
    Pager(Pager),
    File(OutputFile),
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
    pub fn open_whole(path: &Path, form: Form, force: ForceArgs) -> Result<Self, Error> {
        if path.as_os_str() == "-" {
            return Ok(Self::stdout(form));
        }
        let file = OutputFile::create(path, kind(form), force.replace());
        Ok(Self::new(Target::File(file.map_err(|error| FileError::wrap(path, error))?), form))
    }

    /// Opens standard output if `path` is `-`, else a file of which all that is written is kept, whatever comes.
    pub fn open(path: &Path, form: Form, force: ForceArgs) -> Result<Self, Error> {
        let mut output = Self::open_whole(path, form, force)?;
        let target = output.0.get_mut().inner_mut();
        *target = match std::mem::replace(target, Target::Stdout(io::stdout())) {
            Target::File(file) => Target::File(file.kept()),
            other => other,
        };
        Ok(output)
    }

    /// Returns standard output.
    pub fn stdout(form: Form) -> Self {
        Self::new(Target::Stdout(io::stdout()), form)
    }

    /// Returns the pager if there is one, else standard output. For listings that may be long.
    pub fn paged(form: Form) -> Self {
        match Pager::start() {
            Some(pager) => Self::new(Target::Pager(pager), form),
            None => Self::stdout(form),
        }
    }

    fn new(target: Target, form: Form) -> Self {
        let is_shown = matches!(target, Target::Stdout(_) | Target::Pager(_));
        let style = if is_shown && terminal::has_colors() { switch } else { leave_out };
        Self(BufWriter::with_capacity(1 << 16, Escaping::new(target, form, style)))
    }

    /// Writes a whole result, and finishes.
    ///
    /// A result that says nothing (`is_empty`) leaves no file and replaces none, and that is reported. Standard output gets it all the
    /// same: a table without rows is an answer for who reads it.
    pub fn write_whole(mut self, bytes: &[u8], is_empty: bool) -> Result<(), Error> {
        let path = match self.0.get_ref().inner() {
            Target::Stdout(_) | Target::Pager(_) => None,
            Target::File(file) => Some(file.path()),
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
        if let Target::File(file) = self.0.get_mut().inner_mut() {
            file.finish().map_err(|error| FileError::wrap(file.path(), error))?;
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

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::Pager(pager) => pager.write(bytes),
            Self::File(file) => file.write(bytes).map_err(|error| FileError::wrap(file.path(), error)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::Pager(_) | Self::File(_) => Ok(()),
        }
    }
}

/// Writes a whole result to a file, or to standard output if `path` is `-`, as [`Output::write_whole`] does.
pub fn write(path: &Path, form: Form, bytes: &[u8], is_empty: bool) -> Result<(), Error> {
    Output::open_whole(path, form, ForceArgs::default())?.write_whole(bytes, is_empty)
}

/// Returns the kind of file that a result is written to.
fn kind(form: Form) -> OutputKind {
    match form {
        Form::Text | Form::Table => OutputKind::Text,
        Form::Json => OutputKind::Json,
        Form::Xml => OutputKind::Xml,
        Form::Binary => OutputKind::Data,
    }
}

/// Reports that a result that says nothing was not written to its file.
pub fn report_unwritten(path: &Path) {
    if path.as_os_str() != "-" {
        report(&format!("{}: not written: nothing would be in it", path.display()));
    }
}

/// Fails if an output that cannot be standard output is to go there.
pub fn refuse_stream(path: &Path, option: &str, what: &str) -> Result<(), Error> {
    match path.as_os_str() == "-" {
        true => Err(Error::Message(format!(
            "{option} -: {what}, which cannot go to standard output: give it a name"
        ))),
        false => Ok(()),
    }
}

/// Fails if an output that is no text is to go to a terminal.
pub fn refuse_terminal(path: &Path, form: Form) -> Result<(), Error> {
    match form == Form::Binary && path.as_os_str() == "-" && io::stdout().is_terminal() {
        true => Err(Error::Message("this is no text for a terminal: say where to with -o FILE".into())),
        false => Ok(()),
    }
}

/// Fails if two outputs have the same name.
pub fn refuse_same(outputs: &[(&str, Option<&Path>)]) -> Result<(), Error> {
    let given: Vec<_> = outputs.iter().filter_map(|(option, path)| path.map(|path| (option, path))).collect();
    for (i, (option, path)) in given.iter().enumerate() {
        let is_same = |(_, other): &&(&&str, &Path)| {
            path.components().eq(other.components()) && path.as_os_str() != "-"
        };
        if let Some((other, _)) = given[..i].iter().find(is_same) {
            let path = path.display();
            return Err(Error::Message(format!(
                "{other} and {option} both write {path}: give them two names"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use tracewright_testkit::Scratch;

    use super::*;

    /// An output of ours: folded stacks.
    const OLD: &str = "main;sort 12\n";

    #[test]
    fn only_a_result_that_says_something_leaves_or_replaces_a_file() {
        let folder = Scratch::new("output");
        let (new, old) = (folder.path().join("new"), folder.path().join("old"));
        fs::write(&old, OLD).unwrap();
        for path in [&new, &old] {
            Output::open(path, Form::Text, ForceArgs::default()).unwrap().finish().unwrap();
            Output::open_whole(path, Form::Text, ForceArgs::default()).unwrap().finish().unwrap();
            write(path, Form::Text, b"head,of,nothing\n", true).unwrap();
        }
        assert!(!new.exists());
        assert_eq!(fs::read_to_string(&old).unwrap(), OLD);
        for path in [&new, &old] {
            write(path, Form::Text, b"short", false).unwrap();
            assert_eq!(fs::read_to_string(path).unwrap(), "short");
        }
    }

    #[test]
    fn what_was_there_stays_until_the_new_one_is_complete() {
        let folder = Scratch::new("replaced");
        let (old, link) = (folder.path().join("old"), folder.path().join("link"));
        fs::write(&old, OLD).unwrap();
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
            let mut out = Output::open_whole(path, Form::Text, ForceArgs::default()).unwrap();
            out.write_all(&[b'.'; 1 << 17]).unwrap();
            out.flush().unwrap();
            assert_eq!(fs::read_to_string(&old).unwrap(), OLD);
            assert_eq!(list().len(), 3);
            drop(out);
            assert_eq!(fs::read_to_string(&old).unwrap(), OLD);
            assert_eq!(list(), ["link", "old"]);
        }
        // One that is complete.
        let mut out = Output::open_whole(&link, Form::Text, ForceArgs::default()).unwrap();
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
