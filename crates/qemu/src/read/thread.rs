use tracewright_core::Isa;
use tracewright_hart::{HartSink, Privilege};
use tracewright_isa::ItState;

use super::code::Run;
use super::damage::{Damage, DamageKind};
use super::definitions::Definitions;
use super::node::Node;
use crate::format::{Guess, Header, LogData, Off, Word, retired};

/// Decoder of a thread's words.
///
/// Memory is proportional to the translations that it ran, plus four bytes for each that is defined.
#[derive(Debug, Default)]
pub struct Thread {
    index: u32,
    has_values: bool,
    pub(super) nodes: Vec<Node>,
    /// Node of each translation, plus one.
    of_translation: Vec<u32>,
    /// Node of the current translation.
    pub(super) now: Option<u32>,
    /// Set if the block of `now` only has to be reported once its successor is known.
    is_plain: bool,
    /// First instruction of `now` that is recorded.
    pub(super) from: u32,
    /// Number of instructions of `now` that retired, if not all did.
    pub(super) left: Option<u32>,
    /// Set if a signal came after `now`.
    pub(super) signal: bool,
    /// Run that `now` continues.
    pub(super) before: Option<Run>,
    /// IT block that `now` continues.
    pub(super) it: ItState,
    pub(super) accesses: Vec<Accessed>,
    /// Set if what comes next is not the successor of `now`.
    is_apart: bool,
    /// First recorded instruction of what comes next.
    next_from: Option<u32>,
    /// Set if what comes next does not follow from what was reported.
    pub(super) gap: bool,
    is_started: bool,
    off: Option<Off>,
    pub(super) instructions: u64,
    damage: Option<Damage>,
}

/// An access by an instruction of the last translation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accessed {
    /// Index of the instruction in the translation.
    pub index: u32,
    pub is_store: bool,
    pub size: u8,
    pub address: u64,
    pub value: u64,
}

/// Maximum number of accesses kept: those of a translation, each of many elements.
const MOST_ACCESSES: usize = 1 << 20;
/// Maximum log2 of the size of an access: QEMU's largest have 128 bytes.
const MOST_SHIFT: u32 = 7;
/// Maximum log2 of the size of an access with a value.
const MOST_VALUE_SHIFT: u32 = 4;

impl Thread {
    /// Creates a decoder of the thread with this index in the log.
    pub fn new(index: u32, header: &Header) -> Self {
        Self { index, has_values: header.data == LogData::Values, ..Self::default() }
    }

    /// Takes all words of a chunk, which are its bytes after the header, and passes what ran to `sink`, with
    /// [offsets](HartSink::offset) in these bytes. The last translation is kept until its successor is known.
    ///
    /// All translations in the chunk must already be among the definitions.
    ///
    /// # Errors
    /// Returns an error if words make no sense. Everything before them was reported, and that the rest is
    /// [lost](HartSink::lost); nothing more can be taken.
    pub fn take<S: HartSink>(
        &mut self,
        bytes: &[u8],
        definitions: &Definitions,
        sink: &mut S,
    ) -> Result<(), Damage> {
        if let Some(damage) = self.damage {
            return Err(damage);
        }
        self.start(definitions, sink);
        let words = bytes.as_chunks::<4>().0;
        self.words(words, definitions, sink).inspect_err(|&damage| {
            self.damage = Some(damage);
            self.abandon(definitions, sink);
            sink.lost();
        })
    }

    /// Notes that QEMU was killed, or the program crashed, after all that was taken. `since` is the number of
    /// checkpoints since the last translation began
    /// ([`ChunkHeader::since_last`](crate::format::ChunkHeader::since_last)), which shows how much of it ran.
    pub fn broken_off(&mut self, since: u64, definitions: &Definitions) {
        if self.off.is_some() || self.left.is_some() || self.is_apart || self.damage.is_some() {
            return;
        }
        let node = self.now.and_then(|now| self.nodes.get(now as usize));
        if let Some(translation) = node.and_then(|node| definitions.translation(node.translation)) {
            let retired = retired(definitions.accesses(translation), translation.count, since, None);
            self.left = Some(retired.max(self.from));
            self.is_plain = false;
        }
    }

    /// Ends the thread. If its words do not say that recording stopped, the last translation is not reported.
    pub fn finish<S: HartSink>(&mut self, definitions: &Definitions, sink: &mut S) {
        if self.damage.is_none() {
            self.start(definitions, sink);
            self.abandon(definitions, sink);
        }
    }

    /// Ends the thread like [`finish`](Self::finish), and reports that something is missing from here on.
    pub fn lose<S: HartSink>(&mut self, definitions: &Definitions, sink: &mut S) {
        self.finish(definitions, sink);
        sink.lost();
    }

    /// Returns the number of instructions reported.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Returns the number of different translations that ran.
    pub fn translations(&self) -> u64 {
        self.nodes.len() as u64
    }

    /// Returns why recording stopped; `None` if it did not, or if the log ends before that.
    pub fn off(&self) -> Option<Off> {
        self.off
    }

