use std::fmt;

use tracewright_core::control::{Control, Handler, Verdict};
use tracewright_core::{Block, DataAccess, Ended, Isa, Role};
use tracewright_isa::riscv::IType;

use super::Events;
use super::told::{Part, Told, behind};
use crate::{Access, HartSink, Privilege, Trap};

/// Passes on to another sink only what qualifies, and reports a gap ([`HartSink::lost`]) where that ends.
///
/// Each instruction is decided separately, so that a block may be passed on in parts. A trap is decided as if its
/// handler already ran at the address where it was taken. Privilege and context are always passed on.
pub struct Controlled<S> {
    /// HartSink for what qualifies.
    pub inner: S,
    control: Control,
    events: Events,
    told: Told,
    /// Source of instruction bits for executions without them.
    code: Option<Code>,
    /// Set while what was passed on leads to what comes next.
    is_telling: bool,
    /// Cycle of the last instruction, if known. Otherwise each instruction takes one cycle.
    cycle: Option<u64>,
    /// Set if the thread has a number of its own. Otherwise the context is the thread.
    has_thread: bool,
    isa: Isa,
    left_out: u64,
}

type Code = Box<dyn FnMut(u64) -> Option<u32> + Send>;

/// Maximum number of instructions of a block that are kept, since a log can have any number without a branch.
const MOST: usize = 1 << 22;

impl<S> fmt::Debug for Controlled<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controlled").field("control", &self.control).finish_non_exhaustive()
    }
}

impl<S: HartSink> Controlled<S> {
    /// Creates a sink that passes on to `inner` what qualifies.
    pub fn new(control: Control, inner: S) -> Self {
        Self {
            inner,
            control,
            events: Events::new(),
            told: Told::default(),
            code: None,
            is_telling: false,
            cycle: None,
            has_thread: false,
            isa: Isa::Rv64,
            left_out: 0,
        }
    }

    /// Adds events from outside.
    pub fn with_events(mut self, events: Events) -> Self {
        self.events = events;
        self
    }

    /// Sets the thread number. Otherwise the context is the thread.
    pub fn with_thread(mut self, thread: u64) -> Self {
        self.control.thread(thread);
        self.has_thread = true;
        self
    }

    /// Sets the source of instruction bits, for executions without them: their lengths must be known.
    pub fn with_code(mut self, code: impl FnMut(u64) -> Option<u32> + Send + 'static) -> Self {
        self.code = Some(Box::new(code));
        self
    }

    /// Returns this with another sink to hand on to, and the one before. What was decided stays.
    pub fn with_inner<T>(self, inner: T) -> (Controlled<T>, S) {
        let Self { inner: before, control, events, told, code, is_telling, cycle, has_thread, isa, left_out } =
            self;
        (
            Controlled { inner, control, events, told, code, is_telling, cycle, has_thread, isa, left_out },
            before,
        )
    }

    /// Returns the control with its state.
    pub const fn control(&self) -> &Control {
        &self.control
    }

    /// Returns the events that are still to come.
    pub const fn events(&self) -> &Events {
        &self.events
    }

    /// Returns the number of instructions that were left out though they may qualify: only a part of their block does
    /// and its start is not known, or it ends in a T32 branch in an IT block that does not qualify as a whole.
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Ends a qualifying stretch.
    fn off(&mut self) {
        if std::mem::take(&mut self.is_telling) {
            self.inner.lost();
        }
    }

    /// Returns the cycle of an instruction of the current block.
    #[inline]
    fn cycle_of(&self, index: u32, number: u64) -> u64 {
        match self.told.cycles.get(index as usize) {
            Some(&cycle) => cycle,
            None => self.cycle.unwrap_or(number + 1),
        }
    }

    /// Decides which parts of the block qualify, and passes them on.
    #[inline(never)]
    fn parts(&mut self, block: &Block) {
        let last = self.control.seen() + u64::from(block.count) - 1;
        let last_cycle = self.cycle_of(block.count - 1, last);
        let (mut index, mut pc, mut last_len) = (0, block.start, 0);
        // Index and address of the first instruction to pass on.
        let mut run: Option<(u32, u64)> = None;
        while index < block.count {
            let number = self.control.seen();
            let cycle = self.cycle_of(index, number);
            if self.events.is_due(number, cycle) {
                self.control.events(self.events.take(number, cycle));
            }
            self.control.cycle(cycle);
            let Verdict { qualifies, window } = self.control.decide(pc);
            if !qualifies {
                if let Some((first, start)) = run.take() {
                    self.hand_on(block, Part { first, start, behind: index, end: pc, last_len });
                }
                self.off();
            } else if run.is_none() {
                run = Some((index, pc));
            }
            let is_rest = window.holds(pc, number, cycle)
                && pc <= block.last()
                && window.holds(block.last(), last, last_cycle)
                && !self.events.is_due(last, last_cycle);
            let from = index;
            if is_rest {
                (index, pc, last_len) = (block.count, block.end, block.last_len);
            }
            while index < block.count {
                let Some(len) = self.told.len(block, index, pc, &mut self.code) else { break };
                (index, pc, last_len) = (index + 1, behind(block.isa, pc, len), len);
                let number = number + u64::from(index - from);
                let cycle = self.cycle_of(index, number);
                if index < block.count
                    && (!window.holds(pc, number, cycle) || self.events.is_due(number, cycle))
                {
                    break;
                }
            }
            if index == from {
                // The address of the next instruction is not known, so neither is which of them qualify.
                let rest = block.count - index;
                self.left_out += u64::from(rest);
                if let Some((first, start)) = run.take().filter(|(first, _)| *first < index) {
                    self.hand_on(block, Part { first, start, behind: index, end: pc, last_len });
                }
                self.off();
                self.control.advance(rest, false);
                return;
            }
            self.control.advance(index - from, qualifies);
        }
        match run {
            Some((0, _)) => self.hand_on_all(block),
            Some((first, start)) if self.told.lacks_it(block, first) => {
                let behind = index - 1;
                self.left_out += 1;
                if first < behind {
                    let last_len = self.told.len(block, behind - 1, 0, &mut self.code).unwrap_or(2);
                    self.hand_on(block, Part { first, start, behind, end: block.last(), last_len });
                }
                self.off();
            }
            Some((first, start)) => {
                self.hand_on(block, Part { first, start, behind: index, end: block.end, last_len });
            }
            None => {}
        }
    }

