use tracewright_core::{Block, Context, Element, Ended, Exception, GapReason, Isa, Security, TraceOn};

use super::Program;
use super::build::VECTORS;
use super::op::Op;
use crate::Rng;

/// Frequency of events besides branches: the average number of blocks between them; 0 is never.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happenings {
    /// Interrupts, faults and similar.
    pub exceptions: u32,
    /// Cycle counts.
    pub cycles: u32,
    /// Smallest cycle count.
    pub cycle_threshold: u32,
    /// Timestamps.
    pub timestamps: u32,
    /// Set if each timestamp refers to an earlier point, where a marker is.
    pub markers: bool,
    /// Trace events.
    pub events: u32,
    /// Tracing stops, and resumes later.
    pub gaps: u32,
    /// The trace unit overflows; tracing resumes later.
    pub overflows: u32,
    /// Number of context switches after which the virtual machine changes too.
    pub machines: u32,
    /// Security state.
    pub security: Security,
}

impl Default for Happenings {
    fn default() -> Self {
        Self {
            exceptions: 200,
            cycles: 0,
            cycle_threshold: 4,
            timestamps: 0,
            markers: false,
            events: 0,
            gaps: 0,
            overflows: 0,
            machines: 4,
            security: Security::NonSecure,
        }
    }
}

/// Executor of a program; see the [module](super).
#[derive(Clone, Debug)]
pub struct Executor<'a> {
    program: &'a Program,
    rng: Rng,
    happenings: Happenings,
    at: u32,
    context: Context,
    calls: Vec<u32>,
    /// For each exception its return address, the level there, and the number of calls.
    exceptions: Vec<(u32, u8, usize)>,
    /// Set if the last event was a taken branch or an exception.
    arrived: bool,
    time: u64,
    marked: bool,
    /// Number of blocks until tracing resumes; 0 if it is on.
    off: u32,
    overflown: bool,
    begun: bool,
}

/// Depth from which optional calls are not made.
const DEEP: usize = 40;
/// Depth from which there are no exceptions but SVC.
const NESTED: usize = 3;

impl<'a> Executor<'a> {
    /// Creates an executor of `program`.
    pub fn new(program: &'a Program, rng: Rng, happenings: Happenings) -> Self {
        let context = Context {
            level: 0,
            security: happenings.security,
            is_64bit: true,
            vmid: Some(3),
            context_id: Some(0x1000),
        };
        Self {
            program,
            rng,
            happenings,
            at: 0,
            context,
            calls: Vec::new(),
            exceptions: Vec::new(),
            arrived: false,
            time: 0x1000,
            marked: false,
            off: 0,
            overflown: false,
            begun: false,
        }
    }

    /// Runs at least `instructions` instructions, and on to the next branch or the end of a gap in the trace. What is
    /// executed while tracing is off counts too.
    pub fn run(&mut self, instructions: u64, mut sink: impl FnMut(&Element)) {
        if !self.begun {
            self.begun = true;
            self.trace_on(&mut sink);
        }
        let mut executed = 0;
        let mut at_branch = false;
        while executed < instructions || !at_branch || self.off != 0 {
            let (count, branch) = self.step(&mut sink);
            executed += u64::from(count);
            at_branch = branch;
        }
    }

    /// Returns all elements of a run, including [`Element::End`].
    pub fn elements(mut self, instructions: u64) -> Vec<Element> {
        let mut elements = Vec::new();
        self.run(instructions, |element| elements.push(*element));
        elements.push(Element::End);
        elements
    }

    fn trace_on(&mut self, sink: &mut impl FnMut(&Element)) {
        sink(&Element::TraceOn(if self.overflown { TraceOn::Overflow } else { TraceOn::Normal }));
        self.overflown = false;
        self.marked = false;
        sink(&Element::Context(self.context, Isa::A64));
        self.arrived = false;
    }

    /// Runs one block. Returns the number of instructions, and whether it ended with a branch.
    #[inline]
    fn step(&mut self, sink: &mut impl FnMut(&Element)) -> (u32, bool) {
        let lots = self.rng.next_u64();
        let on = self.off == 0;
        let mut say = |element: Element| {
            if on {
                sink(&element);
            }
        };
        let start = self.at;
        let last = self.program.ends[start as usize];
        let count = last - start + 1;
        if self.exceptions.len() < NESTED && lot(lots >> 8, self.happenings.exceptions) {
            let ran = self.rng.below(u64::from(count)) as u32;
            self.interrupt(start, ran, &mut say);
            return (ran, false);
        }

        let op = self.program.ops[last as usize];
        let (next, ended) = self.follow(op, last, lots);
        say(Element::Block(self.block(start, last, op, ended)));
        self.at = next;
        self.arrived = ended == Ended::Taken;
        let mut branch = false;
        match op {
            Op::Svc => self.exception(2, 0, last + 1, false, &mut say),
            Op::Eret => {
                say(Element::ExceptionReturn);
                let (_, level, calls) = self.exceptions.pop().unwrap_or_default();
                self.calls.truncate(calls);
                self.change(Context { level, ..self.context }, &mut say);
            }
            Op::Isb if self.context.level == 1 && lots >> 60 == 0 => {
                let mut context = self.context;
                context.context_id = Some(0x1000 + self.rng.below(6) as u32);
                if lot(lots >> 8, self.happenings.machines) {
                    context.vmid = Some(self.rng.below(4) as u32);
                }
                self.change(context, &mut say);
            }
            Op::Wait | Op::Plain => {}
            _ => {
                branch = true;
                self.besides(&mut say);
            }
        }
        self.switch_trace(branch, sink);
        (count, branch && on)
    }

