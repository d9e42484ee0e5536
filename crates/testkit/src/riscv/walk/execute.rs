//! Runs programs.

use tracewright_core::{Block, Class, Ended, Flow, Role};

use super::{Event, Kind, Program, Trap};
use crate::Rng;

/// Frequency of events besides branches: the average number of instructions between them; 0 is never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Happenings {
    /// Interrupts.
    pub interrupts: u64,
    /// Faults.
    pub faults: u64,
    /// Number of returns after which one goes where no call was made.
    pub wrong_returns: u64,
    /// The context changes where a block begins, and execution continues there.
    pub contexts: u64,
    /// Another thread runs, with a context of its own.
    pub switches: u64,
    /// Set if each privilege has one trap handler ([`Program::handler`]), to which all traps go. Otherwise traps go to
    /// any handler, or are served untraced.
    pub has_vectors: bool,
}

impl Default for Happenings {
    fn default() -> Self {
        Self { interrupts: 300, faults: 300, wrong_returns: 40, contexts: 0, switches: 0, has_vectors: false }
    }
}

/// Executor of a program; see the [module](super).
#[derive(Clone, Debug)]
pub struct Walk<'p> {
    program: &'p Program,
    rng: Rng,
    happenings: Happenings,
    thread: Thread,
    /// Another thread, which does not run now.
    other: Option<Thread>,
    /// First instruction of the current block. The number that has retired follows.
    start: usize,
    count: u32,
    begun: bool,
}

#[derive(Clone, Debug)]
struct Thread {
    context: u32,
    at: usize,
    privilege: u8,
    calls: Vec<usize>,
    /// Return addresses of traps, the privilege there, and the number of calls.
    traps: Vec<(usize, u8, usize)>,
}

/// Depth from which optional calls are not made.
const DEEP: usize = 30;
/// Depth from which there are no optional traps.
const NESTED: usize = 3;

impl<'p> Walk<'p> {
    /// Creates an executor of `program`.
    pub fn new(program: &'p Program, rng: Rng) -> Self {
        let privilege = 0;
        let thread =
            Thread { context: 1, at: program.functions[0], privilege, calls: Vec::new(), traps: Vec::new() };
        let happenings = Happenings::default();
        Self { program, rng, happenings, start: thread.at, thread, other: None, count: 0, begun: false }
    }

    /// Sets the frequency of events.
    #[must_use]
    pub fn with(self, happenings: Happenings) -> Self {
        Self { happenings, ..self }
    }

    /// Runs about `instructions` instructions. What retired of an incomplete block is reported as cut.
    pub fn run(&mut self, instructions: u64, sink: &mut impl FnMut(&Event)) {
        if !self.begun {
            self.begun = true;
            sink(&Event::Privilege(self.thread.privilege));
            sink(&Event::Context { id: self.thread.context, elsewhere: false });
        }
        for _ in 0..instructions {
            self.happen(sink);
            self.step(sink);
        }
        self.cut(sink);
    }

    fn chance(&mut self, once_in: u64) -> bool {
        once_in != 0 && self.rng.one_in(once_in)
    }

    /// Decides what happens before the next instruction.
    fn happen(&mut self, sink: &mut impl FnMut(&Event)) {
        // Between blocks or within.
        if self.count == 0 && self.chance(self.happenings.contexts) {
            // Threads differ in their contexts: odd and even ones.
            self.thread.context = 2 - self.thread.context % 2 + self.rng.below(5) as u32 * 2;
            sink(&Event::Context { id: self.thread.context, elsewhere: false });
        }
        if self.chance(self.happenings.switches) {
            self.switch(sink);
        }
        while self.thread.traps.len() < NESTED {
            // At the first instruction of a handler, another trap is more likely.
            let in_handler = self.program.handlers.contains(&self.thread.at);
            let once_in = if in_handler { 8 } else { self.happenings.interrupts };
            if self.happenings.interrupts == 0 || !self.chance(once_in) {
                break;
            }
            let cause = *self.rng.pick(&[1, 3, 5, 7, 9, 11]);
            self.trap(cause, true, 0, sink);
        }
    }

