//! Recording of a thread: the hot path.
#![allow(unsafe_code)]

use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::count_page;
use super::ffi::Counter;
use super::output::Chunk;
use super::state::{State, state};
use crate::format::{
    self, ChunkKind, Counted, FULL, Guess, LAST_ACCESS, LEAST_OUTCOMES, OUTCOMES, Off, Record, Successors,
    Word,
};

/// Number of words kept free at the end of a chunk. The longest entry has seven, and one is for the end of recording.
const RESERVE: usize = 16;

/// Set while threads are recorded: between the start and the stop place.
pub static IS_ON: AtomicBool = AtomicBool::new(true);

/// A recorded thread.
#[derive(Debug)]
pub struct Thread {
    /// Word in which outcomes are gathered, or that comes next. The end of the chunk follows.
    at: *mut u32,
    end: *mut u32,
    /// Outcomes in that word, under a bit that marks where they begin.
    outcomes: u32,
    /// Translations below this number can be recorded without further checks. 0 while recording is off.
    ready: u32,
    /// Translation that ran last, in `table`, or `nothing`.
    last: *mut Entry,
    table: Vec<Entry>,
    /// Expected value of [`passed`](Self::passed) when the last translation has run to its end.
    expected: u64,
    /// Number of instructions recorded.
    instructions: u64,
    limit: u64,
    /// Who counts checkpoints.
    counts: Counts,
    /// Checkpoints passed, if callbacks count them.
    own_passed: u64,
    /// Address in the chunk of the count at the start of the last translation. That of the current count, if callbacks
    /// count, follows. Both are for readers if QEMU is killed.
    began: *mut u64,
    own_passed_told: *mut u64,
    /// Stands for both if there is no chunk.
    nowhere: u64,
    /// Stands for the last translation if there was none.
    nothing: Entry,
    phase: Phase,
    index: u32,
    vcpu: u32,
    chunk: Option<Chunk>,
    sequence: u32,
}

// SAFETY: the pointers point into what it owns.
unsafe impl Send for Thread {}

/// State of a translation in a thread.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Entry {
    successors: Successors,
    /// Number of checkpoints of the translation. [`LAST_ACCESSES`] is added to make it never match, so that a check is made.
    checkpoints: u64,
    count: u32,
    number: u32,
}

/// Marks that the last instruction may access memory. No checkpoint follows it; instead its accesses are counted, in
/// the upper half of the count.
const LAST_ACCESSES: u64 = 1 << 62;
/// Who counts checkpoints.
#[derive(Clone, Copy, Debug)]
enum Counts {
    /// QEMU, for the only thread.
    One,
    /// QEMU, for each thread.
    Each(Counter, unsafe extern "C" fn(*mut c_void, c_uint) -> *mut c_void),
    /// Our callbacks.
    Own,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing ran yet.
    New,
    On,
    /// Recording is off until the start address.
    Off,
    /// Recording has ended.
    Ended,
}

impl Thread {
    /// Creates the state of a thread that will run as QEMU's `vcpu`.
    pub fn new(state: &State, vcpu: u32) -> Box<Self> {
        let counts = match (state.counter, state.api.scoreboard_find) {
            (Some(counter), Some(find)) => Counts::Each(counter, find),
            _ if state.is_parallel.load(Ordering::Relaxed) => Counts::Own,
            _ => Counts::One,
        };
        let mut thread = Box::new(Self {
            at: std::ptr::null_mut(),
            end: std::ptr::null_mut(),
            outcomes: LEAST_OUTCOMES,
            ready: 0,
            last: std::ptr::null_mut(),
            table: Vec::new(),
            expected: 0,
            instructions: 0,
            limit: state.arguments.instructions,
            counts,
            own_passed: 0,
            began: std::ptr::null_mut(),
            own_passed_told: std::ptr::null_mut(),
            nowhere: 0,
            nothing: Entry::default(),
            phase: Phase::New,
            index: state.next_thread(),
            vcpu,
            chunk: None,
            sequence: 0,
        });
        thread.tell_nowhere();
        thread.after_nothing();
        thread
    }

    fn tell_nowhere(&mut self) {
        self.began = &raw mut self.nowhere;
        self.own_passed_told = &raw mut self.nowhere;
    }

