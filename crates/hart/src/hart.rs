use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tracewright_core::{Block, Class, Ended};

use crate::cache::{Cache, NONE, Piece};
use crate::execute::{Next, Part, execute};
use crate::machine::{Exception, Machine, Served, Stop};
use crate::state::Core;
use crate::{HartSink, Privilege, Trap};

/// Number of instructions between checks for a requested stop.
const LOOK: u64 = 1 << 20;
/// Number of consecutive exceptions, without a retired instruction, between checks.
const LOOK_AT_EXCEPTIONS: u64 = 1 << 10;
/// Maximum number of consecutive exceptions. A program may wait for a million system calls.
const MOST_EXCEPTIONS: u64 = 2_000_000;

/// A hart in its machine.
#[derive(Clone, Debug)]
pub struct Hart<M> {
    /// Registers and memory.
    pub core: Core,
    /// Environment of the hart.
    pub machine: M,
    /// Decoded code by privilege, since the same address may have other code or none.
    caches: [Cache; 4],
    /// Index of the cache in use.
    space: usize,
    /// Address of the first instruction of the current block, and how many of its instructions are done.
    started: (u64, u32),
    /// Length of the last of these.
    last_len: u8,
    told_privilege: Option<Privilege>,
    told_context: Option<u64>,
    epoch: u64,
    stop: Arc<AtomicBool>,
    /// Number of consecutive exceptions, and the instructions retired before them.
    fruitless: (u64, u64),
}

impl<M: Machine> Hart<M> {
    /// Creates a hart that will execute the instruction at `core.pc`.
    pub fn new(core: Core, machine: M) -> Self {
        let epoch = core.memory.epoch();
        let started = (core.pc, 0);
        Self {
            core,
            machine,
            caches: std::array::from_fn(|_| Cache::new()),
            space: 0,
            started,
            last_len: 4,
            told_privilege: None,
            told_context: None,
            epoch,
            stop: Arc::default(),
            fruitless: (0, 0),
        }
    }

    /// Makes the hart stop soon after another thread sets `flag`.
    pub fn stop_when(&mut self, flag: Arc<AtomicBool>) {
        self.stop = flag;
    }

    /// Runs until the machine stops, or until `limit` instructions have retired since the hart was created. The sink
    /// has received everything that retired when this returns.
    pub fn run<S: HartSink>(&mut self, limit: u64, sink: &mut S) -> Stop {
        self.started = (self.core.pc, 0);
        let Err(stop) = self.run_on(limit, sink);
        self.cut(sink);
        stop
    }

    fn run_on<S: HartSink>(&mut self, limit: u64, sink: &mut S) -> Result<Infallible, Stop> {
        self.tell_context(sink);
        // The next piece, if it is known without a lookup, and how many of its instructions are done.
        let (mut id, mut from) = (NONE, 0);
        let mut look = self.core.instret;
        loop {
            let until = self.core.deadline.min(limit).min(look);
            if self.core.instret >= until {
                if self.core.instret >= limit {
                    return Err(Stop::Limit);
                }
                if self.core.instret >= look {
                    if self.stop.load(Ordering::Relaxed) {
                        return Err(Stop::Asked);
                    }
                    sink.checkpoint();
                    look = self.core.instret + LOOK;
                    continue;
                }
                if self.poll(sink)? {
                    (id, from) = (NONE, 0);
                }
                continue;
            }
            if self.epoch != self.core.memory.epoch() {
                self.epoch = self.core.memory.epoch();
                self.core.tlb.flush();
            }
            if self.core.code_changed {
                self.forget();
                (id, from) = (NONE, 0);
            }
            if id == NONE {
                id = match self.caches[self.space].at(&mut self.core, &mut self.machine) {
                    Ok(id) => id,
                    Err(exception) => {
                        self.exception(exception, sink)?;
                        continue;
                    }
                };
            }
            let Piece { block, first, links, .. } = self.caches[self.space].pieces[id as usize];
            let left = until - self.core.instret;
            let whole = u64::from(block.count - from) <= left;
            let count = if whole { block.count - from } else { left as u32 };
            let range = (first + from) as usize..(first + from + count) as usize;
            let end = if whole { block.end } else { self.address_of(&block, range.end) };
            let part = Part {
                ready: &self.caches[self.space].ready[range.clone()],
                bits: &self.caches[self.space].bits[range.clone()],
                start: block.start,
                end,
                done: self.started.1,
            };
            let result = execute(&mut self.core, &mut self.machine, part, sink);
            let Next { pc, taken } = match result {
                Ok(next) => next,
                Err((done, exception)) => {
                    (id, from) = (NONE, 0);
                    self.broken(&block, range.start, done, exception, sink)?;
                    continue;
                }
            };
            self.core.pc = pc;
            if !whole {
                self.retire(range.start, count as usize, sink);
                from += count;
                continue;
            }
            from = 0;
            if S::INSTRUCTIONS {
                sink.instructions(&self.caches[self.space].bits[range]);
            }
            self.core.instret += u64::from(count);
            if block.class.ends_block() {
                let (start, done) = self.started;
                let ended = if taken { Ended::Taken } else { Ended::NotTaken };
                sink.block(&Block { start, count: done + count, ended, ..block });
                self.started = (pc, 0);
                if self.told_privilege != Some(self.machine.privilege()) {
                    self.tell_context(sink);
                    id = NONE;
                    continue;
                }
            } else {
                self.started.1 += count;
                self.last_len = block.last_len;
            }
            let next = links[usize::from(taken)];
            id = if next != NONE { next } else { self.link(id, taken) };
        }
    }

