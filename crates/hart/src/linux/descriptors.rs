//! File descriptors.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use super::errno::Errno;
use super::paths::Folder;
use super::process::Random;

/// Maximum number of open descriptors: Linux's default.
const MOST: i32 = 1024;

/// Standard input, output and error of a program.
pub struct Streams {
    /// Standard input.
    pub input: Box<dyn Read + Send>,
    /// Standard output.
    pub output: Box<dyn Write + Send>,
    /// Standard error.
    pub error: Box<dyn Write + Send>,
    /// For input, output and error: whether it looks like a terminal. Programs then write each line at once.
    pub terminals: [bool; 3],
}

impl Streams {
    /// Uses the streams of this process.
    pub fn inherit() -> Self {
        use io::IsTerminal;
        let (input, output, error) = (io::stdin(), io::stdout(), io::stderr());
        let terminals = [input.is_terminal(), output.is_terminal(), error.is_terminal()];
        Self { input: Box::new(input), output: Box::new(output), error: Box::new(error), terminals }
    }

    /// Uses empty input, and discards output.
    pub fn none() -> Self {
        Self {
            input: Box::new(io::empty()),
            output: Box::new(io::sink()),
            error: Box::new(io::sink()),
            terminals: [false; 3],
        }
    }
}

impl std::fmt::Debug for Streams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Streams").field("terminals", &self.terminals).finish_non_exhaustive()
    }
}

/// Target of a descriptor.
#[derive(Clone, Debug)]
pub enum Open {
    /// Standard input (0), output (1) or error (2), whatever its current number.
    Stream(u8),
    /// File of the host. Duplicate descriptors share it and its position.
    File(Arc<File>),
    Folder(OpenFolder),
    /// A device that Linux provides.
    Device(Device),
    Pipe {
        number: usize,
        /// Set for the end that is written to.
        writes: bool,
    },
}

/// Devices that Linux provides, with their minor numbers. The major number is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// `/dev/null`.
    Null = 3,
    /// `/dev/zero`.
    Zero = 5,
    /// `/dev/random` and `/dev/urandom`.
    Random = 9,
}

#[derive(Clone, Debug)]
pub struct OpenFolder {
    pub folder: Folder,
    /// Names, numbers and kinds of its entries, filled on first use.
    pub entries: Option<Arc<[Entry]>>,
    /// Number of entries already returned.
    pub told: usize,
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub name: Vec<u8>,
    pub inode: u64,
    /// Value of `d_type`.
    pub kind: u8,
}

#[derive(Clone, Debug)]
pub struct Descriptor {
    pub open: Open,
    /// Path on the host when it was opened, if any.
    pub host: Option<PathBuf>,
    /// Set if the program may change the permissions and times of the file through the descriptor.
    pub writable: bool,
    /// O_RDONLY and so on, O_APPEND.
    pub flags: u64,
    /// Stored only, since exec is not supported.
    pub close_on_exec: bool,
}

/// All descriptors of a program.
#[derive(Debug)]
pub struct Descriptors {
    table: BTreeMap<i32, Descriptor>,
    pipes: Vec<VecDeque<u8>>,
    pub streams: Streams,
}

impl Descriptors {
    /// Creates the three streams.
    pub fn new(streams: Streams) -> Self {
        let stream = |number: u8| Descriptor {
            open: Open::Stream(number),
            host: None,
            writable: true,
            flags: if number == 0 { 0 } else { 1 },
            close_on_exec: false,
        };
        let table = (0..3).map(|number| (i32::from(number), stream(number))).collect();
        Self { table, pipes: Vec::new(), streams }
    }

    pub fn get(&mut self, fd: i32) -> Result<&mut Descriptor, Errno> {
        self.table.get_mut(&fd).ok_or(Errno::EBADF)
    }

    /// Returns the path of a descriptor's file on the host.
    pub fn path(&mut self, fd: i32) -> Result<PathBuf, Errno> {
        self.get(fd)?.host.clone().ok_or(Errno::EBADF)
    }

    /// Returns the numbers in use.
    pub fn numbers(&self) -> Vec<i32> {
        self.table.keys().copied().collect()
    }

    /// Adds a descriptor with the lowest free number from `from` on.
    pub fn add(&mut self, descriptor: Descriptor, from: i32) -> Result<u64, Errno> {
        let number =
            (from.max(0)..MOST).find(|number| !self.table.contains_key(number)).ok_or(Errno::EMFILE)?;
        self.table.insert(number, descriptor);
        Ok(number as u64)
    }

