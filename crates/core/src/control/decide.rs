use super::expression::Sample;
use super::{Field, Period, Plan, Window};

/// A running [`Plan`]: follows execution and decides which instructions are traced.
///
/// Call these for each instruction, or for the first of a run: [`cycle`](Self::cycle) and [`events`](Self::events) if
/// there are any, then [`decide`](Self::decide), then [`advance`](Self::advance).
#[derive(Clone, Debug)]
pub struct Control {
    plan: Plan,
    sample: Sample,
    handlers: Handlers,
    /// Number of instructions that ran.
    number: u64,
    is_on: bool,
    /// Whether a period has begun, and its last instruction number and cycle.
    has_begun: bool,
    until: (u64, u64),
    /// The last verdict, if it may also hold for the next block.
    last: Option<Verdict>,
    asks_block: bool,
    starts: u64,
    qualified: u64,
}

/// The decision about an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the instruction is traced.
    pub qualifies: bool,
    /// The window in which the decision also holds for the instructions that follow.
    pub window: Window,
}

impl Control {
    /// Creates a control before the first instruction. The initial privilege is 3 (machine mode).
    pub fn new(plan: Plan) -> Self {
        let mut sample: Sample = [Some(0); Field::COUNT];
        sample[Field::Privilege as usize] = Some(3);
        let asks_block = [&plan.when, &plan.start, &plan.stop]
            .iter()
            .any(|expression| expression.asks_any(Field::is_of_block));
        let is_on = plan.start.is_empty();
        let mut control = Self {
            plan,
            sample,
            handlers: Handlers::default(),
            number: 0,
            is_on,
            has_begun: false,
            until: (u64::MAX, u64::MAX),
            last: None,
            asks_block,
            starts: 0,
            qualified: 0,
        };
        control.handled();
        control
    }

    /// Returns the plan.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns how many instructions ran.
    pub const fn seen(&self) -> u64 {
        self.number
    }

    /// Returns how many instructions qualified.
    pub const fn qualified(&self) -> u64 {
        self.qualified
    }

    /// Returns how often tracing started.
    pub const fn starts(&self) -> u64 {
        self.starts
    }

    /// Returns whether the plan needs calls of [`block`](Self::block).
    #[inline]
    pub const fn asks_block(&self) -> bool {
        self.asks_block
    }

    /// Sets the privilege from now on.
    pub fn privilege(&mut self, privilege: u8) {
        self.set(Field::Privilege, privilege.into());
    }

    /// Sets the context from now on.
    pub fn context(&mut self, context: u64) {
        self.set(Field::Context, context);
    }

    /// Sets the thread from now on.
    pub fn thread(&mut self, thread: u64) {
        self.set(Field::Thread, thread);
    }

    /// Sets the cycle in which the next instruction retires.
    #[inline]
    pub fn cycle(&mut self, cycle: u64) {
        self.sample[Field::Cycle as usize] = Some(cycle);
    }

    /// Reports events that happened just before the next instruction, a bit each.
    pub fn events(&mut self, events: u64) {
        self.set(Field::Event, events);
    }

    /// Describes the block of the next instructions in the terms of E-Trace: its type, its length in half-words, and
    /// the size of its last instruction.
    pub fn block(&mut self, itype: u8, iretire: u32, ilastsize: u8) {
        self.set(Field::Itype, itype.into());
        self.set(Field::Iretire, iretire.into());
        self.set(Field::Ilastsize, ilastsize.into());
    }

    /// Returns the decision for the next `count` instructions if the last verdict covers them. Their addresses are
    /// from `first` to `last`, and the last one retires in `cycle`.
    #[inline]
    pub fn known(&self, first: u64, last: u64, count: u32, cycle: u64) -> Option<bool> {
        let Verdict { qualifies, window } = self.last?;
        let number = (self.number + u64::from(count)).checked_sub(1)?;
        (window.holds(last, number, cycle) && window.pc.0 <= first && first <= last).then_some(qualifies)
    }

    /// Decides whether the next instruction, at `pc`, is traced.
    pub fn decide(&mut self, pc: u64) -> Verdict {
        self.sample[Field::Pc as usize] = Some(pc);
        self.sample[Field::Number as usize] = Some(self.number);
        let mut window = Window::ALL;
        if self.is_on && !self.has_begun {
            self.begin();
        }
        let (was_on, starts) = (self.is_on, self.starts);
        if self.is_on {
            if self.is_over() {
                self.is_on = false;
                self.look_for_start(&mut window);
            } else if !self.plan.stop.is_empty() && self.plan.stop.holds(&self.sample, &mut window) {
                self.is_on = false;
            }
        } else {
            self.look_for_start(&mut window);
        }
        let qualifies = self.is_on && self.plan.when.holds(&self.sample, &mut window);
        if self.is_on {
            window.number = window.number.min(self.until.0);
            window.cycle = window.cycle.min(self.until.1);
        }
        let has_event = self.sample[Field::Event as usize] != Some(0);
        if was_on != self.is_on || starts != self.starts || has_event {
            // The next instruction is subject to other tests.
            window.number = self.number;
        }
        let verdict = Verdict { qualifies, window };
        self.last = Some(verdict).filter(|_| !self.asks_block);
        if has_event {
            self.sample[Field::Event as usize] = Some(0);
        }
        verdict
    }