    /// Returns the number of checkpoints passed.
    #[inline(always)]
    fn passed(&self) -> u64 {
        match self.counts {
            // SAFETY: the page exists from when the plugin is installed.
            Counts::One => unsafe { count_page::count().read() },
            Counts::Own => self.own_passed,
            Counts::Each(counter, find) => {
                // SAFETY: QEMU's function is called with QEMU's memory; this thread runs, so it has a part of it.
                unsafe { find(counter.scoreboard, self.vcpu).byte_add(counter.offset).cast::<u64>().read() }
            }
        }
    }

    /// Records that a translation begins to run.
    #[inline(always)]
    pub fn runs(&mut self, number: u32) {
        if (number >= self.ready || !IS_ON.load(Ordering::Relaxed)) && !self.make_ready(number) {
            return;
        }
        let passed = self.passed();
        if (passed != self.expected || self.instructions >= self.limit) && !self.look(passed, number) {
            return;
        }
        // SAFETY: the first `ready` translations are in the table; `last` is in it, or `nothing`; `at` is within the
        // chunk.
        unsafe {
            let entry = self.table.as_mut_ptr().add(number as usize);
            match (*self.last).successors.find(number) {
                Guess::Known(outcome) => {
                    self.outcomes = self.outcomes << 1 | u32::from(outcome);
                    self.put(OUTCOMES | self.outcomes);
                    if self.outcomes >= FULL {
                        self.advance();
                    }
                }
                Guess::Other => {
                    (*self.last).successors.learn(number);
                    self.word(Word::Translation(number));
                }
            }
            self.last = entry;
            *self.began = passed;
            self.expected = passed.wrapping_add((*entry).checkpoints);
            self.instructions += u64::from((*entry).count);
        }
    }

    /// Counts checkpoints in a callback.
    #[inline(always)]
    pub fn pass(&mut self, count: u64) {
        self.own_passed += count;
        // SAFETY: it is in the chunk, or `nowhere`.
        unsafe { *self.own_passed_told = self.own_passed };
    }

    /// Writes the current word.
    #[inline(always)]
    fn put(&mut self, value: u32) {
        // SAFETY: `advance` keeps `at` within the chunk.
        unsafe { AtomicU32::from_ptr(self.at).store(value, Ordering::Release) };
    }

    /// Goes to the next word.
    #[inline(always)]
    fn advance(&mut self) {
        self.outcomes = LEAST_OUTCOMES;
        self.at = self.at.wrapping_add(1);
        if self.at >= self.end {
            self.next_chunk();
        }
    }

    /// Writes a single word.
    #[inline]
    fn word(&mut self, word: Word) {
        if self.outcomes != LEAST_OUTCOMES {
            self.advance();
        }
        self.put(word.value());
        self.advance();
    }

    /// Notes that what comes next is no successor.
    fn after_nothing(&mut self) {
        self.nothing = Entry::default();
        self.last = &raw mut self.nothing;
        self.expected = self.passed();
    }

    /// Handles a translation that is new to this thread, or recording that is off. Returns whether the translation is
    /// to be recorded.
    #[cold]
    fn make_ready(&mut self, number: u32) -> bool {
        let Some(state) = state() else { return false };
        let is_on = IS_ON.load(Ordering::Relaxed);
        if self.phase == Phase::New {
            self.name(state);
            self.phase = Phase::Off;
            if is_on && !self.begin() {
                return false;
            }
        }
        match (self.phase, is_on) {
            (Phase::On, true) => {}
            (Phase::Off, true) => {
                // Another thread reached the start place.
                if !self.begin() {
                    return false;
                }
                self.word(Word::From(0));
            }
            (Phase::On, false) => {
                let passed = self.passed();
                if passed == self.expected || self.look(passed, number) {
                    self.stop(Off::Stop);
                    self.phase = Phase::Off;
                }
                return false;
            }
            _ => return false,
        }
        // SAFETY: `last` is in the table, which has not grown since, or `nothing`.
        let last = unsafe { (*self.last).number as usize };
        let is_nothing = std::ptr::eq(self.last, &raw const self.nothing);
        let definitions = state.definitions();
        let known = self.table.len();
        self.table.extend(definitions.translations(known as u32).iter().zip(known..).map(
            |(found, number)| {
                let mark = if found.last_accesses { LAST_ACCESSES } else { 0 };
                Entry {
                    successors: Successors::default(),
                    checkpoints: u64::from(found.checkpoints) | mark,
                    count: found.count,
                    number: number as u32,
                }
            },
        ));
        drop(definitions);
        if !is_nothing {
            self.last = &raw mut self.table[last];
        }
        self.ready = self.table.len() as u32;
        number < self.ready
    }

