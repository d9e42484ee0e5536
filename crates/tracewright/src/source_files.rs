//! Source files, in the folders where they may be looked for.
//!
//! Debug information names any file it likes, so only files in folders that a person named are shown, and those that came with the
//! capture. Links are followed first: a file counts as being where it really is.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tracewright_input::file::read_plain;

use crate::error::Error;

/// Most bytes of a source file.
const LONGEST: u64 = 64 << 20;

/// Lines of source files, which are read when they are asked for.
#[derive(Debug)]
pub struct SourceFiles {
    /// Without links.
    folders: Vec<PathBuf>,
    /// By the path that the compiler saw: the lines.
    files: HashMap<String, Option<Vec<String>>>,
}

impl SourceFiles {
    /// Looks for files in `folders`, and in the capture if that is a folder.
    ///
    /// # Errors
    /// Fails if one of `folders` cannot be opened.
    pub fn new(folders: &[PathBuf], capture: &Path) -> Result<Self, Error> {
        let folder = |path: &PathBuf| {
            let opened = path.read_dir().and_then(|_| path.canonicalize());
            opened.map_err(|error| Error::Unreadable(path.clone(), error))
        };
        let mut folders = folders.iter().map(folder).collect::<Result<Vec<_>, _>>()?;
        folders.extend(capture.is_dir().then(|| capture.canonicalize().ok()).flatten());
        Ok(Self { folders, files: HashMap::new() })
    }

    /// Returns whether lines of a file that was not found, or may not be shown, were asked for.
    pub fn any_missing(&self) -> bool {
        self.files.values().any(Option::is_none)
    }

    /// Returns a line, counted from 1. `None` if there is no such file or line.
    pub fn line(&mut self, path: &str, line: u32) -> Option<&str> {
        let folders = &self.folders;
        let lines = self.files.entry(path.to_owned()).or_insert_with(|| read(folders, path));
        let line = (line as usize).checked_sub(1)?;
        lines.as_ref()?.get(line).map(String::as_str)
    }
}

/// Reads the lines of a file: in a folder under as much of its path as there is, or where the compiler saw it, if that is in a folder.
fn read(folders: &[PathBuf], path: &str) -> Option<Vec<String>> {
    let parts: Vec<_> = path.split(['/', '\\']).filter(|part| !matches!(*part, "" | "." | "..")).collect();
    let within = folders.iter().flat_map(|folder| {
        let parts = &parts;
        (0..parts.len()).map(move |first| folder.join(parts[first..].iter().collect::<PathBuf>()))
    });
    let is_inside = |path: &PathBuf| folders.iter().any(|folder| path.starts_with(folder));
    let found = within.chain([PathBuf::from(path)]).filter_map(|path| path.canonicalize().ok());
    let bytes = found.filter(is_inside).find_map(|path| read_plain(&path, LONGEST).ok())?;
    Some(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
}
