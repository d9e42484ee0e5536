use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{Broken, MOST_SLOTS};
use crate::format::{CHUNK_HEADER, ChunkHeader, HEADER_SIZE, Header};

/// The file that a plugin writes its log to, slot by slot.
///
/// It is read, not mapped: Linux keeps files and their mappings the same, a copy is quick beside what is done with it, and a file that somebody
/// cuts off gives an error, not a signal.
#[derive(Debug)]
pub(super) struct Slots {
    file: File,
    header: Header,
    count: u32,
    zeros: Vec<u8>,
}

impl Slots {
    /// Opens the log.
    pub fn open(path: &Path, count: u32) -> Result<Self, Broken> {
        let file = File::options().read(true).write(true).open(path)?;
        let header = read_header(&file)?;
        let zeros = vec![0; header.chunk_size as usize];
        let mut slots = Self { file, header, count: 0, zeros };
        slots.grow()?;
        if count > slots.count {
            return Err(Broken::Slot(count - 1));
        }
        Ok(slots)
    }

    /// What the log is of.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Reads it again: it says how far a program came that was killed.
    pub fn read_header(&mut self) -> Result<(), Broken> {
        let header = read_header(&self.file)?;
        // All else is as it was: sizes that change would be nonsense.
        self.header.checkpoints = header.checkpoints;
        Ok(())
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Looks how many there are by now: a plugin whose threads have all of them open adds some.
    pub fn grow(&mut self) -> io::Result<()> {
        let len = self.file.metadata()?.len().saturating_sub(HEADER_SIZE as u64);
        let count = len / u64::from(self.header.chunk_size);
        self.count = self.count.max(count.min(MOST_SLOTS.into()) as u32);
        Ok(())
    }

    /// Bytes of a slot behind the head of its chunk.
    pub fn room(&self) -> usize {
        self.zeros.len() - CHUNK_HEADER
    }

    /// Where in the file what is `at` bytes behind the head of a slot's chunk is.
    pub fn offset(&self, slot: u32, at: usize) -> u64 {
        self.start(slot) + (CHUNK_HEADER + at) as u64
    }

    fn start(&self, slot: u32) -> u64 {
        HEADER_SIZE as u64 + u64::from(slot) * u64::from(self.header.chunk_size)
    }

    /// The head of the chunk in a slot, if one was begun. What it says of state was so before the rest was read.
    pub fn head(&self, slot: u32) -> io::Result<Option<ChunkHeader>> {
        let mut bytes = [0; CHUNK_HEADER];
        self.file.read_exact_at(&mut bytes, self.start(slot))?;
        let Some(first) = ChunkHeader::parse(&bytes) else { return Ok(None) };
        // Whether it is done is written last, but bytes of one read may be of different times.
        self.file.read_exact_at(&mut bytes, self.start(slot))?;
        Ok(ChunkHeader::parse(&bytes).map(|head| ChunkHeader { state: first.state, ..head }))
    }

    /// Reads what is behind the head of a slot's chunk, from `at` bytes on.
    pub fn read(&self, slot: u32, at: usize, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, self.offset(slot, at))
    }

    /// Makes a slot zero, so that it can be used again.
    pub fn free(&self, slot: u32) -> io::Result<()> {
        self.file.write_all_at(&self.zeros, self.start(slot))
    }
}

fn read_header(file: &File) -> Result<Header, Broken> {
    let mut bytes = [0; HEADER_SIZE];
    file.read_exact_at(&mut bytes, 0)?;
    Header::parse(&bytes).map_err(Broken::Log)
}