    fn step(&mut self, sink: &mut impl FnMut(&Event)) {
        let at = self.thread.at;
        let op = self.program.ops[at];
        match op.kind {
            Kind::Ecall => {
                let cause = 8 + u64::from(self.thread.privilege);
                return self.trap_at_call(cause, 0, sink);
            }
            Kind::Ebreak => return self.trap_at_call(3, self.program.addresses[at], sink),
            Kind::Plain if self.thread.traps.len() < NESTED && self.chance(self.happenings.faults) => {
                let cause = *self.rng.pick(&[1, 2, 4, 5, 6, 7, 12, 13, 15]);
                let value =
                    self.rng.sized(if self.program.isa == tracewright_core::Isa::Rv32 { 32 } else { 64 });
                return self.trap(cause, false, value, sink);
            }
            _ => {}
        }
        self.count += 1;
        if matches!(op.kind, Kind::Plain | Kind::PairFirst { .. }) {
            self.thread.at += 1;
            return;
        }
        let is_second = self.count > 1;
        let (class, taken, to) = self.branch(at, is_second);
        let ended = if taken { Ended::Taken } else { Ended::NotTaken };
        self.tell(at, class, ended, sink);
        self.thread.at = to;
        if let Kind::TrapReturn { .. } = op.kind
            && let Some((_, privilege, _)) = self.thread.traps.pop()
        {
            self.set_privilege(privilege, sink);
        }
        (self.start, self.count) = (to, 0);
    }

    /// Returns the class of the branch at `at`, whether it is taken, and its target. `follows` means that an
    /// instruction of the block came before it.
    fn branch(&mut self, at: usize, follows: bool) -> (Class, bool, usize) {
        let is_deep = self.thread.calls.len() >= DEEP;
        let (flow, role, to) = match self.program.ops[at].kind {
            Kind::Branch { to, guards } => {
                let taken = if guards && is_deep { true } else { self.rng.one_in(2) };
                let class = Class { flow: Flow::Direct, role: Role::Jump, conditional: true };
                return (class, taken, if taken { to } else { at + 1 });
            }
            Kind::Jump { to } => (Flow::Direct, Role::Jump, to),
            Kind::Call { to } => (Flow::Direct, Role::Call, to),
            Kind::PairSecond { to, link } => {
                let (flow, to) = if follows { (Flow::Pair, to) } else { (Flow::Indirect, self.function(at)) };
                (flow, if link == 1 { Role::Call } else { Role::Jump }, to)
            }
            Kind::JumpTable { first, last } => {
                // Eventually forward.
                let to = if self.rng.one_in(2) {
                    last
                } else {
                    first + self.rng.below((last - first + 1) as u64) as usize
                };
                (Flow::Indirect, Role::Jump, to)
            }
            Kind::CallRegister => (Flow::Indirect, Role::Call, self.function(at)),
            Kind::Return => (Flow::Indirect, Role::Return, self.return_to()),
            Kind::Swap => (Flow::Indirect, Role::Swap, self.return_to()),
            Kind::TrapReturn { .. } => {
                let back = self.thread.traps.last().copied();
                let to = back.map_or(self.program.functions[0], |(to, ..)| to);
                if let Some((.., calls)) = back {
                    self.thread.calls.truncate(calls);
                }
                (Flow::Indirect, Role::ExceptionReturn, to)
            }
            Kind::Plain | Kind::PairFirst { .. } | Kind::Ecall | Kind::Ebreak => {
                return (Class::NEXT, false, at + 1);
            }
        };
        if matches!(role, Role::Call | Role::Swap) {
            self.thread.calls.push(at + 1);
        }
        (Class { flow, role, conditional: false }, true, to)
    }

    /// Returns some function; if calls are deep, or in a handler, the one that calls nothing.
    fn function(&mut self, at: usize) -> usize {
        let functions = &self.program.functions;
        let leaf = functions[functions.len() - 1];
        let is_handler = self.program.handlers.first().is_some_and(|&first| at >= first);
        if is_handler || self.thread.calls.len() >= DEEP || self.rng.one_in(2) {
            return leaf;
        }
        *self.rng.pick(functions)
    }

