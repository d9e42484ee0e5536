use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use tracewright_hart::HartSink;

use super::damage::{Damage, DamageKind, Error};
use super::definitions::Definitions;
use super::thread::Thread;
use crate::format::{CHUNK_HEADER, ChunkHeader, ChunkKind, ChunkState, HEADER_SIZE, Header, Off, checksum};

/// A log in a file or another seekable source.
///
/// Memory is that of [`Definitions`] and of a [`Thread`], a chunk, and a few bytes for each chunk.
#[derive(Debug)]
pub struct Log<R = File> {
    file: R,
    header: Header,
    definitions: Definitions,
    /// Chunks of each thread.
    threads: BTreeMap<u32, Vec<Chunk>>,
    /// Damage of the definitions, or a file that was cut short.
    damage: Option<Error>,
    buffer: Vec<u8>,
    totals: Totals,
}

/// Totals of a thread, as far as it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Instructions reported.
    pub instructions: u64,
    /// Number of different translations that ran.
    pub translations: u64,
    /// Bytes of its words.
    pub bytes: u64,
}

/// A chunk of words in the file.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    /// Offset of its head.
    head_at: u64,
    /// Number of its bytes in the file, head included.
    len: u64,
    head: ChunkHeader,
}

impl Chunk {
    /// Returns the offset of the bytes after the head.
    pub fn offset(&self) -> u64 {
        self.head_at + CHUNK_HEADER as u64
    }

    /// Returns the number of bytes after the head that count. Those of an open chunk end with a zero word.
    pub fn bytes(&self) -> u64 {
        let there = self.len.saturating_sub(CHUNK_HEADER as u64);
        match self.head.state {
            ChunkState::Open => there,
            ChunkState::Done => there.min(self.head.len.into()),
        }
    }

    /// Checks that the chunk, whose bytes that count are these, is the one with this number, and sound.
    ///
    /// # Errors
    /// Returns an error if a chunk is missing before it, or if its checksum is wrong.
    pub fn check(&self, number: u32, bytes: &[u8]) -> Result<(), Error> {
        let kind = if self.head.sequence != number {
            DamageKind::Chunk(number)
        // Of a truncated file, the rest is read.
        } else if self.head.state == ChunkState::Done
            && bytes.len() as u64 == u64::from(self.head.len)
            && checksum(bytes) != self.head.checksum
        {
            DamageKind::Checksum
        } else {
            return Ok(());
        };
        Err(Error::Damage { offset: self.head_at, kind })
    }

    /// Returns what [`Thread::broken_off`] needs to know if this is the last chunk of a thread whose log was cut off.
    pub fn since_last(&self, header: &Header) -> Option<u64> {
        // In a truncated file, the last translation is not the last that ran.
        let is_whole = self.len == u64::from(header.chunk_size);
        self.head.since_last(header.checkpoints).filter(|_| is_whole)
    }

    fn damage(&self, damage: Damage) -> Error {
        Error::Damage { offset: self.offset() + damage.offset as u64, kind: damage.kind }
    }
}

impl Log {
    /// Opens a log file; see [`new`](Self::new).
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is no log.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::new(File::open(path)?)
    }
}

impl<R: Read + Seek> Log<R> {
    /// Reads the definitions of a log. If they are damaged, those before the damage are used, and of a file that was cut
    /// short, what there is; see [`damage`](Self::damage).
    ///
    /// # Errors
    /// Returns an error if the log cannot be read or is none.
    pub fn new(mut file: R) -> Result<Self, Error> {
        let mut head = Vec::with_capacity(HEADER_SIZE);
        file.by_ref().take(HEADER_SIZE as u64).read_to_end(&mut head)?;
        let header = Header::parse(&head)?;
        let mut log = Self {
            file,
            header,
            definitions: Definitions::default(),
            threads: BTreeMap::new(),
            damage: None,
            buffer: Vec::new(),
            totals: Totals::default(),
        };
        let definitions = log.chunks()?;
        log.damage = log.define(&definitions).err();
        match log.damage {
            Some(Error::Io(error)) => Err(error.into()),
            None => {
                log.damage = log.cut_short()?;
                Ok(log)
            }
            _ => Ok(log),
        }
    }

    /// Returns an error if the file ends inside a chunk. Whoever writes a log writes whole chunks; killed meanwhile, it leaves the zeros
    /// of a chunk that was not begun.
    fn cut_short(&mut self) -> Result<Option<Error>, Error> {
        let len = self.file.seek(SeekFrom::End(0))?;
        let rest = len.saturating_sub(HEADER_SIZE as u64) % u64::from(self.header.chunk_size);
        self.file.seek(SeekFrom::Start(len - rest))?;
        let mut head = Vec::new();
        self.file.by_ref().take(rest.min(CHUNK_HEADER as u64)).read_to_end(&mut head)?;
        let is_begun = head.iter().any(|&byte| byte != 0);
        Ok(is_begun.then_some(Error::CutShort { len }))
    }