    /// Returns the fixed successor of piece `id`, or [`NONE`]. The result is stored in the piece.
    fn link(&mut self, id: u32, taken: bool) -> u32 {
        let is_fixed = self.caches[self.space].pieces[id as usize].links_are_fixed;
        if self.core.code_changed {
            return NONE;
        }
        let pieces = self.caches[self.space].pieces.len();
        // The next lookup raises the exception.
        let Ok(next) = self.caches[self.space].at(&mut self.core, &mut self.machine) else { return NONE };
        if is_fixed && self.caches[self.space].pieces.len() >= pieces {
            self.caches[self.space].pieces[id as usize].links[usize::from(taken)] = next;
        }
        next
    }

    /// Returns the address of the instruction with this index, in a piece that forms `block`.
    #[cold]
    fn address_of(&self, block: &Block, ready: usize) -> u64 {
        self.core.address(block.start.wrapping_add(self.caches[self.space].ready[ready].at.into()))
    }

    /// Handles an exception raised after `done` instructions of a piece.
    #[cold]
    fn broken<S: HartSink>(
        &mut self,
        block: &Block,
        first: usize,
        done: usize,
        exception: Exception,
        sink: &mut S,
    ) -> Result<(), Stop> {
        self.core.pc = self.address_of(block, first + done);
        self.retire(first, done, sink);
        self.exception(exception, sink)
    }

    /// Retires `count` instructions, none of which ends a block.
    fn retire<S: HartSink>(&mut self, first: usize, count: usize, sink: &mut S) {
        let bits = &self.caches[self.space].bits[first..first + count];
        if let Some(last) = bits.last() {
            self.last_len = if last & 3 == 3 { 4 } else { 2 };
            if S::INSTRUCTIONS {
                sink.instructions(bits);
            }
        }
        self.core.instret += count as u64;
        self.started.1 += count as u32;
    }

    /// Emits what retired of a block that does not reach its end.
    fn cut<S: HartSink>(&mut self, sink: &mut S) {
        let (start, count) = self.started;
        let end = self.core.pc;
        if count > 0 {
            let (isa, last_len, class) = (self.core.isa(), self.last_len, Class::NEXT);
            sink.block(&Block { start, end, count, isa, last_len, class, ended: Ended::Cut });
        }
        self.started = (end, 0);
    }

    /// Handles an exception raised by the instruction at `core.pc`.
    #[cold]
    fn exception<S: HartSink>(&mut self, exception: Exception, sink: &mut S) -> Result<(), Stop> {
        self.cut(sink);
        self.check_progress()?;
        let pc = self.core.pc;
        let Exception { cause, value } = exception;
        let served = match self.machine.exception(&mut self.core, exception) {
            Ok(served) => served == Served::Machine,
            Err(stop) => {
                // The trap that ended the program is reported too: the call that exits, or the fault.
                if matches!(stop, Stop::Exit { .. } | Stop::Fault(_)) {
                    sink.trap(&Trap { pc, cause, interrupt: false, value, next: pc, served: true });
                }
                return Err(stop);
            }
        };
        sink.trap(&Trap { pc, cause, interrupt: false, value, next: self.core.pc, served });
        self.started = (self.core.pc, 0);
        self.tell_context(sink);
        Ok(())
    }

    /// Checks limits and requests to stop, so that exceptions alone do not continue forever.
    fn check_progress(&mut self) -> Result<(), Stop> {
        let retired = self.core.instret;
        let (count, before) = self.fruitless;
        let count = if before == retired { count + 1 } else { 1 };
        self.fruitless = (count, retired);
        if count > MOST_EXCEPTIONS {
            let how = format!("{MOST_EXCEPTIONS} exceptions in a row, the last at {:#x}", self.core.pc);
            return Err(Stop::Fault(how));
        }
        match count % LOOK_AT_EXCEPTIONS == 0 && self.stop.load(Ordering::Relaxed) {
            true => Err(Stop::Asked),
            false => Ok(()),
        }
    }

    /// Polls the machine. Returns whether an interrupt was taken.
    #[cold]
    fn poll<S: HartSink>(&mut self, sink: &mut S) -> Result<bool, Stop> {
        let pc = self.core.pc;
        let Some(cause) = self.machine.poll(&mut self.core)? else { return Ok(false) };
        let next = std::mem::replace(&mut self.core.pc, pc);
        self.cut(sink);
        self.core.pc = next;
        sink.trap(&Trap { pc, cause, interrupt: true, value: 0, next, served: false });
        self.started = (next, 0);
        self.tell_context(sink);
        Ok(true)
    }

    fn tell_context<S: HartSink>(&mut self, sink: &mut S) {
        let privilege = self.machine.privilege();
        self.space = privilege as usize;
        if self.told_privilege != Some(privilege) {
            self.told_privilege = Some(privilege);
            sink.privilege(privilege);
        }
        let context = self.machine.context();
        if self.told_context != Some(context) {
            self.told_context = Some(context);
            sink.context(context);
        }
    }

    /// Discards decoded instructions and translations.
    #[cold]
    fn forget(&mut self) {
        self.caches.iter_mut().for_each(Cache::clear);
        self.core.tlb.flush();
        self.core.code_changed = false;
    }
}
