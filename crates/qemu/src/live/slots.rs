use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{Broken, MOST_SLOTS};
use crate::format::{CHUNK_HEADER, ChunkHeader, HEADER_SIZE, Header};

/// File that a plugin writes its log to, slot by slot.
///
/// It is read, not mapped: Linux keeps files and their mappings coherent, a copy is cheap compared with decoding, and a
/// truncated file gives an error instead of a signal.
#[derive(Debug)]
pub(super) struct Slots {
    file: File,
    /// Header of the log.
    pub header: Header,
    /// Number of slots.
    pub count: u32,
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

    /// Reads the header again, which shows how far a killed program came.
    pub fn read_header(&mut self) -> Result<(), Broken> {
        let header = read_header(&self.file)?;
        // Everything else stays: changed sizes would be nonsense.
        self.header.checkpoints = header.checkpoints;
        Ok(())
    }

    /// Updates the number of slots, since a plugin whose threads have all of them open adds some.
    pub fn grow(&mut self) -> io::Result<()> {
        let len = self.file.metadata()?.len().saturating_sub(HEADER_SIZE as u64);
        let count = len / u64::from(self.header.chunk_size);
        self.count = self.count.max(count.min(MOST_SLOTS.into()) as u32);
        Ok(())
    }

    /// Returns the size of a slot without the chunk header.
    pub fn room(&self) -> usize {
        self.zeros.len() - CHUNK_HEADER
    }

    /// Returns the file offset of byte `at` after the header of a slot's chunk.
    pub fn offset(&self, slot: u32, at: usize) -> u64 {
        self.start(slot) + (CHUNK_HEADER + at) as u64
    }

    fn start(&self, slot: u32) -> u64 {
        HEADER_SIZE as u64 + u64::from(slot) * u64::from(self.header.chunk_size)
    }

    /// Returns the header of the chunk in a slot, if one was begun. Its state was read before the rest.
    pub fn head(&self, slot: u32) -> io::Result<Option<ChunkHeader>> {
        let mut bytes = [0; CHUNK_HEADER];
        self.file.read_exact_at(&mut bytes, self.start(slot))?;
        let Some(first) = ChunkHeader::parse(&bytes) else { return Ok(None) };
        // The state is written last, but bytes of one read may be of different times.
        self.file.read_exact_at(&mut bytes, self.start(slot))?;
        Ok(ChunkHeader::parse(&bytes).map(|head| ChunkHeader { state: first.state, ..head }))
    }

    /// Reads the contents of a slot's chunk, from byte `at` after its header.
    pub fn read(&self, slot: u32, at: usize, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, self.offset(slot, at))
    }

    /// Zeroes a slot, so that it can be used again.
    pub fn free(&self, slot: u32) -> io::Result<()> {
        self.file.write_all_at(&self.zeros, self.start(slot))
    }
}

fn read_header(file: &File) -> Result<Header, Broken> {
    let mut bytes = [0; HEADER_SIZE];
    file.read_exact_at(&mut bytes, 0)?;
    Header::parse(&bytes).map_err(Broken::Log)
}
