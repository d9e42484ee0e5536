//! Source files, wherever they are now.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A source file that is longer is none.
const LONGEST: u64 = 64 << 20;

/// Source files that were asked for.
pub struct Sources {
    folders: Vec<PathBuf>,
    /// By the path that the compiler saw: the lines.
    files: HashMap<String, Option<Vec<String>>>,
}

impl Sources {
    /// Files may also lie in these folders.
    pub fn new(folders: &[PathBuf]) -> Self {
        Self { folders: folders.to_vec(), files: HashMap::new() }
    }

    /// A line, from 1 on; `None` if there is no such file or line.
    pub fn line(&mut self, path: &str, line: u32) -> Option<&str> {
        let folders = &self.folders;
        let lines = self.files.entry(path.to_owned()).or_insert_with(|| read(folders, path));
        let line = (line as usize).checked_sub(1)?;
        lines.as_ref()?.get(line).map(String::as_str)
    }
}

/// The lines of a file: in a folder under as much of its path as there is, or where the compiler saw it.
fn read(folders: &[PathBuf], path: &str) -> Option<Vec<String>> {
    let parts: Vec<_> = path.split(['/', '\\']).filter(|part| !matches!(*part, "" | "." | "..")).collect();
    let within = folders.iter().flat_map(|folder| {
        let parts = &parts;
        (0..parts.len()).map(move |first| folder.join(parts[first..].iter().collect::<PathBuf>()))
    });
    let found = within
        .chain([Path::new(path).to_owned()])
        .find(|path| fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= LONGEST))?;
    let bytes = fs::read(found).ok()?;
    Some(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
}