    /// Writes the thread's record.
    fn name(&self, state: &State) {
        let tid = std::fs::read_link("/proc/thread-self").ok();
        let tid = tid.and_then(|link| link.file_name()?.to_str()?.parse().ok()).unwrap_or_default();
        state.definitions().write(&state.output, &Record::Thread { index: self.index, tid });
    }

    /// Begins recording. Returns whether it could, since it needs a chunk.
    fn begin(&mut self) -> bool {
        self.phase = Phase::On;
        if self.chunk.is_none() {
            self.next_chunk();
        }
        self.after_nothing();
        self.phase == Phase::On
    }

    /// Handles a last translation that may not have run to its end, or the end of recording. Returns whether recording continues.
    #[cold]
    fn look(&mut self, passed: u64, next: u32) -> bool {
        self.settle(passed, Some(next));
        if self.instructions >= self.limit {
            self.stop(Off::Limit);
            self.end_chunk();
            self.phase = Phase::Ended;
        }
        self.phase == Phase::On
    }

    /// Writes how much of the last translation retired, if not all did. `next` is the next translation, if any.
    fn settle(&mut self, passed: u64, next: Option<u32>) {
        let Some(state) = state() else { return };
        // SAFETY: `last` is in the table, or `nothing`.
        let Entry { checkpoints, count, number, .. } = unsafe { *self.last };
        let mut retired = count;
        if passed != self.expected && !std::ptr::eq(self.last, &raw const self.nothing) {
            let definitions = state.definitions();
            let find = |number| definitions.translations(number).first().copied();
            let since = passed.wrapping_sub(self.expected.wrapping_sub(checkpoints));
            if let Some(last) = find(number) {
                let went_on = next.and_then(find).is_some_and(|next| next.start == last.end);
                retired = format::retired(definitions.accesses(&last), count, since, Some(went_on));
            }
        }
        let mut instructions = self.instructions - u64::from(count - retired);
        if instructions > self.limit {
            retired = retired.saturating_sub((instructions - self.limit) as u32);
            instructions = self.limit;
        }
        self.instructions = instructions;
        if retired < count {
            self.word(Word::Left(retired));
        }
    }

    /// Stops recording.
    fn stop(&mut self, why: Off) {
        if self.chunk.is_some() {
            self.word(Word::Off(why));
        }
        self.ready = 0;
        self.after_nothing();
    }

    /// Begins a new chunk, since the last is full or there is none.
    #[cold]
    fn next_chunk(&mut self) {
        let Some(state) = state() else { return };
        // If there is none, the old one stays and says so: a word is free for that.
        let counted = match self.counts {
            Counts::One => Counted::Log,
            Counts::Each(..) => Counted::Unknown,
            Counts::Own => Counted::Chunk,
        };
        let new =
            state.output.chunk(ChunkKind::Thread(self.index), self.sequence, self.instructions, counted);
        if new.is_none() && self.chunk.is_some() {
            self.put(Word::Off(Off::Failed).value());
            self.at = self.at.wrapping_add(1);
        }
        self.end_chunk();
        match new {
            Some(chunk) => {
                self.sequence += 1;
                self.at = chunk.words();
                self.end = self.at.wrapping_add(Chunk::WORDS - RESERVE);
                (self.began, self.own_passed_told) = chunk.counts();
                // SAFETY: they are in the chunk.
                unsafe { *self.own_passed_told = self.own_passed };
                self.chunk = Some(chunk);
            }
            None => {
                self.phase = Phase::Ended;
                self.ready = 0;
                // What is written before this is noticed goes nowhere.
                self.at = &raw mut self.nothing.number;
                self.end = std::ptr::without_provenance_mut(usize::MAX);
            }
        }
    }

    fn end_chunk(&mut self) {
        let (Some(state), Some(mut chunk)) = (state(), self.chunk.take()) else { return };
        self.tell_nowhere();
        let gathered = usize::from(self.outcomes != LEAST_OUTCOMES);
        chunk.used = (self.at.addr() - chunk.words().addr()) + 4 * gathered;
        self.outcomes = LEAST_OUTCOMES;
        state.output.done(chunk);
    }