    fn start<S: HartSink>(&mut self, definitions: &Definitions, sink: &mut S) {
        if !self.is_started {
            self.is_started = true;
            sink.privilege(Privilege::User);
            if let Some(tid) = definitions.tid(self.index) {
                sink.context(tid.into());
            }
        }
    }

    fn words<S: HartSink>(
        &mut self,
        words: &[[u8; 4]],
        definitions: &Definitions,
        sink: &mut S,
    ) -> Result<(), Damage> {
        let mut at = 0;
        while let Some(&word) = words.get(at) {
            let word = u32::from_le_bytes(word);
            let offset = 4 * at;
            sink.offset(offset as u64);
            let damage = |kind| Damage { offset, kind };
            match Word::parse(word).ok_or_else(|| damage(DamageKind::Word(word)))? {
                Word::Outcomes { bits, count } => self.outcomes(bits, count, definitions, sink),
                Word::Translation(number) => self.told(number, definitions, sink),
                Word::End => return Ok(()),
                Word::Access { index, size_shift, is_store } => {
                    let len = self.access_len(size_shift);
                    let more = words.get(at + 1..at + 1 + len).ok_or_else(|| damage(DamageKind::Cut))?;
                    at += len;
                    if S::ACCESSES { self.access(index, size_shift, is_store, more) } else { Ok(()) }
                }
                other => self.other(other, definitions, sink),
            }
            .map_err(damage)?;
            at += 1;
        }
        Ok(())
    }

    /// Decodes outcomes: the hot path.
    #[inline]
    fn outcomes<S: HartSink>(
        &mut self,
        bits: u32,
        mut count: u32,
        definitions: &Definitions,
        sink: &mut S,
    ) -> Result<(), DamageKind> {
        while count > 0 {
            if self.is_plain
                && let Some(now) = self.now
            {
                let mut now = now as usize;
                let mut told = 0;
                // The next outcome is the highest bit.
                let mut rest = bits << (32 - count);
                while count > 0
                    && let Some(node) = self.nodes.get(now)
                {
                    let outcome = (rest >> 31) as usize;
                    let Some(ended) = node.ended[outcome] else { break };
                    let mut block = node.block;
                    block.ended = ended;
                    if S::INSTRUCTIONS {
                        sink.instructions(definitions.bits_at(node.first_bits, block.count));
                    }
                    told += u64::from(block.count);
                    sink.block(&block);
                    now = node.next[outcome] as usize;
                    rest <<= 1;
                    count -= 1;
                }
                self.instructions += told;
                self.now = Some(now as u32);
            }
            if count > 0 {
                count -= 1;
                self.outcome(bits >> count & 1 != 0, definitions, sink)?;
            }
        }
        Ok(())
    }

    /// Decodes one outcome, and determines whether it may take the fast path from now on.
    #[inline(never)]
    fn outcome<S: HartSink>(
        &mut self,
        outcome: bool,
        definitions: &Definitions,
        sink: &mut S,
    ) -> Result<(), DamageKind> {
        let last = self.now.filter(|_| !self.is_apart && self.next_from.is_none());
        let last = last.ok_or(DamageKind::Outcome)? as usize;
        let next = self.nodes.get(last).and_then(|node| node.successors.get(outcome));
        let next = next.ok_or(DamageKind::Outcome)?;
        let ended = self.settle(Some(self.start_of(next)), definitions, sink);
        self.enter(next, definitions, sink)?;
        if self.is_plain {
            let node = &mut self.nodes[last];
            node.ended[usize::from(outcome)] = ended;
            node.next[usize::from(outcome)] = next;
        }
        Ok(())
    }

    /// Decodes a translation given by its number.
    fn told<S: HartSink>(
        &mut self,
        number: u32,
        definitions: &Definitions,
        sink: &mut S,
    ) -> Result<(), DamageKind> {
        let next = self.node(number, definitions)?;
        if let Some(last) = self.now.filter(|_| !self.is_apart) {
            let node = &mut self.nodes[last as usize];
            if node.successors.find(next) == Guess::Other {
                node.successors.learn(next);
                if let Guess::Known(outcome) = node.successors.find(next) {
                    node.ended[usize::from(outcome)] = None;
                }
            }
        }
        self.settle(Some(self.start_of(next)), definitions, sink);
        self.enter(next, definitions, sink)
    }

    /// Returns the node of a translation.
    fn node(&mut self, number: u32, definitions: &Definitions) -> Result<u32, DamageKind> {
        if let Some(node) = self.of_translation.get(number as usize).and_then(|node| node.checked_sub(1)) {
            return Ok(node);
        }
        let translation = definitions.translation(number).ok_or(DamageKind::Translation(number))?;
        let at = number as usize;
        if self.of_translation.len() <= at {
            self.of_translation.resize(at + 1, 0);
        }
        let node = self.nodes.len() as u32;
        self.nodes.push(Node::new(number, translation, definitions));
        self.of_translation[at] = node + 1;
        Ok(node)
    }

