use std::collections::HashSet;

use tracewright_core::Isa;
use tracewright_isa::ItState;

use super::code::{self, Run};
use super::damage::{Damage, DamageKind};
use super::trapping::Trapping;
use crate::format::{MapRecord, Record, TranslationRecord};

/// Contents of the chunks of definitions: code, mappings, threads.
///
/// Memory is proportional to the bytes taken.
#[derive(Debug, Default)]
pub struct Definitions {
    translations: Vec<Translation>,
    /// Bits of the instructions of all translations.
    bits: Vec<u32>,
    /// Runs of all translations.
    runs: Vec<Run>,
    maps: Vec<Map>,
    /// Index and Linux's ID of each thread.
    threads: Vec<(u32, u32)>,
    handlers: HashSet<u64>,
    notes: Vec<String>,
    command: Vec<String>,
}

/// Code as QEMU translated it.
#[derive(Clone, Copy, Debug)]
pub struct Translation {
    /// Address of the first instruction.
    pub start: u64,
    /// Address after the last known instruction.
    pub end: u64,
    /// Instruction set.
    pub isa: Isa,
    /// Number of known instructions. QEMU may have reported more without their code.
    pub count: u32,
    /// Set if all instructions are known.
    pub is_whole: bool,
    /// The last instruction, if it traps.
    pub(super) trapping: Option<Trapping>,
    /// Index of its first instruction in `bits`.
    pub(super) first_bits: usize,
    /// Index of its first run in `runs`. The number of runs follows.
    first_run: usize,
    run_count: u32,
}

/// An executable mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// First address.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
    /// Offset in the file of what is at `start`.
    pub offset: u64,
    /// Path of the file; empty for memory without one.
    pub path: String,
    /// The file's build ID, if it has one.
    pub build_id: Vec<u8>,
}

impl Definitions {
    /// Takes the complete records at the start of `bytes`, which are the contents of a chunk. Returns their length in
    /// bytes. If more is written later, call it again with what follows them.
    ///
    /// # Errors
    /// Returns an error for a malformed record. Those before it were taken; nothing after it can be.
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize, Damage> {
        let mut at = 0;
        while let Some((record, len)) =
            Record::read(&bytes[at..]).map_err(|_| Damage { offset: at, kind: DamageKind::Record })?
        {
            self.record(&record);
            at += len;
        }
        Ok(at)
    }

    fn record(&mut self, record: &Record<'_>) {
        match *record {
            Record::Translation(record) => self.translated(&record),
            Record::Map(MapRecord { start, end, offset, path, build_id }) => {
                self.maps.push(Map { start, end, offset, path: path.into(), build_id: build_id.into() });
            }
            Record::Thread { index, tid } => self.threads.push((index, tid)),
            Record::Handler { address, .. } => {
                // SIG_DFL and SIG_IGN are no handlers. Bit 0 marks T32 and is no part of the address.
                if address > 1 {
                    self.handlers.insert(address);
                    self.handlers.insert(address & !1);
                }
            }
            Record::Note(text) => self.notes.push(text.into()),
            Record::Command(bytes) => {
                let words = bytes.strip_suffix(b"\0").unwrap_or(bytes).split(|&byte| byte == 0);
                self.command = words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
            }
        }
    }

    fn translated(&mut self, record: &TranslationRecord<'_>) {
        let &TranslationRecord { start, isa, count, mut code } = record;
        let (first_bits, first_run) = (self.bits.len(), self.runs.len());
        let (mut at, mut it) = (start, ItState::default());
        let mut run: Option<Run> = None;
        for _ in 0..count {
            let Some((bits, len)) = code::bits(isa, code) else { break };
            code = &code[len..];
            self.bits.push(bits);
            let next = Run::of(isa, at, bits, &mut it);
            at = next.block.end;
            match &mut run {
                Some(run) if !run.ends_block() => run.join(&next),
                _ => self.runs.extend(run.replace(next)),
            }
        }
        self.runs.extend(run);
        let known = self.bits.len() - first_bits;
        let trapping = self.bits[first_bits..].last().and_then(|&bits| Trapping::of(isa, bits));
        self.translations.push(Translation {
            start,
            end: at,
            isa,
            count: known as u32,
            is_whole: known == count as usize && count > 0,
            trapping,
            first_bits,
            first_run,
            run_count: (self.runs.len() - first_run) as u32,
        });
    }

    /// Returns the translation with this number.
    pub fn translation(&self, number: u32) -> Option<&Translation> {
        self.translations.get(number as usize)
    }

    /// Returns all translations in order of their numbers.
    pub fn translations(&self) -> &[Translation] {
        &self.translations
    }

    /// Returns the bits of a translation's instructions: 16-bit ones in the low half, a 32-bit one of T32 with its
    /// first halfword in the high half.
    pub fn instructions(&self, translation: &Translation) -> &[u32] {
        let first = translation.first_bits;
        self.bits.get(first..first + translation.count as usize).unwrap_or_default()
    }

    /// Returns the bytes of a translation's instructions.
    pub fn code(&self, translation: &Translation) -> Vec<u8> {
        let isa = translation.isa;
        let instructions = self.instructions(translation).iter();
        let mut code = Vec::with_capacity(4 * translation.count as usize);
        for &bits in instructions {
            let (bytes, len) = code::bytes(isa, bits);
            code.extend(&bytes[..len]);
        }
        code
    }

    /// Iterates over the indices of a translation's instructions that may access memory.
    pub(super) fn accesses(&self, translation: &Translation) -> impl Iterator<Item = u32> {
        let isa = translation.isa;
        let may_access = move |&&bits: &&u32| {
            let (bytes, len) = code::bytes(isa, bits);
            tracewright_isa::may_access(isa, &bytes[..len])
        };
        let with_index = self.instructions(translation).iter().zip(0..);
        with_index.filter(move |(bits, _)| may_access(bits)).map(|(_, index)| index)
    }

    /// Returns `count` entries of `bits` from index `first` on.
    pub(super) fn bits_at(&self, first: usize, count: u32) -> &[u32] {
        self.bits.get(first..first + count as usize).unwrap_or_default()
    }

    /// Returns the runs of a translation that runs from its start and in no IT block.
    pub(super) fn runs(&self, translation: &Translation) -> &[Run] {
        let first = translation.first_run;
        self.runs.get(first..first + translation.run_count as usize).unwrap_or_default()
    }

    /// Returns the address of an instruction of a translation; for an index past the last, the end.
    pub(super) fn address(&self, translation: &Translation, index: u32) -> u64 {
        let isa = translation.isa;
        let before = self.instructions(translation).iter().take(index as usize);
        let len: u64 = before.map(|&bits| u64::from(code::len_of(isa, bits))).sum();
        code::wrapped(isa, translation.start.wrapping_add(len))
    }

    /// Returns the executable mappings in order of creation. Where they overlap, the later one replaces the earlier.
    pub fn maps(&self) -> &[Map] {
        &self.maps
    }

    /// Returns Linux's thread ID of the thread with this index.
    pub fn tid(&self, index: u32) -> Option<u32> {
        self.threads.iter().find(|thread| thread.0 == index).map(|thread| thread.1)
    }

    /// Returns Linux's thread IDs of all threads, in the order in which they began.
    pub fn tids(&self) -> impl Iterator<Item = u32> {
        self.threads.iter().map(|thread| thread.1)
    }

    /// Returns whether a signal handler is, or was, at this address.
    pub fn is_handler(&self, address: u64) -> bool {
        self.handlers.contains(&address)
    }

    /// Returns messages for people.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the program file and its arguments.
    pub fn command(&self) -> &[String] {
        &self.command
    }
}