    /// Begins recording at the instruction with this index in a translation, which is about to run.
    pub fn start(&mut self, number: u32, index: u32) {
        IS_ON.store(true, Ordering::Relaxed);
        if self.phase != Phase::Off || !self.begin() || !self.make_ready(number) {
            return;
        }
        self.word(Word::From(index));
        self.runs(number);
        self.instructions -= u64::from(index);
        // Checkpoints of the instructions before it were already passed.
        if let Some(state) = state() {
            let definitions = state.definitions();
            let accesses = definitions.translations(number).first().map(|found| definitions.accesses(found));
            let before = accesses.into_iter().flatten().filter(|&access| access < index).count() as u64;
            self.expected = self.expected.wrapping_sub(before);
            // SAFETY: it is in the chunk, or `nowhere`.
            unsafe { *self.began = (*self.began).wrapping_sub(before) };
        }
    }

    /// Stops recording before the instruction with this index in the last translation, which is about to run.
    pub fn stop_before(&mut self, index: u32) {
        IS_ON.store(false, Ordering::Relaxed);
        if self.phase == Phase::On && self.ready > 0 {
            // SAFETY: `last` is in the table, or `nothing`.
            let count = unsafe { (*self.last).count };
            self.instructions -= u64::from(count.saturating_sub(index));
            self.word(Word::Left(index));
            self.stop(Off::Stop);
            self.phase = Phase::Off;
        }
    }

    /// Notes a system call: the last translation ran to its end, even if QEMU is killed before the next begins.
    pub fn calls(&mut self) {
        // SAFETY: it is in the chunk, or `nowhere`.
        unsafe { *self.began = (*self.began).wrapping_sub(LAST_ACCESS) };
    }

    /// Pauses recording for `execve`. If that fails, recording resumes.
    pub fn exec(&mut self) {
        if self.phase == Phase::On && self.chunk.is_some() {
            self.word(Word::Off(Off::Exec));
            self.after_nothing();
        }
    }

    /// Switches to counting by callbacks, since there will be several threads.
    pub fn count_own(&mut self) {
        if matches!(self.counts, Counts::One) {
            let left = self.expected.wrapping_sub(self.passed());
            self.counts = Counts::Own;
            self.own_passed = 0;
            self.expected = left;
            if let Some(chunk) = &mut self.chunk {
                chunk.count_here();
                // SAFETY: `began` is in the chunk; `last` is in the table, or `nothing`.
                unsafe { *self.began = left.wrapping_sub((*self.last).checkpoints) };
            }
        }
    }

    /// Handles the end of the thread or the program.
    pub fn finish(&mut self) {
        if self.chunk.is_some() {
            if self.phase == Phase::On {
                // A program that crashed did not run the last translation to its end. (Not all versions of QEMU call us then.)
                self.settle(self.passed(), None);
                self.word(Word::Off(Off::Exit));
            }
            self.end_chunk();
        }
        self.phase = Phase::Ended;
        self.ready = 0;
    }

    /// Drops what belongs to another process.
    pub fn abandon(&mut self) {
        self.chunk = None;
        self.tell_nowhere();
        self.phase = Phase::Ended;
        self.ready = 0;
    }

    /// Begins a log of its own for the thread, in a forked process.
    pub fn begin_again(&mut self, index: u32) {
        (self.index, self.sequence, self.instructions) = (index, 0, 0);
        self.table.clear();
        self.outcomes = LEAST_OUTCOMES;
        self.phase = Phase::New;
        self.after_nothing();
    }

    /// Records a memory access.
    #[inline]
    pub fn accesses(&mut self, head: u32, address: u64, value: Option<(u32, [u64; 2])>) {
        if self.ready == 0 {
            return;
        }
        if self.outcomes != LEAST_OUTCOMES {
            self.advance();
        }
        let mut words = [head, address as u32, (address >> 32) as u32, 0, 0, 0, 0];
        let mut len = 3;
        if let Some((count, [low, high])) = value {
            words[3..].copy_from_slice(&[low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]);
            len += count as usize;
        }
        for index in (0..len).rev() {
            // SAFETY: as many words are kept free at the end of a chunk.
            unsafe { AtomicU32::from_ptr(self.at.add(index)).store(words[index], Ordering::Release) };
        }
        self.at = self.at.wrapping_add(len - 1);
        self.advance();
    }
}