    pub fn close(&mut self, fd: i32) -> Result<(), Errno> {
        self.table.remove(&fd).map(drop).ok_or(Errno::EBADF)
    }

    /// Duplicates a descriptor with the lowest free number from `from` on.
    pub fn duplicate(&mut self, fd: i32, from: i32, close_on_exec: bool) -> Result<u64, Errno> {
        let copy = self.copy(fd, close_on_exec)?;
        self.add(copy, from)
    }

    /// Makes `to` refer to what `fd` refers to.
    pub fn replace(&mut self, fd: i32, to: i32, close_on_exec: bool) -> Result<u64, Errno> {
        let copy = self.copy(fd, close_on_exec)?;
        Errno::EBADF.when(!(0..MOST).contains(&to))?;
        self.table.insert(to, copy);
        Ok(to as u64)
    }

    fn copy(&mut self, fd: i32, close_on_exec: bool) -> Result<Descriptor, Errno> {
        Ok(Descriptor { close_on_exec, ..self.get(fd)?.clone() })
    }

    #[cfg(test)]
    pub fn pipes(&self) -> usize {
        self.pipes.len()
    }

    /// Creates a pipe and returns its number.
    pub fn pipe(&mut self) -> usize {
        // Reuse a pipe that has no descriptors any more, if there is one.
        let unused =
            (0..self.pipes.len()).find(|&pipe| !self.is_open(pipe, true) && !self.is_open(pipe, false));
        match unused {
            Some(pipe) => {
                self.pipes[pipe].clear();
                pipe
            }
            None => {
                self.pipes.push(VecDeque::new());
                self.pipes.len() - 1
            }
        }
    }

    /// Reads at the descriptor's position.
    pub fn read(&mut self, fd: i32, to: &mut [u8], random: &mut Random) -> Result<usize, Errno> {
        let descriptor = self.table.get_mut(&fd).ok_or(Errno::EBADF)?;
        Errno::EBADF.when(descriptor.flags & 3 == 1)?;
        let number = match &mut descriptor.open {
            Open::File(file) => return Ok(retry(|| file.read(to))?),
            Open::Stream(_) => return Ok(retry(|| self.streams.input.read(to))?),
            Open::Folder(_) => return Err(Errno::EISDIR),
            Open::Device(Device::Null) => return Ok(0),
            Open::Device(Device::Zero) => {
                to.fill(0);
                return Ok(to.len());
            }
            Open::Device(Device::Random) => {
                random.fill(to);
                return Ok(to.len());
            }
            Open::Pipe { number, .. } => *number,
        };
        if self.pipes[number].is_empty() && self.is_open(number, true) {
            // The only possible writer is the one that waits.
            return Err(Errno::EAGAIN);
        }
        Ok(self.pipes[number].read(to)?)
    }

    /// Writes at the descriptor's position.
    pub fn write(&mut self, fd: i32, bytes: &[u8]) -> Result<usize, Errno> {
        let descriptor = self.table.get_mut(&fd).ok_or(Errno::EBADF)?;
        Errno::EBADF.when(descriptor.flags & 3 == 0)?;
        match &mut descriptor.open {
            Open::File(file) => Ok(retry(|| file.write(bytes))?),
            Open::Stream(number) => {
                let stream = if *number == 2 { &mut self.streams.error } else { &mut self.streams.output };
                stream.write_all(bytes)?;
                stream.flush()?;
                Ok(bytes.len())
            }
            Open::Folder(_) => Err(Errno::EBADF),
            Open::Device(_) => Ok(bytes.len()),
            &mut Open::Pipe { number, .. } => {
                /// Capacity of a pipe in Linux.
                const ROOM: usize = 1 << 16;
                Errno::EPIPE.when(!self.is_open(number, false))?;
                let count = bytes.len().min(ROOM.saturating_sub(self.pipes[number].len()));
                Errno::EAGAIN.when(count == 0 && !bytes.is_empty())?;
                self.pipes[number].extend(&bytes[..count]);
                Ok(count)
            }
        }
    }

    fn is_open(&self, pipe: usize, end: bool) -> bool {
        let is =
            |open: &Open| matches!(open, Open::Pipe { number, writes } if *number == pipe && *writes == end);
        self.table.values().any(|descriptor| is(&descriptor.open))
    }
}

/// Repeats a call of the host that a signal interrupted: the host's signals are not the program's.
fn retry<T>(mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match work() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
