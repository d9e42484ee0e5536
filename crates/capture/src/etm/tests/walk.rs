//! Random executions of programs, told as a machine would tell them.

use tracewright_core::{Block, Class, Ended, Flow, Isa, Role};
use tracewright_hart::{HartSink, Trap};
use tracewright_isa::{ItState, decode};
use tracewright_testkit::Rng;

use super::program::Program;

/// Something that a thread did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    Block(Block),
    /// A block of which nobody knows whether its branch was taken, and the length of the instruction before that.
    Undecided(Block, u8),
    Trap(Trap),
    Lost,
}

impl Event {
    /// Instructions that a trace can tell.
    pub fn instructions(&self) -> u64 {
        match self {
            Self::Block(block) => block.count.into(),
            Self::Undecided(block, _) => u64::from(block.count) - 1,
            Self::Trap(_) | Self::Lost => 0,
        }
    }

    pub fn tell(&self, sink: &mut impl HartSink) {
        match self {
            Self::Block(block) | Self::Undecided(block, _) => sink.block(block),
            Self::Trap(trap) => sink.trap(trap),
            Self::Lost => sink.lost(),
        }
    }
}

/// Once in so many blocks: faults, signals, gaps. 0: never.
#[derive(Clone, Copy, Debug)]
pub struct Happenings {
    pub faults: u64,
    pub signals: u64,
    pub gaps: u64,
}

const SVC: u64 = 2;
const UNDEFINED: u64 = 3;
const DATA_FAULT: u64 = 0xc;
const IRQ: u64 = 0xe;

/// What a thread did; ends anywhere.
pub fn walk(rng: &mut Rng, program: &Program, happenings: Happenings, blocks: usize) -> Vec<Event> {
    let at = program.functions[0];
    let mut walk = Walk { rng, program, at, calls: Vec::new(), events: Vec::new() };
    while walk.events.len() < blocks {
        walk.step(happenings);
    }
    walk.events
}

struct Walk<'a> {
    rng: &'a mut Rng,
    program: &'a Program,
    at: (u64, Isa),
    calls: Vec<(u64, Isa)>,
    events: Vec<Event>,
}

impl Walk<'_> {
    fn happens(&mut self, once_in: u64) -> bool {
        once_in != 0 && self.rng.one_in(once_in)
    }

    fn step(&mut self, happenings: Happenings) {
        let (start, isa) = self.at;
        let mut it = ItState::default();
        let (mut at, mut count, mut last_len) = (start, 0, 0);
        let mut len_before;
        let fault = self.happens(happenings.faults).then(|| self.rng.below(6) as u32);
        let class = loop {
            let is_in_it = it != ItState::default();
            if self.program.undefined.contains(&at) || (fault == Some(count) && !is_in_it) {
                let block =
                    Block { start, end: at, count, isa, last_len, class: Class::NEXT, ended: Ended::Cut };
                if count > 0 {
                    self.events.push(Event::Block(block));
                }
                let cause = if self.program.undefined.contains(&at) { UNDEFINED } else { DATA_FAULT };
                // The instruction is tried again, or a handler runs.
                let again = cause == DATA_FAULT && self.rng.one_in(2);
                return self.trap(at, cause, false, again.then_some((at, isa)));
            }
            let found = decode(isa, at, self.program.at(at), &mut it).unwrap();
            let is_call = self.program.calls.contains(&at);
            at += u64::from(found.len);
            (count, len_before, last_len) = (count + 1, last_len, found.len);
            if is_call {
                break None;
            }
            if found.class.ends_block() {
                break Some(found);
            }
        };
        let block = |class, ended| Block { start, end: at, count, isa, last_len, class, ended };
        let Some(found) = class else {
            self.events.push(Event::Block(block(Class::NEXT, Ended::Cut)));
            // Most calls go on behind the instruction; sigreturn does not.
            let behind = !self.rng.one_in(10);
            return self.trap(at, SVC, false, behind.then_some((at, isa)));
        };
        if found.class.is_branch() && found.class.conditional && self.happens(happenings.signals) {
            // A signal came between, and nobody knows where the branch would have gone.
            let cut = block(found.class, Ended::Cut);
            self.events.extend([Event::Undecided(cut, len_before), Event::Lost]);
            self.at = *self.rng.pick(&self.program.functions);
            return;
        }
        let (next, ended) = match found.class.flow {
            Flow::Isb | Flow::Wait => (Some((at, isa)), Ended::Through),
            _ if found.class.conditional && self.rng.one_in(2) => (Some((at, isa)), Ended::NotTaken),
            Flow::Direct => (Some((found.target, found.target_isa)), Ended::Taken),
            _ => (None, Ended::Taken),
        };
        self.events.push(Event::Block(block(found.class, ended)));
        if self.happens(happenings.signals) {
            let handler = *self.rng.pick(&self.program.functions);
            match next {
                Some((pc, _)) => return self.trap(pc, IRQ, true, Some(handler)),
                // Nobody knows where the branch would have gone.
                None => {
                    self.events.push(Event::Lost);
                    self.at = handler;
                    return;
                }
            }
        }
        let next = next.unwrap_or_else(|| match found.class.role {
            Role::Return if !self.rng.one_in(20) => self.calls.pop().unwrap_or(self.program.functions[0]),
            _ => *self.rng.pick(&self.program.functions),
        });
        if ended == Ended::Taken && found.class.role == Role::Call {
            self.calls.push((at, isa));
        }
        self.at = next;
        if self.happens(happenings.gaps) {
            self.events.push(Event::Lost);
            self.at = *self.rng.pick(&self.program.functions);
        }
    }

    fn trap(&mut self, pc: u64, cause: u64, interrupt: bool, next: Option<(u64, Isa)>) {
        self.at = next.unwrap_or_else(|| *self.rng.pick(&self.program.functions));
        let trap = Trap { pc, cause, interrupt, value: 0, next: self.at.0, served: false };
        self.events.push(Event::Trap(trap));
    }
}
