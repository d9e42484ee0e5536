//! Chunks: memory shared with the log's file, so that what was written survives, however QEMU ends.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_ulong};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use memmap2::{MmapOptions, MmapRaw};

use super::arguments::Arguments;
use super::count_page;
use crate::format::{
    BEGAN_AT, CHUNK_COUNT_AT, CHUNK_HEADER, CHUNK_SIZE, ChunkHeader, ChunkKind, Counted, HEADER_SIZE, Header,
};
use crate::live::{Hello, MOST_SLOTS};

/// A chunk that is being written.
#[derive(Debug)]
pub struct Chunk {
    memory: Arc<MmapRaw>,
    slot: u32,
    header: ChunkHeader,
    /// Number of bytes appended after the header.
    pub used: usize,
}

// SAFETY: the memory is only reached through one `Chunk`, which one thread has at a time.
unsafe impl Send for Chunk {}

impl Chunk {
    /// Returns the words after the header.
    pub fn words(&self) -> *mut u32 {
        // SAFETY: a chunk has a header, and lies within its memory.
        unsafe { self.memory.as_mut_ptr().add(CHUNK_HEADER).cast() }
    }

    /// Returns the addresses of the two counts in the header of an open chunk; see [`ChunkHeader::since_last`].
    pub fn counts(&self) -> (*mut u64, *mut u64) {
        // SAFETY: a chunk has a header, which is aligned.
        unsafe {
            let head = self.memory.as_mut_ptr();
            (head.add(BEGAN_AT).cast(), head.add(CHUNK_COUNT_AT).cast())
        }
    }

    /// Marks the chunk as the place where checkpoints are counted.
    pub fn count_here(&mut self) {
        self.header.counted = Counted::Chunk;
        self.write_header();
    }

    /// Number of words.
    pub const WORDS: usize = (CHUNK_SIZE - CHUNK_HEADER) / 4;

    /// Returns whether `words` more words fit.
    pub fn has_room(&self, words: usize) -> bool {
        self.used / 4 + words <= Self::WORDS
    }

    /// Appends a record, its first word last.
    pub fn append(&mut self, record: &[u8]) {
        let to = self.words();
        let (words, _) = record.as_chunks::<4>();
        for (index, &word) in words.iter().enumerate().rev() {
            // SAFETY: the caller has checked `has_room`.
            let word_at = unsafe { AtomicU32::from_ptr(to.add(self.used / 4 + index)) };
            word_at.store(u32::from_ne_bytes(word), Ordering::Release);
        }
        self.used += record.len();
    }

    fn write_header(&self) {
        let bytes = self.header.to_bytes();
        let (words, _) = bytes.as_chunks::<4>();
        // The first word and the state (word 3) make it a chunk, and come last.
        for index in (0..words.len()).rev() {
            // SAFETY: a chunk has a header.
            unsafe {
                let to = self.memory.as_mut_ptr().cast::<u32>().add(index);
                AtomicU32::from_ptr(to).store(u32::from_ne_bytes(words[index]), Ordering::Release);
            }
        }
    }
}

/// Source and destination of chunks.
#[derive(Debug)]
pub struct Output {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    began: Instant,
    to: To,
}

#[derive(Debug)]
enum To {
    /// One chunk after another in a file.
    File { file: File, path: PathBuf, end: u64 },
    /// To a recorder; slots are reused.
    Live(Live),
    /// Nothing more is written.
    Nowhere,
}

