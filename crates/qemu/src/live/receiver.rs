use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::folder::Folder;
use super::slots::Slots;
use super::{Broken, Connection, Hello};

/// Listens for plugins.
#[derive(Debug)]
pub struct Receiver {
    // Dropped before the folder that it is in.
    listener: UnixListener,
    folder: Folder,
    socket: PathBuf,
    log: PathBuf,
}

/// A plugin that has connected but sent nothing yet.
#[derive(Debug)]
pub struct Incoming {
    stream: UnixStream,
    folder: PathBuf,
}

/// Maximum time for the greeting, which a plugin has ready when it connects.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time after which a [`Connection`] reports that nothing came.
const QUIET: Duration = Duration::from_millis(100);

impl Receiver {
    /// Listens in a private folder, in the first of these places that has `room` bytes left for the log.
    ///
    /// # Errors
    /// Returns the reason of the last place if none works.
    pub fn new(places: &[PathBuf], room: u64) -> io::Result<Self> {
        let folder = Folder::new(places, room)?;
        let (socket, log) = (folder.path().join("socket"), folder.path().join("log"));
        Ok(Self { listener: UnixListener::bind(&socket)?, folder, socket, log })
    }

    /// Returns the socket that plugins connect to.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns the log that the first plugin creates.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Waits for the next plugin. Returns `None` if there will be no more.
    ///
    /// # Errors
    /// Returns an error if the socket fails.
    pub fn accept(&self) -> io::Result<Option<Incoming>> {
        match self.listener.accept() {
            Ok((stream, _)) => Ok(Some(Incoming { stream, folder: self.folder.path().to_owned() })),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes [`accept`](Self::accept) return. Plugins that have connected so far are still accepted, and one connection
    /// that sends nothing.
    ///
    /// # Errors
    /// Returns an error if the socket fails.
    pub fn close(&self) -> io::Result<()> {
        self.listener.set_nonblocking(true)?;
        // Wakes a thread that already waits.
        UnixStream::connect(&self.socket).map(drop)
    }
}

impl Incoming {
    /// Reads the greeting and opens the log. The log then loses its name, so that nothing is left of it, however this ends.
    ///
    /// # Errors
    /// Returns an error if the peer is no plugin, or has no log.
    pub fn open(mut self) -> Result<Connection, Broken> {
        self.stream.set_read_timeout(Some(PATIENCE))?;
        let hello = Hello::read(&mut self.stream)?;
        if hello.path.parent() != Some(&self.folder) {
            return Err(Broken::Place(hello.path));
        }
        let slots = Slots::open(&hello.path, hello.slots)?;
        std::fs::remove_file(&hello.path)?;
        self.stream.set_read_timeout(Some(QUIET))?;
        Ok(Connection::new(self.stream, hello.pid, slots))
    }
}
