use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A private folder of this user, removed with everything in it.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Lock that is held while the folder is in use, also against recorders that see other process IDs.
    _lock: File,
}

/// Prefix of the names of such folders; the recorder's process ID and another number follow.
const NAME: &str = "tracewright";

/// Maximum length of a socket's path in bytes (`sockaddr_un`, without the final zero).
const MOST_SOCKET_PATH: usize = 107;
/// Longest name of a file in the folder: the log of a forked process, with its number.
const LONGEST_NAME: usize = "/log.4294967295".len();

impl Folder {
    /// Creates a folder in the first of these places that has `room` bytes left.
    pub fn new(places: &[PathBuf], room: u64) -> io::Result<Self> {
        let mut failed = io::Error::new(io::ErrorKind::NotFound, "there is no place for it");
        for place in places {
            match Self::within(place).and_then(|folder| folder.has_room(room).map(|()| folder)) {
                Ok(folder) => {
                    folder.remove_stale();
                    return Ok(folder);
                }
                Err(error) => {
                    failed = io::Error::new(error.kind(), format!("{}: {error}", place.display()));
                }
            }
        }
        Err(failed)
    }

    fn within(place: &Path) -> io::Result<Self> {
        // QEMU changes its folder if the program does.
        let place = fs::canonicalize(place)?;
        // A name is used once in a process.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = place.join(format!("{NAME}-{}-{number}", std::process::id()));
            if path.as_os_str().len() + LONGEST_NAME > MOST_SOCKET_PATH {
                return Err(io::Error::other("the path is too long for a socket"));
            }
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    let lock = File::open(&path)?;
                    // Without locks, the process ID has to do.
                    let _ = lock.try_lock();
                    return Ok(Self { path, _lock: lock });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Tests for room by allocating it, which is the only reliable way.
    fn has_room(&self, room: u64) -> io::Result<()> {
        let path = self.path.join("room");
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

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes folders beside this one whose recorders were killed, since they hold memory.
    fn remove_stale(&self) {
        let Some(entries) = self.path.parent().and_then(|place| fs::read_dir(place).ok()) else { return };
        let Ok(own) = fs::symlink_metadata(&self.path) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(recorder) else { continue };
            let is_running = pid == std::process::id() || Path::new(&format!("/proc/{pid}")).exists();
            // Only folders of this user that were created like this one, and no links.
            let is_alike = entry
                .metadata()
                .is_ok_and(|found| found.is_dir() && found.uid() == own.uid() && found.mode() == own.mode());
            if !is_running && is_alike && File::open(entry.path()).is_ok_and(|lock| lock.try_lock().is_ok()) {
                // What cannot be removed stays.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// Returns the process ID of the recorder in a folder's name.
fn recorder(name: &str) -> Option<u32> {
    let (pid, number) = name.strip_prefix(NAME)?.strip_prefix('-')?.split_once('-')?;
    number.parse::<u32>().ok()?;
    pid.parse().ok()
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed stays.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    /// Returns the ID of a process that has ended.
    fn ended() -> u32 {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    #[test]
    fn folders_of_recorders_that_were_killed_are_removed() {
        let scratch = tracewright_testkit::Scratch::new("stale");
        let place = scratch.path();
        let make = |name: &str, mode: u32| {
            let path = place.join(name);
            DirBuilder::new().mode(mode).create(&path).unwrap();
            fs::write(path.join("log"), "memory").unwrap();
            path
        };
        let dead = ended();
        let stale = make(&format!("tracewright-{dead}-0"), 0o700);
        let kept = [
            make(&format!("tracewright-{}-7", std::process::id()), 0o700),
            make(&format!("tracewright-{dead}-1"), 0o755),
            make(&format!("tracewright-{dead}-x"), 0o700),
            make(&format!("other-{dead}-0"), 0o700),
        ];
        let locked = make(&format!("tracewright-{dead}-2"), 0o700);
        let lock = File::open(&locked).unwrap();
        lock.try_lock().unwrap();
        let elsewhere = make("elsewhere", 0o700);
        symlink(&elsewhere, place.join(format!("tracewright-{dead}-3"))).unwrap();
        let folder = Folder::new(&[place.to_owned()], 0).unwrap();
        assert!(!stale.exists());
        for path in kept.iter().chain([&locked, &elsewhere]) {
            assert!(path.join("log").exists(), "{}", path.display());
        }
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
    }
}
