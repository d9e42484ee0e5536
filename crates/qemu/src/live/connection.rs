use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use super::Broken;
use super::slots::Slots;
use crate::format::{ChunkHeader, ChunkKind, ChunkState, Header, checksum};

/// Connection to one recorded process.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    pid: u32,
    slots: Slots,
    definitions: Definitions,
    /// Number of the next chunk of each thread.
    threads: HashMap<u32, u32>,
    /// Bytes of a word that is not complete yet.
    word: Vec<u8>,
    buffer: Vec<u8>,
}

/// Position in the definitions.
#[derive(Debug, Default)]
struct Definitions {
    /// Number of the current chunk.
    sequence: u32,
    /// Slot of the chunk, if it was found.
    slot: Option<u32>,
    /// Number of bytes after its header that were read.
    at: usize,
}

/// A part of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Complete records of a chunk of definitions. They continue where the previous ones ended.
    Definitions {
        /// Chunk header. If it is done, this is the last piece of the chunk.
        head: ChunkHeader,
        /// Offset of the records after the header.
        at: usize,
        /// Records; empty if the chunk is done and all were already returned.
        bytes: &'a [u8],
    },
    /// Chunk of a thread. All definitions that it needs came before.
    Words {
        /// Thread.
        thread: u32,
        /// Chunk header. If it is open, nothing more will come from this thread.
        head: ChunkHeader,
        /// Valid bytes; if the chunk is open, all up to its end.
        bytes: &'a [u8],
    },
}

/// Result of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A piece was passed on.
    Read,
    /// Nothing came for a while.
    Quiet,
    /// The plugin has gone, and everything it left was passed on.
    Ended,
}

enum Message {
    Slot(u32),
    Nothing,
    End,
}

impl Connection {
    pub(super) fn new(stream: UnixStream, pid: u32, slots: Slots) -> Self {
        let buffer = vec![0; slots.room()];
        Self {
            stream,
            pid,
            slots,
            definitions: Definitions::default(),
            threads: HashMap::new(),
            word: Vec::new(),
            buffer,
        }
    }

    /// Returns the header of the log. After [`finish`](Self::finish) or [`Step::Ended`] it shows how far a killed program came.
    pub fn header(&self) -> &Header {
        &self.slots.header
    }