    fn start_of(&self, node: u32) -> (u64, Isa) {
        let block = &self.nodes[node as usize].block;
        (block.start, block.isa)
    }

    /// Makes `node` current, after what ran before was reported.
    fn enter<S: HartSink>(
        &mut self,
        node: u32,
        definitions: &Definitions,
        sink: &mut S,
    ) -> Result<(), DamageKind> {
        if std::mem::take(&mut self.gap) {
            sink.lost();
        }
        self.now = Some(node);
        (self.off, self.is_apart) = (None, false);
        (self.left, self.signal) = (None, false);
        self.from = self.next_from.take().unwrap_or_default();
        let Node { is_simple, translation, .. } = self.nodes[node as usize];
        self.is_plain = is_simple && self.from == 0 && self.before.is_none() && self.it == ItState::default();
        if self.from > 0 && definitions.translation(translation).is_none_or(|of| self.from >= of.count) {
            self.now = None;
            return Err(DamageKind::Instruction(self.from));
        }
        Ok(())
    }

    /// Decodes rare words.
    #[cold]
    fn other<S: HartSink>(
        &mut self,
        word: Word,
        definitions: &Definitions,
        sink: &mut S,
    ) -> Result<(), DamageKind> {
        let misplaced = DamageKind::Misplaced(word.value());
        match word {
            Word::Left(count) => {
                let most = self.count(definitions).filter(|_| self.left.is_none() && !self.is_apart);
                if count > most.ok_or(misplaced)? || count < self.from {
                    return Err(DamageKind::Instruction(count));
                }
                self.left = Some(count);
                self.is_plain = false;
            }
            Word::Signal => {
                // Nothing is expected between a call that recording stopped at and what comes after it.
                if self.now.is_some() {
                    self.signal = true;
                    self.is_plain = false;
                }
            }
            Word::From(index) => {
                self.stop(definitions, sink);
                self.next_from = Some(index);
            }
            // Recording resumes if the call fails.
            Word::Off(Off::Exec) => {
                self.off = Some(Off::Exec);
                (self.is_apart, self.is_plain) = (true, false);
            }
            Word::Off(why) => {
                self.stop(definitions, sink);
                self.off = Some(why);
            }
            Word::End | Word::Outcomes { .. } | Word::Translation(_) | Word::Access { .. } => {
                return Err(misplaced);
            }
        }
        Ok(())
    }

    /// Returns the number of instructions of the current translation.
    fn count(&self, definitions: &Definitions) -> Option<u32> {
        let node = self.nodes.get(self.now? as usize)?;
        Some(definitions.translation(node.translation)?.count)
    }

    /// Reports what ran; what comes next does not follow from it.
    fn stop<S: HartSink>(&mut self, definitions: &Definitions, sink: &mut S) {
        self.gap |= self.now.is_some();
        self.settle(None, definitions, sink);
        (self.now, self.is_plain) = (None, false);
    }

    /// Reports what has certainly run, and no more.
    fn abandon<S: HartSink>(&mut self, definitions: &Definitions, sink: &mut S) {
        if self.off.is_none() && self.left.is_none() && !self.signal {
            self.accesses.clear();
            self.close(sink);
            self.now = None;
        }
        self.stop(definitions, sink);
    }

    /// Returns the number of words of address and value that follow an access.
    fn access_len(&self, size_shift: u32) -> usize {
        let value = ((1 << size_shift.min(MOST_VALUE_SHIFT)) / 4).max(1);
        2 + if self.has_values { value } else { 0 }
    }

    fn access(
        &mut self,
        index: u32,
        size_shift: u32,
        is_store: bool,
        more: &[[u8; 4]],
    ) -> Result<(), DamageKind> {
        if self.now.is_none() || size_shift > MOST_SHIFT {
            return Err(DamageKind::Misplaced(crate::format::access(index, size_shift, is_store)));
        }
        let last = self.accesses.last().map_or(0, |access| access.index);
        if index < last {
            return Err(DamageKind::Instruction(index));
        }
        if self.accesses.len() >= MOST_ACCESSES {
            return Err(DamageKind::Accesses);
        }
        self.is_plain = false;
        let word = |at: usize| more.get(at).map_or(0, |&word| u64::from(u32::from_le_bytes(word)));
        let address = word(0) | word(1) << 32;
        // Wide accesses are reported eight bytes at a time.
        let (size, pieces) = if size_shift <= 3 { (1 << size_shift, 1) } else { (8, 1 << (size_shift - 3)) };
        for piece in 0..pieces {
            let value = word(2 + 2 * piece) | word(3 + 2 * piece) << 32;
            let value = if size == 8 { value } else { value & ((1 << (8 * u32::from(size))) - 1) };
            let address = address.wrapping_add(8 * piece as u64);
            self.accesses.push(Accessed { index, is_store, size, address, value });
        }
        Ok(())
    }
}
