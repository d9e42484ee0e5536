use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::folder::Folder;
use super::slots::Slots;
use super::{Broken, Connection, Hello};

/// Waits for plugins.
#[derive(Debug)]
pub struct Receiver {
    // Before the folder, which it is in, is removed.
    listener: UnixListener,
    folder: Folder,
    socket: PathBuf,
    log: PathBuf,
}

/// A plugin that has connected, but said nothing yet.
#[derive(Debug)]
pub struct Incoming {
    stream: UnixStream,
    folder: PathBuf,
}

/// How long a plugin may take for its first words. It has them ready when it connects.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a [`Connection`] waits before it says that all is quiet.
const QUIET: Duration = Duration::from_millis(100);

impl Receiver {
    /// Listens in a private folder, in the first of these places that has so many bytes left for the log.
    ///
    /// # Errors
    /// When there is none, with the reason of the last.
    pub fn new(places: &[PathBuf], room: u64) -> io::Result<Self> {
        let folder = Folder::new(places, room)?;
        let (socket, log) = (folder.path().join("socket"), folder.path().join("log"));
        Ok(Self { listener: UnixListener::bind(&socket)?, folder, socket, log })
    }

    /// The socket that plugins are to connect to.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The log that the first plugin is to make.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Waits for the next plugin. `None`: there will be no more.
    ///
    /// # Errors
    /// When the socket cannot be listened to.
    pub fn accept(&self) -> io::Result<Option<Incoming>> {
        match self.listener.accept() {
            Ok((stream, _)) => Ok(Some(Incoming { stream, folder: self.folder.path().to_owned() })),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lets [`accept`](Self::accept) wait no longer. Those who have connected so far are still accepted, and somebody who says nothing.
    ///
    /// # Errors
    /// When the socket cannot be listened to.
    pub fn close(&self) -> io::Result<()> {
        self.listener.set_nonblocking(true)?;
        // Who waits already does not know.
        UnixStream::connect(&self.socket).map(drop)
    }
}

impl Incoming {
    /// Hears its first words, and opens its log, which then has no name any more: nothing is left of it, however this ends.
    ///
    /// # Errors
    /// When it is no plugin, or has no log.
    pub fn open(mut self) -> Result<Connection, Broken> {
        self.stream.set_read_timeout(Some(PATIENCE))?;
        let hello = Hello::read(&mut self.stream).map_err(Broken::Hello)?;
        if hello.path.parent() != Some(&self.folder) {
            return Err(Broken::Place(hello.path));
        }
        let slots = Slots::open(&hello.path, hello.slots)?;
        std::fs::remove_file(&hello.path)?;
        self.stream.set_read_timeout(Some(QUIET))?;
        Ok(Connection::new(self.stream, hello.pid, slots))
    }
}
