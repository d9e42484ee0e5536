use super::expression::Sample;
use super::handlers::Handlers;
use super::{Field, Handler, Period, Plan, Window};

/// A [`Plan`] at work: it is told what runs, and decides what is traced.
///
/// For each instruction, or the first of some: [`cycle`](Self::cycle) and [`events`](Self::events) if there are any, then
/// [`decide`](Self::decide), then [`advance`](Self::advance).
#[derive(Clone, Debug)]
pub struct Control {
    plan: Plan,
    sample: Sample,
    handlers: Handlers,
    /// How many instructions ran.
    number: u64,
    is_on: bool,
    /// The period that runs, and the last number and cycle of it.
    has_begun: bool,
    until: (u64, u64),
    /// What was decided last, if it may hold for the next block, too.
    last: Option<Verdict>,
    asks_block: bool,
    starts: u64,
    qualified: u64,
}

/// What was decided of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it is traced.
    pub qualifies: bool,
    /// It is the same for those that come next, as long as they are in here.
    pub window: Window,
}

impl Control {
    /// Nothing ran yet. The privilege is 3 (machine mode) at first.
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

    /// What is asked for.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// How many instructions ran.
    pub const fn seen(&self) -> u64 {
        self.number
    }

    /// How many of them qualified.
    pub const fn qualified(&self) -> u64 {
        self.qualified
    }

    /// How often tracing started.
    pub const fn starts(&self) -> u64 {
        self.starts
    }

    /// Whether somebody asks for what [`block`](Self::block) tells.
    #[inline]
    pub const fn asks_block(&self) -> bool {
        self.asks_block
    }

    /// From now on this is the privilege.
    pub fn privilege(&mut self, privilege: u8) {
        self.set(Field::Privilege, privilege.into());
    }

    /// From now on this is the context.
    pub fn context(&mut self, context: u64) {
        self.set(Field::Context, context);
    }

    /// From now on this is the thread.
    pub fn thread(&mut self, thread: u64) {
        self.set(Field::Thread, thread);
    }

    /// The next instruction retires in this cycle.
    #[inline]
    pub fn cycle(&mut self, cycle: u64) {
        self.sample[Field::Cycle as usize] = Some(cycle);
    }

    /// These events happened, a bit each, just before the next instruction.
    pub fn events(&mut self, events: u64) {
        self.set(Field::Event, events);
    }

    /// The next instructions are in such a block: its type, half-words, and the size of its last instruction, as E-Trace has
    /// them.
    pub fn block(&mut self, itype: u8, iretire: u32, ilastsize: u8) {
        self.set(Field::Itype, itype.into());
        self.set(Field::Iretire, iretire.into());
        self.set(Field::Ilastsize, ilastsize.into());
    }

    /// What is decided of all of the next `count` instructions at once, if that is known already: from the address `first` to
    /// `last`, the last in this cycle.
    #[inline]
    pub fn known(&self, first: u64, last: u64, count: u32, cycle: u64) -> Option<bool> {
        let Verdict { qualifies, window } = self.last?;
        let number = (self.number + u64::from(count)).checked_sub(1)?;
        (window.holds(last, number, cycle) && window.pc.0 <= first && first <= last).then_some(qualifies)
    }

    /// Decides of the next instruction, which is at this address.
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
            // Something else is looked for from the next instruction on.
            window.number = self.number;
        }
        let verdict = Verdict { qualifies, window };
        self.last = Some(verdict).filter(|_| !self.asks_block);
        if has_event {
            self.sample[Field::Event as usize] = Some(0);
        }
        verdict
    }

    /// So many instructions ran, all of which qualified or not.
    #[inline]
    pub fn advance(&mut self, count: u32, qualifies: bool) {
        self.number += u64::from(count);
        if qualifies {
            self.qualified += u64::from(count);
        }
    }

    /// A trap was taken at the instruction at `pc`, which did not retire, or did not yet. Says whether that is traced. Unless
    /// `is_served` at once, its handler runs from now on.
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

    /// The handler that runs has returned.
    pub fn handled_back(&mut self) {
        self.handlers.pop();
        self.handled();
    }

    /// The trap whose handler runs.
    pub fn handler(&self) -> Option<Handler> {
        self.handlers.last()
    }

    /// Something ran that is not known: handlers may have returned.
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

    /// Other handlers run.
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

    /// Tracing starts with the next instruction.
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

    /// Whether the period is over.
    fn is_over(&self) -> bool {
        let cycle = self.sample[Field::Cycle as usize].unwrap_or_default();
        self.has_begun && (self.number > self.until.0 || cycle > self.until.1)
    }
}
