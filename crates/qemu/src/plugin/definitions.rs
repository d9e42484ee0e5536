use std::collections::HashMap;

use super::output::{Chunk, Output};
use crate::format::{
    CHUNK_HEADER, CHUNK_SIZE, ChunkKind, Counted, MOST_TRANSLATIONS, Record, TranslationRecord,
};

/// Writes definitions, each translation once.
#[derive(Debug, Default)]
pub struct Definitions {
    chunk: Option<Chunk>,
    sequence: u32,
    /// Numbers by start and hash of the code.
    numbers: HashMap<(u64, u64), u32>,
    translations: Vec<Translation>,
    /// Indices of instructions that may access memory, of all translations.
    accesses: Vec<u16>,
    /// All records, for the log of a forked process.
    all: Vec<u8>,
    keeps_all: bool,
    record: Vec<u8>,
}

/// Properties of a translation that a thread needs to record it.
#[derive(Clone, Copy, Debug)]
pub struct Translation {
    /// Address of the first instruction.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
    /// Number of instructions.
    pub count: u32,
    /// Number of instructions, except the last, that may access memory. A checkpoint follows each.
    pub checkpoints: u32,
    /// Index in `accesses` of the first of these.
    accesses_at: u32,
    /// Set if the last instruction may access memory.
    pub last_accesses: bool,
}

impl Definitions {
    /// Creates an empty list. `keeps_all` keeps the records for forked processes.
    pub fn new(keeps_all: bool) -> Self {
        Self { keeps_all, ..Self::default() }
    }

    /// Returns the number of a translation, in which these instructions may access memory. Returns `None` if there are too many.
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

    /// Returns the translations from number `from` on.
    pub fn translations(&self, from: u32) -> &[Translation] {
        self.translations.get(from as usize..).unwrap_or_default()
    }

    /// Iterates over the indices of a translation's instructions that may access memory.
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

    /// Drops the chunk, which belongs to the parent after a fork.
    pub fn abandon(&mut self) {
        self.chunk = None;
    }

    /// Writes everything again, to another log.
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

    /// Finishes the last chunk.
    pub fn finish(&mut self, output: &Output) {
        if let Some(chunk) = self.chunk.take() {
            output.done(chunk);
        }
    }
}

/// Hashes the code. Different code at the same address has another hash, except with a probability of 2^-64.
fn hash(found: &TranslationRecord<'_>) -> u64 {
    crate::format::checksum(found.code) ^ (found.isa as u64) << 56
}