    /// Reports that `count` instructions ran, which all qualified or all did not.
    #[inline]
    pub fn advance(&mut self, count: u32, qualifies: bool) {
        self.number += u64::from(count);
        if qualifies {
            self.qualified += u64::from(count);
        }
    }

    /// Reports a trap at the instruction at `pc`, which has not retired. Returns whether the trap is traced.
    ///
    /// The handler runs from now on, unless the trap `is_served` at once.
    pub fn trap(&mut self, pc: u64, handler: Handler, is_served: bool) -> bool {
        self.handlers.push(handler);
        self.handled();
        self.sample[Field::Pc as usize] = Some(pc);
        self.sample[Field::Number as usize] = Some(self.number);
        self.block(if handler.interrupt { 2 } else { 1 }, 0, 0);
        let is_on = self.is_on && !self.is_over();
        let mut window = Window::ALL;
        let qualifies = is_on && self.plan.when.holds(&self.sample, &mut window);
        if is_served {
            self.handled_back();
        }
        qualifies
    }

    /// Reports that the current handler returned.
    pub fn handled_back(&mut self) {
        self.handlers.pop();
        self.handled();
    }

    /// Returns the trap whose handler runs.
    pub fn handler(&self) -> Option<Handler> {
        self.handlers.last()
    }

    /// Forgets all handlers, since unknown instructions ran and handlers may have returned.
    pub fn lost(&mut self) {
        self.handlers = Handlers::default();
        self.handled();
    }

    fn set(&mut self, field: Field, value: u64) {
        let value = Some(value);
        if self.sample[field as usize] != value {
            self.sample[field as usize] = value;
            self.last = None;
        }
    }

    /// Updates the fields that depend on the current handlers.
    fn handled(&mut self) {
        let last = self.handlers.last();
        let is = |interrupt| last.is_some_and(|last| last.interrupt == interrupt);
        for (field, value) in [
            (Field::Cause, last.map(|last| last.cause)),
            (Field::Tval, last.map(|last| last.tval)),
            (Field::Exception, Some(is(false).into())),
            (Field::Interrupt, Some(is(true).into())),
            (Field::Isr, Some(self.handlers.has_interrupt().into())),
        ] {
            self.sample[field as usize] = value;
        }
        self.last = None;
    }

    fn look_for_start(&mut self, window: &mut Window) {
        if !self.plan.start.is_empty() && self.plan.start.holds(&self.sample, window) {
            self.is_on = true;
            self.begin();
        }
    }

    /// Starts tracing with the next instruction.
    fn begin(&mut self) {
        self.has_begun = true;
        self.starts += 1;
        let cycle = self.sample[Field::Cycle as usize].unwrap_or_default();
        self.until = match self.plan.period {
            None => (u64::MAX, u64::MAX),
            Some(Period::Instructions(count)) => {
                (self.number.saturating_add(count.saturating_sub(1)), u64::MAX)
            }
            Some(Period::Cycles(count)) => (u64::MAX, cycle.saturating_add(count.saturating_sub(1))),
        };
    }

    /// Returns whether the period is over.
    fn is_over(&self) -> bool {
        let cycle = self.sample[Field::Cycle as usize].unwrap_or_default();
        self.has_begun && (self.number > self.until.0 || cycle > self.until.1)
    }
}

/// A trap whose handler runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handler {
    /// The number of the exception or interrupt.
    pub cause: u64,
    /// The trap value.
    pub tval: u64,
    /// Whether the trap is an interrupt.
    pub interrupt: bool,
}

/// Maximum depth of nested handlers. Beyond it, only the innermost are kept.
const MOST: usize = 32;

/// The nested trap handlers that run, as a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Handlers {
    /// Ring of handlers.
    all: [Handler; MOST],
    /// Index of the next handler in the ring.
    next: usize,
    count: usize,
    interrupts: usize,
}

impl Handlers {
    pub fn push(&mut self, handler: Handler) {
        if self.count == MOST {
            // The outermost handler is dropped: most likely nothing ever returns from it.
            self.interrupts -= usize::from(self.all[self.next].interrupt);
            self.count -= 1;
        }
        self.all[self.next] = handler;
        self.next = (self.next + 1) % MOST;
        self.count += 1;
        self.interrupts += usize::from(handler.interrupt);
    }

    /// Removes the innermost handler, if there is one.
    pub fn pop(&mut self) {
        if let Some(last) = self.last() {
            self.interrupts -= usize::from(last.interrupt);
            self.next = (self.next + MOST - 1) % MOST;
            self.count -= 1;
        }
    }

    /// Returns the innermost handler.
    #[inline]
    pub fn last(&self) -> Option<Handler> {
        (self.count > 0).then(|| self.all[(self.next + MOST - 1) % MOST])
    }

    /// Returns whether one of the handlers serves an interrupt.
    #[inline]
    pub const fn has_interrupt(&self) -> bool {
        self.interrupts > 0
    }
}