    #[inline]
    fn hand_on_all(&mut self, block: &Block) {
        self.told.all(block, &mut self.inner);
        self.is_telling = true;
    }

    fn hand_on(&mut self, block: &Block, part: Part) {
        self.told.part(block, part, &mut self.inner);
        self.is_telling = true;
    }

    /// Decides what follows the block.
    #[inline]
    fn leave(&mut self, block: &Block) {
        if let Some(&cycle) = self.told.cycles.last() {
            self.cycle = Some(cycle);
        }
        self.told.clear();
        if block.class.role == Role::ExceptionReturn && block.ended == Ended::Taken {
            self.control.handled_back();
        }
        self.isa = block.isa;
    }

    /// Returns whether a system call continues neither after its instruction nor with it again: it returns from a signal handler.
    fn is_sigreturn(&self, trap: &Trap) -> bool {
        let behind = if self.isa.is_arm() { trap.pc } else { trap.pc.wrapping_add(4) };
        trap.served
            && !trap.interrupt
            && trap.next != behind
            && trap.next != trap.pc
            && self.control.handler().is_some_and(|handler| handler.interrupt)
    }
}

impl<S: HartSink> HartSink for Controlled<S> {
    const ACCESSES: bool = S::ACCESSES;
    const DATA: bool = S::DATA;
    const INSTRUCTIONS: bool = true;
    const CYCLES: bool = true;

    #[inline]
    fn block(&mut self, block: &Block) {
        if block.count == 0 {
            return self.told.clear();
        }
        if self.control.asks_block() {
            let iretire = (block.end.wrapping_sub(block.start) / 2) as u32;
            self.control.block(IType::of(block) as u8, iretire, u8::from(block.last_len > 2));
        }
        let number = self.control.seen() + u64::from(block.count) - 1;
        let cycle = self.cycle_of(block.count - 1, number);
        let known = self.control.known(block.start, block.last(), block.count, cycle);
        match known.filter(|_| !self.events.is_due(number, cycle)) {
            Some(qualifies) => {
                self.control.advance(block.count, qualifies);
                if qualifies {
                    self.hand_on_all(block);
                }
            }
            None => self.parts(block),
        }
        self.leave(block);
    }

    fn access(&mut self, access: &Access) {
        if self.told.accesses.len() < MOST {
            self.told.accesses.push(*access);
        }
    }

    fn data(&mut self, pc: u64, access: &DataAccess) {
        if self.told.data.len() < MOST {
            self.told.data.push((pc, *access));
        }
    }

    #[inline]
    fn instructions(&mut self, bits: &[u32]) {
        if self.told.bits.len() < MOST {
            self.told.bits.extend_from_slice(bits);
        }
    }

    fn cycles(&mut self, cycles: &[u64]) {
        self.told.cycles.extend_from_slice(cycles);
    }

    fn trap(&mut self, trap: &Trap) {
        self.told.clear();
        let is_sigreturn = self.is_sigreturn(trap);
        let handler = Handler { cause: trap.cause, tval: trap.value, interrupt: trap.interrupt };
        if self.control.trap(trap.pc, handler, trap.served) {
            self.inner.trap(trap);
            self.is_telling = true;
        } else {
            self.off();
        }
        if is_sigreturn {
            self.control.handled_back();
        }
    }

    fn checkpoint(&mut self) {
        self.inner.checkpoint();
    }

    fn lost(&mut self) {
        self.told.clear();
        self.control.lost();
        self.off();
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.control.privilege(privilege as u8);
        self.inner.privilege(privilege);
    }

    fn context(&mut self, context: u64) {
        self.control.context(context);
        if !self.has_thread {
            self.control.thread(context);
        }
        self.inner.context(context);
    }
}
