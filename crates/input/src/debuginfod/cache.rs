//! Cache of files by build ID, in the layout of elfutils: `BUILD-ID/executable` and `BUILD-ID/debuginfo`. An empty file
//! says that no server has it.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::Kind;
use crate::file::read_plain;

/// Time for which a missing file is not asked for again.
const MISS: Duration = Duration::from_secs(600);

#[derive(Clone, Debug)]
pub(super) struct Cache {
    folder: PathBuf,
}

/// File in the cache.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kept {
    File(PathBuf),
    /// No server had it a short time ago.
    Missing,
}

impl Cache {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Returns the cache that elfutils use.
    pub fn of_user() -> Self {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        Self::new(folder(set, Path::is_dir))
    }

    fn place(&self, id: &str, kind: Kind) -> PathBuf {
        self.folder.join(id).join(kind.name())
    }

    pub fn find(&self, id: &str, kind: Kind) -> Option<Kept> {
        let path = self.place(id, kind);
        let metadata = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
        if metadata.len() > 0 {
            return Some(Kept::File(path));
        }
        let text = read_plain(&self.folder.join("cache_miss_s"), 64).ok();
        let seconds = text.and_then(|text| String::from_utf8(text).ok()?.trim().parse().ok());
        let most = seconds.map_or(MISS, Duration::from_secs);
        let age = metadata.modified().ok().and_then(|modified| modified.elapsed().ok());
        age.is_some_and(|age| age < most).then_some(Kept::Missing)
    }

    /// Notes that no server has a file.
    pub fn note_missing(&self, id: &str, kind: Kind) {
        let path = self.place(id, kind);
        // Without a cache, it is asked for again.
        let _ = fs::remove_file(&path);
        let _ = fs::create_dir_all(self.folder.join(id));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0);
        let _ = options.open(path);
    }

    /// Creates a file that takes its place in the cache when it is complete.
    pub fn create(&self, id: &str, kind: Kind) -> io::Result<(Temporary, File)> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let of_folder = |error: io::Error| io::Error::other(format!("{}: {error}", self.folder.display()));
        fs::create_dir_all(self.folder.join(id)).map_err(of_folder)?;
        let place = self.place(id, kind);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = place.with_extension(format!("{}-{number}", std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(of_folder)?;
        Ok((Temporary { path, place, is_kept: false }, file))
    }
}

/// Returns the folder of the cache; `set` returns variables, `exists` whether a folder exists.
fn folder(set: impl Fn(&str) -> Option<OsString>, exists: impl Fn(&Path) -> bool) -> PathBuf {
    if let Some(folder) = set("DEBUGINFOD_CACHE_PATH") {
        return folder.into();
    }
    let home = PathBuf::from(set("HOME").unwrap_or_default());
    let old = home.join(".debuginfod_client_cache");
    if exists(&old) {
        return old;
    }
    let caches = set("XDG_CACHE_HOME").map_or_else(|| home.join(".cache"), PathBuf::from);
    caches.join("debuginfod_client")
}

/// File that is removed unless it is kept.
#[derive(Debug)]
pub(super) struct Temporary {
    path: PathBuf,
    place: PathBuf,
    is_kept: bool,
}

impl Temporary {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the file to its place, and returns that.
    pub fn keep(mut self) -> io::Result<PathBuf> {
        fs::rename(&self.path, &self.place)?;
        self.is_kept = true;
        Ok(self.place.clone())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_cache_is_where_elfutils_have_it() {
        let folder = |variables: &[(&str, &str)], exists: bool| {
            let set =
                |name: &str| variables.iter().find(|(of, _)| *of == name).map(|(_, value)| value.into());
            super::folder(set, |_| exists).display().to_string()
        };
        let home = ("HOME", "/h");
        assert_eq!(folder(&[home], false), "/h/.cache/debuginfod_client");
        assert_eq!(folder(&[home], true), "/h/.debuginfod_client_cache");
        assert_eq!(folder(&[home, ("XDG_CACHE_HOME", "/c")], false), "/c/debuginfod_client");
        assert_eq!(folder(&[home, ("DEBUGINFOD_CACHE_PATH", "/d")], true), "/d");
    }
}
