use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, process};

/// A private folder, removed when dropped.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Creates a folder.
    ///
    /// # Errors
    /// Returns an error if it cannot be created.
    pub fn new() -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("tracewright-{}-{number}", process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes an executable file (QEMU silently requires that) into the folder. Returns its path.
    ///
    /// # Errors
    /// Returns an error if it cannot be written, or exists.
    pub fn write(&self, name: impl AsRef<OsStr>, bytes: &[u8]) -> io::Result<PathBuf> {
        let path = self.0.join(name.as_ref());
        OpenOptions::new().write(true).create_new(true).mode(0o755).open(&path)?.write_all(bytes)?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
