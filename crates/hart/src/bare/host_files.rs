//! Files of the host that a program may read: those below one folder.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::OFlags;

use crate::linux::paths::{Place, Tree};

/// A folder whose files may be read.
#[derive(Debug)]
pub(super) struct HostFiles {
    tree: Tree,
    /// Paths of the folder on the host: as given, and with links resolved.
    folders: [PathBuf; 2],
    /// Base of relative paths.
    here: PathBuf,
}

impl HostFiles {
    /// Allows the files below `folder`.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be opened.
    pub fn below(folder: &Path) -> io::Result<Self> {
        let (here, whole) = (std::env::current_dir()?, folder.canonicalize()?);
        let tree = Tree::of_folder(&whole)?;
        let folders = [normal(&here.join(folder)), whole];
        Ok(Self { tree, folders, here })
    }

    /// Opens a regular file. A path means what it means on the host; a relative path is also searched in the folder.
    pub fn open(&self, path: &[u8]) -> Option<File> {
        let path = Path::new(OsStr::from_bytes(path));
        let whole = normal(&self.here.join(path));
        let inside = self.folders.iter().filter_map(|folder| whole.strip_prefix(folder).ok());
        inside.chain(path.is_relative().then_some(path)).find_map(|path| self.open_inside(path))
    }

    fn open_inside(&self, path: &Path) -> Option<File> {
        match self.tree.find(&self.tree.root(), path.as_os_str().as_bytes(), true) {
            Ok(Place::Host(found)) => found.open(OFlags::RDONLY).ok(),
            _ => None,
        }
    }
}

/// Returns an absolute path without `.` and `..`, without looking at the file system.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            part => normal.push(part),
        }
    }
    normal
}
