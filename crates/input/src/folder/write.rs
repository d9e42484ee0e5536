use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::CAPTURE_FILE;
use super::text::Description;
use crate::capture::Capture;
use crate::etrace::EtraceSource;
use crate::file::open_plain;
use crate::problem::Problem;
use crate::program::build_id;

/// Writes a capture folder.
///
/// Trace goes to disk as it comes; [`finish`](Self::finish) writes `capture.toml` and proves it by reading it back.
/// Before that the folder has none, so a half-written one is not taken for good.
///
/// ```
/// use std::io::Write;
/// use tracewright_core::Isa;
/// use tracewright_etrace::{Options, Params, data, stream};
/// use tracewright_input::{Capture, CaptureWriter, EtraceSource};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = std::env::temp_dir().join(format!("tracewright-capture-doc-{}", std::process::id()));
/// let (options, data) = (Options::default(), data::Options::default());
/// let encapsulation = stream::Encapsulation::Smi;
/// let config = stream::Config { params: Params::default(), encapsulation, options, data };
/// let mut writer = CaptureWriter::create(&dir)?;
/// let hart = writer.source("hart0", EtraceSource { config, source: 0, isa: Isa::Rv64 });
/// let (_, mut file) = writer.buffer("trace", &[hart])?;
/// file.write_all(&[0x42, 0x77, 0x00])?;
/// writer.finish()?;
///
/// let capture = Capture::open(&dir)?;
/// assert_eq!(capture.sources[0].name, "hart0");
/// assert!(capture.problems.is_empty());
/// # std::fs::remove_dir_all(&dir).ok();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CaptureWriter {
    dir: PathBuf,
    description: Description,
    /// Names of files that are taken.
    taken: Vec<String>,
}

impl CaptureWriter {
    /// Starts a capture in the folder `dir`, which is made if it is not there. Files of an earlier capture that are in the way
    /// are overwritten.
    ///
    /// # Errors
    /// When the folder cannot be made, or an old `capture.toml` in it not be removed.
    pub fn create(dir: &Path) -> Result<Self, Problem> {
        let failed = |error: io::Error| Problem::file_error(dir, format!("cannot write here: {error}"));
        fs::create_dir_all(dir).map_err(failed)?;
        match fs::remove_file(dir.join(CAPTURE_FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let taken = vec![CAPTURE_FILE.to_owned()];
        Ok(Self { dir: dir.to_owned(), description: Description::default(), taken })
    }

    /// Sets the description: free text.
    pub fn describe(&mut self, text: &str) {
        self.description.description = Some(text.to_owned());
    }

    /// The file that describes the capture, which [`finish`](Self::finish) writes.
    pub fn description(&self) -> PathBuf {
        self.dir.join(CAPTURE_FILE)
    }

    /// Keeps a file's name free: images with that name get another one.
    pub fn reserve(&mut self, name: &str) {
        self.taken.push(name.to_owned());
    }

    /// Adds a source with a name of its own. Gives its number.
    pub fn source(&mut self, name: &str, source: EtraceSource) -> usize {
        self.description.sources.push((name.to_owned(), source, None));
        self.description.sources.len() - 1
    }

    /// Adds the retirement-delta trace of the source with this number. Gives the file for its bytes, and where it is.
    ///
    /// # Errors
    /// When the file cannot be made, or there is no such source.
    pub fn delta(&mut self, source: usize) -> Result<(PathBuf, File), Problem> {
        let name = self.free_name("delta.bin");
        let path = self.dir.join(&name);
        let Some((.., delta)) = self.description.sources.get_mut(source) else {
            return Err(Problem::file_error(&path, format!("there is no source {source}")));
        };
        *delta = Some(name);
        let made = create(&path)?;
        Ok((path, made))
    }

    /// Adds a buffer with a name of its own, written by the sources with these numbers. Gives the file for its bytes, and where it is.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn buffer(&mut self, name: &str, sources: &[usize]) -> Result<(PathBuf, File), Problem> {
        let file = self.free_name(&format!("{name}.bin"));
        let path = self.dir.join(&file);
        let made = create(&path)?;
        self.description.buffers.push((name.to_owned(), file, sources.to_vec()));
        Ok((path, made))
    }

    /// Adds a copy of a program file. `at` as in [`ImageFile`](crate::ImageFile).
    ///
    /// # Errors
    /// When it cannot be read, or not be copied.
    pub fn image(&mut self, path: &Path, at: Option<u64>) -> Result<(), Problem> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = self.free_name(&name);
        let copy = self.dir.join(&name);
        let build_id = build_id(path)?;
        // Recorded again from its own folder, it is there already; copying a file onto itself would empty it.
        let same = || Some(fs::canonicalize(path).ok()? == fs::canonicalize(&copy).ok()?);
        if same() != Some(true) {
            let failed = |error: io::Error| Problem::memory_error(&copy, format!("cannot write: {error}"));
            let mut from = open_plain(path)
                .map_err(|error| Problem::memory_error(path, format!("cannot read: {error}")))?;
            let mut to = File::create(&copy).map_err(failed)?;
            io::copy(&mut from, &mut to).map_err(failed)?;
        }
        self.description.images.push((name, at, build_id));
        Ok(())
    }

    /// Adds memory that no program file holds, such as a boot ROM: pieces with their addresses, all in one file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn dump(&mut self, name: &str, pieces: &[(u64, Vec<u8>)]) -> Result<(), Problem> {
        let name = self.free_name(&format!("{name}.bin"));
        let path = self.dir.join(&name);
        let bytes: Vec<u8> = pieces.iter().flat_map(|(_, bytes)| bytes).copied().collect();
        fs::write(&path, bytes)
            .map_err(|error| Problem::memory_error(&path, format!("cannot write: {error}")))?;
        let mut offset = 0;
        for (address, bytes) in pieces.iter().filter(|(_, bytes)| !bytes.is_empty()) {
            self.description.pieces.push((name.clone(), *address, offset, bytes.len() as u64));
            offset += bytes.len() as u64;
        }
        Ok(())
    }

    /// Writes `capture.toml`, and reads the capture back.
    ///
    /// # Errors
    /// When it cannot be written, or does not say what it should.
    pub fn finish(self) -> Result<Capture, Problem> {
        let path = self.dir.join(CAPTURE_FILE);
        fs::write(&path, self.description.text()).map_err(|error| cannot_write(&path, &error))?;
        let mut capture = super::open(&self.dir)?;
        match capture.problems.is_empty() {
            true => Ok(capture),
            false => Err(capture.problems.swap_remove(0)),
        }
    }

    /// A name for a file that no other has, as near to `name` as can be.
    fn free_name(&mut self, name: &str) -> String {
        let is_taken = |name: &str| self.taken.iter().any(|taken| taken.eq_ignore_ascii_case(name));
        let numbered = (2..).map(|number| format!("{number}-{name}"));
        let free = std::iter::once(name.to_owned()).chain(numbered).find(|name| !is_taken(name));
        let free = free.unwrap_or_default();
        self.taken.push(free.clone());
        free
    }
}

/// A file that is empty, and may be read again.
fn create(path: &Path) -> Result<File, Problem> {
    let made = File::options().read(true).write(true).create(true).truncate(true).open(path);
    made.map_err(|error| cannot_write(path, &error))
}

fn cannot_write(path: &Path, error: &io::Error) -> Problem {
    Problem::file_error(path, format!("cannot write: {error}"))
}
