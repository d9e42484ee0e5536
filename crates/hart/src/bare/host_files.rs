//! The files of the host that a program may read: those below one folder.

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
    /// The folder's paths on the host: as it was given, and without links.
    folders: [PathBuf; 2],
    /// Where relative paths start.
    here: PathBuf,
}

impl HostFiles {
    /// Those below `folder`.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn below(folder: &Path) -> io::Result<Self> {
        let (here, whole) = (std::env::current_dir()?, folder.canonicalize()?);
        let tree = Tree::of_folder(&whole)?;
        let folders = [normal(&here.join(folder)), whole];
        Ok(Self { tree, folders, here })
    }

    /// Opens a plain file. A path means what it means on the host; a relative one is looked for in the folder, too.
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

/// An absolute path without `.` and `..`, by its text alone.
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