    /// Returns where execution continues after instruction `last`.
    #[inline]
    fn follow(&mut self, op: Op, last: u32, lots: u64) -> (u32, Ended) {
        let next = last + 1;
        let choose = |first: u32, len: u32| {
            // The first is the likeliest.
            let choice = if lots & 0x30 == 0 { (lots >> 40) as u32 % len } else { 0 };
            self.program.choices[(first + choice) as usize]
        };
        match op {
            Op::Conditional { target, bias, guard } => {
                let deep = guard && self.calls.len() > DEEP;
                if deep || (lots as u8) < bias { (target, Ended::Taken) } else { (next, Ended::NotTaken) }
            }
            Op::Jump { target } => (target, Ended::Taken),
            Op::Call { target } => {
                self.calls.push(next);
                (target, Ended::Taken)
            }
            Op::IndirectJump { first, len } => (choose(first, len), Ended::Taken),
            Op::IndirectCall { first, len } => {
                let target = choose(first, len);
                self.calls.push(next);
                (target, Ended::Taken)
            }
            Op::Return => {
                // Sometimes to the caller's caller, as after a longjmp.
                let floor = self.exceptions.last().map_or(0, |&(_, _, calls)| calls);
                if lots >> 58 == 0 && self.calls.len() > floor + 1 {
                    self.calls.pop();
                }
                (self.calls.pop().unwrap_or(0), Ended::Taken)
            }
            Op::Isb | Op::Wait => (next, Ended::Through),
            Op::Svc | Op::Plain => (next, Ended::Cut),
            Op::Eret => (self.exceptions.last().map_or(0, |&(back, ..)| back), Ended::Taken),
        }
    }

    fn block(&self, start: u32, last: u32, op: Op, ended: Ended) -> Block {
        let (address, count) = (self.program.address(start), last - start + 1);
        let end = address + 4 * u64::from(count);
        Block { start: address, end, count, isa: Isa::A64, last_len: 4, class: op.class(), ended }
    }

    /// Takes an exception after `ran` instructions, before the next.
    fn interrupt(&mut self, start: u32, ran: u32, say: &mut impl FnMut(Element)) {
        if ran > 0 {
            say(Element::Block(self.block(start, start + ran - 1, Op::Plain, Ended::Cut)));
        }
        let at_target = ran == 0 && self.arrived;
        // IRQ, FIQ, System Error; Trap, Alignment, Inst Fault, Data Fault.
        let (number, vector) =
            *self.rng.pick(&[(0xe, 1), (0xe, 1), (0xf, 1), (0x4, 1), (0x3, 0), (0xa, 0), (0xb, 0), (0xc, 0)]);
        self.exception(number, vector, start + ran, at_target, say);
    }

    /// Takes an exception. `vector` is 0 for synchronous ones, 1 for interrupts.
    fn exception(
        &mut self,
        number: u16,
        vector: usize,
        back: u32,
        at_target: bool,
        say: &mut impl FnMut(Element),
    ) {
        let return_address = Some(self.program.address(back));
        let exception = Exception { number, interrupt: false, value: None, return_address, at_target };
        say(Element::Exception(exception));
        self.exceptions.push((back, self.context.level, self.calls.len()));
        let lower = if self.context.level == 0 { 2 } else { 0 };
        self.at = self.program.kernel + VECTORS[vector + lower];
        self.change(Context { level: 1, ..self.context }, say);
        self.arrived = true;
    }

    fn change(&mut self, context: Context, say: &mut impl FnMut(Element)) {
        if context != self.context {
            self.context = context;
            say(Element::Context(context, Isa::A64));
        }
    }

    /// Emits what trace units report besides the flow.
    fn besides(&mut self, say: &mut impl FnMut(Element)) {
        let Happenings { cycles, cycle_threshold, timestamps, markers, events, .. } = self.happenings;
        if cycles == 0 && timestamps == 0 && events == 0 {
            return;
        }
        let lots = self.rng.next_u64();
        if lot(lots, cycles) {
            let above = if lots >> 60 == 0 { self.rng.sized(16) } else { lots >> 50 & 0x1f };
            say(Element::Cycles((lots >> 55 != 0).then_some(cycle_threshold + above as u32)));
        }
        if markers && !self.marked && lot(lots >> 16, timestamps) {
            self.marked = true;
            say(Element::TimestampMarker);
        } else if lot(lots >> 16, timestamps) {
            self.marked = false;
            self.time += self.rng.sized(24);
            let cycles = (lots >> 63 == 1).then(|| self.rng.sized(12) as u32);
            say(Element::Timestamp { value: self.time, cycles });
        }
        if lot(lots >> 32, events) {
            say(Element::Event(1 + (lots >> 48) as u8 % 15));
        }
    }

    /// Switches tracing: it stops after branches and resumes anywhere.
    fn switch_trace(&mut self, branch: bool, sink: &mut impl FnMut(&Element)) {
        let Happenings { gaps, overflows, .. } = self.happenings;
        if self.off > 0 {
            self.off -= 1;
            if self.off == 0 {
                self.trace_on(sink);
            }
        } else if branch && gaps + overflows > 0 {
            let lots = self.rng.next_u64();
            self.overflown = lot(lots, overflows);
            if self.overflown {
                sink(&Element::Lost(GapReason::Overflow));
            }
            if self.overflown || lot(lots >> 16, gaps) {
                self.off = 1 + (lots >> 32) as u32 % 20;
            }
        }
    }
}

/// Returns true once in `in_so_many` times, for 16 random bits.
#[inline]
fn lot(bits: u64, in_so_many: u32) -> bool {
    in_so_many != 0 && (bits & 0xffff) * u64::from(in_so_many) < 1 << 16
}
