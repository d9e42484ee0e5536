use std::collections::HashMap;

use super::output::{Chunk, Output};
use crate::format::{
    CHUNK_HEADER, CHUNK_SIZE, ChunkKind, Counted, MOST_TRANSLATIONS, Record, TranslationRecord,
};

/// Writes definitions: each translation once.
#[derive(Debug, Default)]
pub struct Definitions {
    chunk: Option<Chunk>,
    sequence: u32,
    /// By start and hash of the code.
    numbers: HashMap<(u64, u64), u32>,
    translations: Vec<Translation>,
    /// Indices of instructions that may access memory, of all translations.
    accesses: Vec<u16>,
    /// All records, for the log of a forked process.
    all: Vec<u8>,
    keeps_all: bool,
    record: Vec<u8>,
}

/// What a thread must know of a translation to record it.
#[derive(Clone, Copy, Debug)]
pub struct Translation {
    /// Address of the first instruction.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
    /// Instructions.
    pub count: u32,
    /// How many of them, the last left out, may access memory: after each is a checkpoint.
    pub checkpoints: u32,
    /// Where their indices begin among those of all translations.
    accesses_at: u32,
    /// The last instruction may access memory.
    pub last_accesses: bool,
}

impl Definitions {
    /// `keeps_all`: a forked process will want them again.
    pub fn new(keeps_all: bool) -> Self {
        Self { keeps_all, ..Self::default() }
    }

    /// The number of a translation, of which these instructions may access memory. `None` when there are too many.
    pub fn number(
        &mut self,
        output: &Output,
        found: &TranslationRecord<'_>,
        accesses: &[u16],
    ) -> Option<u32> {
        let key = (found.start, hash(found));
        if let Some(&number) = self.numbers.get(&key) {
            return Some(number);
        }
        let number = self.translations.len() as u32;
        if number == MOST_TRANSLATIONS {
            return None;
        }
        self.write(output, &Record::Translation(*found));
        let last_accesses = accesses.last().is_some_and(|&index| u32::from(index) + 1 == found.count);
        self.translations.push(Translation {
            start: found.start,
            end: found.start.wrapping_add(found.code.len() as u64),
            count: found.count,
            checkpoints: (accesses.len() - usize::from(last_accesses)) as u32,
            accesses_at: self.accesses.len() as u32,
            last_accesses,
        });
        self.accesses.extend(accesses);
        self.numbers.insert(key, number);
        Some(number)
    }

    /// Those from number `from` on.
    pub fn translations(&self, from: u32) -> &[Translation] {
        self.translations.get(from as usize..).unwrap_or_default()
    }

    /// Indices of the instructions of a translation that may access memory.
    pub fn accesses(&self, translation: &Translation) -> impl Iterator<Item = u32> + use<'_> {
        let at = translation.accesses_at as usize;
        let len = translation.checkpoints as usize + usize::from(translation.last_accesses);
        self.accesses.get(at..at + len).unwrap_or_default().iter().map(|&index| index.into())
    }

    /// Writes a record.
    pub fn write(&mut self, output: &Output, record: &Record<'_>) {
        self.record.clear();
        record.write(&mut self.record);
        if self.record.len() > CHUNK_SIZE - CHUNK_HEADER {
            return;
        }
        if self.keeps_all {
            self.all.extend(&self.record);
        }
        let bytes = std::mem::take(&mut self.record);
        self.append(output, &bytes);
        self.record = bytes;
    }

    fn append(&mut self, output: &Output, record: &[u8]) {
        if self.chunk.as_ref().is_none_or(|chunk| !chunk.has_room(record.len() / 4)) {
            if let Some(chunk) = self.chunk.take() {
                output.done(chunk);
            }
            self.chunk = output.chunk(ChunkKind::Definitions, self.sequence, 0, Counted::Unknown);
            self.sequence += 1;
        }
        if let Some(chunk) = &mut self.chunk {
            chunk.append(record);
        }
    }

    /// The process was forked: the chunk is the parent's.
    pub fn abandon(&mut self) {
        if let Some(chunk) = self.chunk.take() {
            chunk.forget();
        }
    }

    /// Writes everything again, into another log.
    pub fn again(&mut self, output: &Output) {
        self.sequence = 0;
        let all = std::mem::take(&mut self.all);
        let mut rest = &all[..];
        while let Ok(Some((_, len))) = Record::read(rest) {
            self.append(output, &rest[..len]);
            rest = &rest[len..];
        }
        self.all = all;
    }

    /// Nothing more comes.
    pub fn finish(&mut self, output: &Output) {
        if let Some(chunk) = self.chunk.take() {
            output.done(chunk);
        }
    }
}

/// Code that is the same has the same hash; other code at the same address another one, but for one chance in 2^64.
fn hash(found: &TranslationRecord<'_>) -> u64 {
    crate::format::checksum(found.code) ^ (found.isa as u64) << 56
}
