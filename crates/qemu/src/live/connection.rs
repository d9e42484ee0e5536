use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use super::Broken;
use super::slots::Slots;
use crate::format::{ChunkHeader, ChunkKind, ChunkState, Header, checksum};

/// One process that is recorded.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    pid: u32,
    slots: Slots,
    definitions: Definitions,
    /// The number of the next chunk of each thread.
    threads: HashMap<u32, u32>,
    /// A word that is not complete yet.
    word: Vec<u8>,
    buffer: Vec<u8>,
}

/// How far definitions were read.
#[derive(Debug, Default)]
struct Definitions {
    /// The number of the chunk that is read.
    sequence: u32,
    /// Where it is, if it was found.
    slot: Option<u32>,
    /// How many bytes behind its head were read.
    at: usize,
}

/// A part of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Records, all of them complete, of the chunk of definitions with this head. They go on where the ones before ended.
    Definitions {
        /// The head. If it is done, this is the last piece of it.
        head: ChunkHeader,
        /// How many bytes behind the head they begin.
        at: usize,
        /// The records; none, if the chunk is done and they were told before.
        bytes: &'a [u8],
    },
    /// A thread's chunk. All definitions that it needs came before.
    Words {
        /// The thread.
        thread: u32,
        /// The head. If it is open, nothing more will come of this thread.
        head: ChunkHeader,
        /// What counts; if it is open, all up to the end of the chunk.
        bytes: &'a [u8],
    },
}

/// What came of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Something was handed out.
    Read,
    /// Nothing came for a while.
    Quiet,
    /// The plugin has gone, and all that it left was handed out.
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

    /// The header of its log. After [`finish`](Self::finish), or [`Step::Ended`], it says how far a program came that was killed.
    pub fn header(&self) -> &Header {
        self.slots.header()
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for a chunk, and hands it out. Its slot is free before it is worked on.
    ///
    /// # Errors
    /// When the plugin breaks the protocol. What it left can still be had with [`finish`](Self::finish).
    pub fn step(&mut self, mut take: impl FnMut(Piece<'_>)) -> Result<Step, Broken> {
        match self.message()? {
            Message::Nothing => Ok(Step::Quiet),
            Message::End => self.finish(take).map(|()| Step::Ended),
            Message::Slot(slot) => self.chunk(slot, &mut take).map(|()| Step::Read),
        }
    }

    /// Hands out all that is in the slots, announced or not. Nothing comes after it.
    ///
    /// # Errors
    /// When what is there cannot be what follows. All that comes before it was handed out.
    pub fn finish(&mut self, mut take: impl FnMut(Piece<'_>)) -> Result<(), Broken> {
        self.slots.grow()?;
        self.slots.read_header()?;
        self.define(&mut take)?;
        let mut left = Vec::new();
        for slot in 0..self.slots.count() {
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

    /// What the plugin says next.
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

    /// A chunk is done.
    fn chunk(&mut self, slot: u32, take: &mut impl FnMut(Piece<'_>)) -> Result<(), Broken> {
        if slot >= self.slots.count() {
            self.slots.grow()?;
        }
        let head = if slot < self.slots.count() { self.slots.head(slot)? } else { None };
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

    /// Hands out a thread's chunk.
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

    /// Gives a slot back.
    fn free(&mut self, slot: u32) -> Result<(), Broken> {
        self.slots.free(slot)?;
        // Whoever has gone needs none.
        let _ = self.stream.write_all(&slot.to_le_bytes());
        Ok(())
    }

    /// Hands out all definitions that there are by now.
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
                // A record is complete when its first word is there; but bytes of one read may be of different times.
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

    /// Where the definitions go on.
    fn find_definitions(&mut self) -> Result<Option<(u32, ChunkHeader)>, Broken> {
        let sequence = self.definitions.sequence;
        let is_it = |head: &ChunkHeader| head.kind == ChunkKind::Definitions && head.sequence == sequence;
        let slots = match self.definitions.slot {
            Some(slot) => slot..slot + 1,
            None => {
                self.slots.grow()?;
                0..self.slots.count()
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

/// How many bytes the records have that were begun; where something else is, if it is.
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