    /// Returns the process ID.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for a chunk and passes it to `take`. Its slot is freed before that.
    ///
    /// # Errors
    /// Returns an error if the plugin breaks the protocol. [`finish`](Self::finish) still returns what it left.
    pub fn step(&mut self, mut take: impl FnMut(Piece<'_>)) -> Result<Step, Broken> {
        match self.message()? {
            Message::Nothing => Ok(Step::Quiet),
            Message::End => self.finish(take).map(|()| Step::Ended),
            Message::Slot(slot) => self.chunk(slot, &mut take).map(|()| Step::Read),
        }
    }

    /// Passes everything in the slots to `take`, announced or not. Nothing comes after it.
    ///
    /// # Errors
    /// Returns an error if the contents are inconsistent. Everything before that was passed on.
    pub fn finish(&mut self, mut take: impl FnMut(Piece<'_>)) -> Result<(), Broken> {
        self.slots.grow()?;
        self.slots.read_header()?;
        self.define(&mut take)?;
        let mut left = Vec::new();
        for slot in 0..self.slots.count {
            if let Some(head @ ChunkHeader { kind: ChunkKind::Thread(thread), .. }) = self.slots.head(slot)? {
                left.push((thread, head.sequence, slot, head));
            }
        }
        left.sort_unstable_by_key(|&(thread, sequence, ..)| (thread, sequence));
        let mut broken = Ok(());
        for (thread, _, slot, head) in left {
            let handed = self.words(thread, slot, head, &mut take);
            broken = broken.and(handed);
        }
        broken
    }

    /// Reads the next message of the plugin.
    fn message(&mut self) -> Result<Message, Broken> {
        loop {
            let mut bytes = [0; 4];
            let missing = 4 - self.word.len();
            match self.stream.read(&mut bytes[..missing]) {
                Ok(0) => return Ok(Message::End),
                Ok(count) => self.word.extend(&bytes[..count]),
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => return Ok(Message::Nothing),
                    io::ErrorKind::ConnectionReset => return Ok(Message::End),
                    _ => return Err(error.into()),
                },
            }
            if let Some(&word) = self.word.first_chunk() {
                self.word.clear();
                return Ok(Message::Slot(u32::from_le_bytes(word)));
            }
        }
    }

    /// Handles a finished chunk.
    fn chunk(&mut self, slot: u32, take: &mut impl FnMut(Piece<'_>)) -> Result<(), Broken> {
        if slot >= self.slots.count {
            self.slots.grow()?;
        }
        let head = if slot < self.slots.count { self.slots.head(slot)? } else { None };
        let Some(head) = head.filter(|head| head.state == ChunkState::Done) else {
            return Err(Broken::Slot(slot));
        };
        self.define(take)?;
        match head.kind {
            ChunkKind::Thread(thread) => self.words(thread, slot, head, take),
            ChunkKind::Definitions if head.sequence < self.definitions.sequence => self.free(slot),
            ChunkKind::Definitions => {
                let (expected, found) = (self.definitions.sequence, head.sequence);
                Err(Broken::Definitions { expected, found })
            }
        }
    }

    /// Passes on a thread's chunk.
    fn words(
        &mut self,
        thread: u32,
        slot: u32,
        head: ChunkHeader,
        take: &mut impl FnMut(Piece<'_>),
    ) -> Result<(), Broken> {
        let next = self.threads.entry(thread).or_default();
        if *next != head.sequence {
            return Err(Broken::Order { thread, expected: *next, found: head.sequence });
        }
        *next = next.wrapping_add(1);
        let room = self.slots.room();
        let is_done = head.state == ChunkState::Done;
        let len = if is_done { head.len as usize } else { room };
        let bytes = self.buffer.get_mut(..len).ok_or(Broken::Slot(slot))?;
        self.slots.read(slot, 0, bytes)?;
        if is_done && checksum(bytes) != head.checksum {
            return Err(Broken::Checksum(self.slots.offset(slot, 0)));
        }
        if is_done {
            self.free(slot)?;
        }
        take(Piece::Words { thread, head, bytes: &self.buffer[..len] });
        Ok(())
    }

    /// Returns a slot to the plugin.
    fn free(&mut self, slot: u32) -> Result<(), Broken> {
        self.slots.free(slot)?;
        // A plugin that has gone needs none.
        let _ = self.stream.write_all(&slot.to_le_bytes());
        Ok(())
    }

    /// Passes on all definitions written so far.
    fn define(&mut self, take: &mut impl FnMut(Piece<'_>)) -> Result<(), Broken> {
        while let Some((slot, head)) = self.find_definitions()? {
            let at = self.definitions.at;
            let is_done = head.state == ChunkState::Done;
            let end = if is_done { head.len as usize } else { self.slots.room() };
            let len = end.checked_sub(at).ok_or(Broken::Slot(slot))?;
            let bytes = self.buffer.get_mut(..len).ok_or(Broken::Slot(slot))?;
            self.slots.read(slot, at, bytes)?;
            let len = records(bytes).map_err(|found| Broken::Record(self.slots.offset(slot, at + found)))?;
            if !is_done {
                // A record is complete when its first word is there, but bytes of one read may be of different times.
                self.slots.read(slot, at, &mut bytes[..len])?;
            }
            if len > 0 || is_done {
                take(Piece::Definitions { head, at, bytes: &self.buffer[..len] });
            }
            if !is_done {
                self.definitions.at += len;
                return Ok(());
            }
            let sequence = self.definitions.sequence.wrapping_add(1);
            self.definitions = Definitions { sequence, slot: None, at: 0 };
        }
        Ok(())
    }

    /// Finds the next chunk of definitions.
    fn find_definitions(&mut self) -> Result<Option<(u32, ChunkHeader)>, Broken> {
        let sequence = self.definitions.sequence;
        let is_it = |head: &ChunkHeader| head.kind == ChunkKind::Definitions && head.sequence == sequence;
        let slots = match self.definitions.slot {
            Some(slot) => slot..slot + 1,
            None => {
                self.slots.grow()?;
                0..self.slots.count
            }
        };
        for slot in slots {
            if let Some(head) = self.slots.head(slot)?.filter(is_it) {
                self.definitions.slot = Some(slot);
                return Ok(Some((slot, head)));
            }
        }
        Ok(None)
    }
}

/// Returns the length of the records that were begun, or the offset of bytes that are none.
fn records(bytes: &[u8]) -> Result<usize, usize> {
    let mut at = 0;
    while let Some(&head) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let head = u32::from_le_bytes(head);
        if head == 0 {
            break;
        }
        let len = 4 * (head & 0xff_ffff) as usize;
        if len == 0 || len > bytes.len() - at {
            return Err(at);
        }
        at += len;
    }
    Ok(at)
}