    fn return_to(&mut self) -> usize {
        let base = self.thread.traps.last().map_or(0, |&(.., calls)| calls);
        let is_wrong = self.chance(self.happenings.wrong_returns);
        if self.thread.calls.len() <= base {
            return match self.thread.traps.last() {
                // A handler that lost its way ends.
                Some(_) => self.trap_return(),
                None => self.program.functions[0],
            };
        }
        if is_wrong && self.thread.calls.len() > base + 1 {
            // Over several calls at once, as in longjmp.
            let keep = base + 1 + self.rng.below((self.thread.calls.len() - base) as u64 - 1) as usize;
            self.thread.calls.truncate(keep);
        }
        self.thread.calls.pop().unwrap_or(self.program.functions[0])
    }

    /// Returns the end of some handler.
    fn trap_return(&self) -> usize {
        let is_return = |op: &super::Op| matches!(op.kind, Kind::TrapReturn { .. });
        self.program.ops.iter().position(is_return).unwrap_or(0)
    }

    /// Takes the trap that the current instruction raises.
    fn trap_at_call(&mut self, cause: u64, value: u64, sink: &mut impl FnMut(&Event)) {
        let at = self.thread.at;
        if self.thread.privilege == 0 && !self.happenings.has_vectors && self.rng.one_in(3) {
            // It is served untraced.
            self.cut(sink);
            let next = self.program.addresses[at + 1];
            let pc = self.program.addresses[at];
            sink(&Event::Trap(Trap { pc, cause, interrupt: false, value, next }));
            self.thread.at = at + 1;
            self.start = at + 1;
            return;
        }
        self.trap(cause, false, value, sink);
        if let Some(trap) = self.thread.traps.last_mut() {
            trap.0 = at + 1;
        }
    }

    fn trap(&mut self, cause: u64, interrupt: bool, value: u64, sink: &mut impl FnMut(&Event)) {
        self.cut(sink);
        let at = self.thread.at;
        let privilege = self.thread.privilege;
        let to = if privilege <= 1 && self.rng.one_in(2) { 1 } else { 3 };
        let handler = if self.happenings.has_vectors {
            self.program.handler_of(to)
        } else {
            *self.rng.pick(&self.program.handlers)
        };
        let (pc, next) = (self.program.addresses[at], self.program.addresses[handler]);
        sink(&Event::Trap(Trap { pc, cause, interrupt, value, next }));
        self.thread.traps.push((at, privilege, self.thread.calls.len()));
        self.set_privilege(to, sink);
        self.thread.at = handler;
        self.start = handler;
    }

    fn set_privilege(&mut self, privilege: u8, sink: &mut impl FnMut(&Event)) {
        if self.thread.privilege != privilege {
            self.thread.privilege = privilege;
            sink(&Event::Privilege(privilege));
        }
    }

    fn switch(&mut self, sink: &mut impl FnMut(&Event)) {
        self.cut(sink);
        let program = self.program;
        let other = self.other.take().unwrap_or_else(|| Thread {
            context: 2,
            at: program.functions[program.functions.len() / 2],
            privilege: 0,
            calls: Vec::new(),
            traps: Vec::new(),
        });
        let before = std::mem::replace(&mut self.thread, other);
        if before.privilege != self.thread.privilege {
            sink(&Event::Privilege(self.thread.privilege));
        }
        sink(&Event::Context { id: self.thread.context, elsewhere: true });
        self.other = Some(before);
        self.start = self.thread.at;
    }

    /// Reports what retired of an incomplete block.
    fn cut(&mut self, sink: &mut impl FnMut(&Event)) {
        if self.count > 0 {
            self.tell(self.thread.at - 1, Class::NEXT, Ended::Cut, sink);
        }
        (self.start, self.count) = (self.thread.at, 0);
    }

    fn tell(&mut self, last: usize, class: Class, ended: Ended, sink: &mut impl FnMut(&Event)) {
        sink(&Event::Block(Block {
            start: self.program.addresses[self.start],
            end: self.program.end(last),
            count: self.count,
            isa: self.program.isa,
            last_len: self.program.ops[last].len,
            class,
            ended,
        }));
    }
}