    /// Finds all chunks. Returns those of definitions.
    fn chunks(&mut self) -> Result<Vec<Chunk>, Error> {
        let size = u64::from(self.header.chunk_size);
        let end = self.file.seek(SeekFrom::End(0))?;
        let mut definitions = Vec::new();
        let mut offset = HEADER_SIZE as u64;
        while offset < end {
            let len = size.min(end - offset);
            let mut head = [0; CHUNK_HEADER];
            if len >= CHUNK_HEADER as u64 {
                self.file.seek(SeekFrom::Start(offset))?;
                self.file.read_exact(&mut head)?;
            }
            if let Some(head) = ChunkHeader::parse(&head) {
                let chunk = Chunk { head_at: offset, len, head };
                match head.kind {
                    ChunkKind::Definitions => definitions.push(chunk),
                    ChunkKind::Thread(index) => self.threads.entry(index).or_default().push(chunk),
                }
            }
            offset += size;
        }
        definitions.sort_by_key(|chunk| chunk.head.sequence);
        for chunks in self.threads.values_mut() {
            chunks.sort_by_key(|chunk| chunk.head.sequence);
        }
        Ok(definitions)
    }

    fn define(&mut self, chunks: &[Chunk]) -> Result<(), Error> {
        for (number, chunk) in (0..).zip(chunks) {
            self.load(number, chunk)?;
            let taken = self.definitions.take(&self.buffer);
            taken.map_err(|damage| chunk.damage(damage))?;
        }
        Ok(())
    }

    /// Reads the valid part of a chunk, which should have this number, into the buffer.
    fn load(&mut self, number: u32, chunk: &Chunk) -> Result<(), Error> {
        let counts = chunk.bytes();
        self.buffer.clear();
        self.file.seek(SeekFrom::Start(chunk.offset()))?;
        let got = self.file.by_ref().take(counts).read_to_end(&mut self.buffer)?;
        if got as u64 != counts {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        chunk.check(number, &self.buffer)
    }

    /// Returns the header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the definitions.
    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// Returns the damage of the definitions, if any, or that the file was cut short. Threads are read up to the first
    /// missing translation; threads whose chunks are missing are not there.
    pub fn damage(&self) -> Option<&Error> {
        self.damage.as_ref()
    }

    /// Iterates over the indices of the threads with words, in order.
    pub fn threads(&self) -> impl Iterator<Item = u32> {
        self.threads.keys().copied()
    }

    /// Returns the chunks of a thread, in order.
    pub fn chunks_of(&self, index: u32) -> &[Chunk] {
        self.threads.get(&index).map_or(&[], |chunks| chunks)
    }

    /// Returns the definitions, for a reader of chunks of its own.
    pub fn into_definitions(self) -> Definitions {
        self.definitions
    }

    /// Returns the totals of the thread that was read last.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Passes everything that a thread executed to `sink`. Returns why recording stopped, or `None` if the log ends before that.
    ///
    /// # Errors
    /// Returns an error if the log has no such thread, cannot be read, or is damaged. What came before the damage was
    /// reported, and then that the rest is [lost](HartSink::lost).
    pub fn read<S: HartSink>(&mut self, index: u32, sink: &mut S) -> Result<Option<Off>, Error> {
        let mut thread = Thread::new(index, &self.header);
        let mut bytes = 0;
        let result = self.read_into(index, &mut thread, &mut bytes, sink);
        let (instructions, translations) = (thread.instructions(), thread.translations());
        self.totals = Totals { instructions, translations, bytes };
        result.map(|()| thread.off())
    }

    fn read_into<S: HartSink>(
        &mut self,
        index: u32,
        thread: &mut Thread,
        bytes: &mut u64,
        sink: &mut S,
    ) -> Result<(), Error> {
        let chunks = self.threads.get(&index).ok_or(Error::NoThread(index))?.clone();
        for (number, chunk) in (0..).zip(&chunks) {
            if let Err(error) = self.load(number, chunk) {
                thread.lose(&self.definitions, sink);
                return Err(error);
            }
            *bytes += match chunk.head.state {
                ChunkState::Open => {
                    4 * self.buffer.chunks_exact(4).take_while(|word| **word != [0; 4]).count() as u64
                }
                ChunkState::Done => self.buffer.len() as u64,
            };
            thread.take(&self.buffer, &self.definitions, sink).map_err(|damage| chunk.damage(damage))?;
        }
        if let Some(since) = chunks.last().and_then(|chunk| chunk.since_last(&self.header)) {
            thread.broken_off(since, &self.definitions);
        }
        thread.finish(&self.definitions, sink);
        Ok(())
    }
}