impl Output {
    /// Creates the log. Fails if the file cannot be written, or no recorder listens.
    pub fn new(arguments: &Arguments, header: &Header, path: &Path) -> io::Result<Self> {
        let on = |path: &Path, error: io::Error| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        };
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path);
        let file = file.map_err(|error| on(path, error))?;
        if !file.metadata()?.is_file() {
            let why = io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a regular file: the log is written as shared memory, so that a crash loses nothing \
                 (`tracewright record --qemu` reads it while it is written)",
            );
            return Err(on(path, why));
        }
        file.write_all_at(&header.to_bytes(), 0).map_err(|error| on(path, error))?;
        count_page::of_log(&file).map_err(|error| on(path, error))?;
        let end = HEADER_SIZE as u64;
        let to = match &arguments.socket {
            None => To::File { file, path: path.to_owned(), end },
            Some(socket) => {
                // Before connecting, which fails if the recorder has died by now. A forked process has another parent,
                // which it may outlive.
                if header.forked_from == 0 {
                    die_with_recorder();
                }
                let mut live = Live {
                    stream: UnixStream::connect(socket).map_err(|error| on(socket, error))?,
                    file,
                    slots: Vec::new(),
                    free: Vec::new(),
                    announced: 0,
                };
                for _ in 0..arguments.slots {
                    live.grow().map_err(|error| on(path, error))?;
                }
                let hello = Hello { pid: header.pid, slots: arguments.slots, path: path.to_owned() };
                live.stream.write_all(&hello.to_bytes())?;
                To::Live(live)
            }
        };
        Ok(Self { inner: Mutex::new(Inner { began: Instant::now(), to }) })
    }

    /// Begins a chunk. Returns `None` if the log cannot be written.
    pub fn chunk(
        &self,
        kind: ChunkKind,
        sequence: u32,
        instructions: u64,
        counted: Counted,
    ) -> Option<Chunk> {
        let mut inner = self.lock();
        let begun = inner.began.elapsed().as_nanos() as u64;
        match inner.to.place() {
            Ok(Some((memory, slot))) => {
                let header =
                    ChunkHeader { counted, instructions, begun, ..ChunkHeader::open(kind, sequence) };
                let chunk = Chunk { memory, slot, header, used: 0 };
                chunk.write_header();
                Some(chunk)
            }
            Ok(None) => None,
            Err(error) => {
                super::state::complain(&format!("recording stops: {error}"));
                inner.to = To::Nowhere;
                None
            }
        }
    }

    /// Finishes a chunk that is full, or for which nothing more comes.
    pub fn done(&self, mut chunk: Chunk) {
        // SAFETY: this thread has written as many bytes.
        let bytes =
            unsafe { std::slice::from_raw_parts(chunk.words().cast::<u8>().cast_const(), chunk.used) };
        let finished = chunk.header.finished(bytes, 0);
        let mut inner = self.lock();
        chunk.header = ChunkHeader { done: inner.began.elapsed().as_nanos() as u64, ..finished };
        chunk.write_header();
        if let To::Live(live) = &mut inner.to
            && let Err(error) = live.announce(chunk.slot)
        {
            super::state::complain(&format!("recording stops: who reads the log is gone ({error})"));
            inner.to = To::Nowhere;
        }
    }

    /// Switches to another log.
    pub fn replace(&self, other: Self) {
        let other = other.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        *self.lock() = other;
    }

    /// Stops writing, and leaves everything as it is.
    pub fn close(&self) {
        self.lock().to = To::Nowhere;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl To {
    /// Returns zeroed memory for a chunk, and its slot.
    fn place(&mut self) -> io::Result<Option<(Arc<MmapRaw>, u32)>> {
        match self {
            Self::File { file, path, end } => {
                let on = |error: io::Error| {
                    io::Error::new(error.kind(), format!("{}: cannot write: {error}", path.display()))
                };
                // Zeros are written, since a store to a hole on a full disk would kill the program.
                file.write_all_at(&[0; CHUNK_SIZE], *end).map_err(on)?;
                let memory = MmapOptions::new().offset(*end).len(CHUNK_SIZE).map_raw(&*file).map_err(on)?;
                *end += CHUNK_SIZE as u64;
                Ok(Some((Arc::new(memory), 0)))
            }
            Self::Live(live) => live.slot().map(Some),
            Self::Nowhere => Ok(None),
        }
    }
}

/// Lets the system kill this process when the recorder, which started it, ends, since nothing else would stop it.
fn die_with_recorder() {
    unsafe extern "C" {
        fn prctl(option: c_int, ...) -> c_int;
    }
    const PR_SET_PDEATHSIG: c_int = 1;
    const SIGKILL: c_ulong = 9;
    // SAFETY: this option takes a number, and touches no memory. If it fails, the process only outlives a recorder that was killed.
    unsafe { prctl(PR_SET_PDEATHSIG, SIGKILL) };
}

/// Slots that are reused, and the connection to the recorder.
#[derive(Debug)]
struct Live {
    stream: UnixStream,
    file: File,
    slots: Vec<Arc<MmapRaw>>,
    free: Vec<u32>,
    /// Number of slots that the recorder has.
    announced: u32,
}

impl Live {
    /// Adds a slot.
    fn grow(&mut self) -> io::Result<()> {
        let number = self.slots.len() as u32;
        let at = HEADER_SIZE as u64 + u64::from(number) * CHUNK_SIZE as u64;
        // Zeros are written, as for a file.
        self.file.write_all_at(&[0; CHUNK_SIZE], at)?;
        let memory = MmapOptions::new().offset(at).len(CHUNK_SIZE).map_raw(&self.file)?;
        self.slots.push(Arc::new(memory));
        self.free.push(number);
        Ok(())
    }

    /// Returns a free slot, and waits for one if necessary.
    fn slot(&mut self) -> io::Result<(Arc<MmapRaw>, u32)> {
        // If threads have nearly all slots, waiting for the recorder would be long or endless.
        if self.free.is_empty()
            && self.announced < self.slots.len() as u32 / 4
            && self.slots.len() < MOST_SLOTS as usize
        {
            self.grow()?;
        }
        if self.free.is_empty() && self.announced == 0 {
            return Err(io::Error::other(format!("more than {MOST_SLOTS} threads at the same time")));
        }
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                let mut slot = [0; 4];
                self.stream.read_exact(&mut slot)?;
                self.announced -= 1;
                u32::from_le_bytes(slot)
            }
        };
        let memory = self.slots.get(slot as usize);
        let memory =
            memory.ok_or_else(|| io::Error::other("who reads the log freed a slot that there is not"))?;
        Ok((Arc::clone(memory), slot))
    }

    /// Announces a finished chunk.
    fn announce(&mut self, slot: u32) -> io::Result<()> {
        self.announced += 1;
        self.stream.write_all(&slot.to_le_bytes())
    }
}
