use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that only this user can look into, and that is removed with all that is in it.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

/// A socket's path has so many bytes at most (`sockaddr_un`, with the zero at its end).
const MOST_SOCKET_PATH: usize = 107;
/// The longest name of a file in the folder: the log of a process that was forked, with its number.
const LONGEST_NAME: usize = "/log.4294967295".len();

impl Folder {
    /// Makes one in the first of these places that has so many bytes left.
    pub fn new(places: &[PathBuf], room: u64) -> io::Result<Self> {
        let mut failed = io::Error::new(io::ErrorKind::NotFound, "there is no place for it");
        for place in places {
            match Self::within(place).and_then(|folder| folder.has_room(room).map(|()| folder)) {
                Ok(folder) => return Ok(folder),
                Err(error) => {
                    failed = io::Error::new(error.kind(), format!("{}: {error}", place.display()));
                }
            }
        }
        Err(failed)
    }

    fn within(place: &Path) -> io::Result<Self> {
        // QEMU goes to another folder if the program does.
        let place = fs::canonicalize(place)?;
        // A name is used once in a process.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = place.join(format!("tracewright-{}-{number}", std::process::id()));
            if path.as_os_str().len() + LONGEST_NAME > MOST_SOCKET_PATH {
                return Err(io::Error::other("the path is too long for a socket"));
            }
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Tries it: nobody else can say.
    fn has_room(&self, room: u64) -> io::Result<()> {
        let path = self.0.join("room");
        let mut file = File::create(&path)?;
        let zeros = vec![0; 1 << 16];
        let mut left = room;
        while left > 0 {
            let len = left.min(zeros.len() as u64);
            file.write_all(&zeros[..len as usize])?;
            left -= len;
        }
        drop(file);
        fs::remove_file(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed stays: there is nothing else to do about it.
        let _ = fs::remove_dir_all(&self.0);
    }
}
