use tracewright_core::control::Field;

/// One event of an execution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Address; of a trap, where it was taken.
    pub pc: u64,
    /// Privilege.
    pub privilege: u8,
    /// Context, which is also the thread.
    pub context: u64,
    /// Cycle, as the machine counts it.
    pub cycle: u64,
    /// E-Trace's type of its block, the block's half-words, and the size of the last instruction.
    pub block: (u8, u32, u8),
    /// Kind of event.
    pub what: Happening,
}

/// Kind of event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Happening {
    /// An instruction retired.
    Retired,
    /// An instruction retired that returns from a handler.
    Returned,
    /// Something unknown ran.
    Lost,
    /// A trap.
    Trap {
        /// Number.
        cause: u64,
        /// Value.
        tval: u64,
        /// Set for an interrupt.
        interrupt: bool,
        /// Set if no handler runs.
        served: bool,
    },
}

/// An expression as a tree.
#[derive(Clone, Debug)]
pub enum Tree {
    /// True if the field is in one of these ranges, ends included.
    Test(Field, Vec<(u64, u64)>),
    /// True if this event happened just before.
    Event(u8),
    /// Negation.
    Not(Box<Tree>),
    /// Conjunction.
    And(Box<Tree>, Box<Tree>),
    /// Disjunction.
    Or(Box<Tree>, Box<Tree>),
}

/// A duration.
#[derive(Clone, Copy, Debug)]
pub enum Period {
    /// Number of instructions.
    Instructions(u64),
    /// Number of cycles.
    Cycles(u64),
}

/// A request, and its text.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The text.
    pub text: String,
    /// Condition of each instruction.
    pub when: Option<Tree>,
    /// Condition that starts tracing.
    pub start: Option<Tree>,
    /// Condition that stops tracing.
    pub stop: Option<Tree>,
    /// How long tracing stays on.
    pub period: Option<Period>,
    /// Events by instruction: the event, and the instruction that it precedes.
    pub events: Vec<(u8, u64)>,
    /// Events by cycle.
    pub cycle_events: Vec<(u8, u64)>,
}

/// Properties of an instruction or a trap.
struct Sample<'a> {
    step: &'a Step,
    number: u64,
    block: (u8, u32, u8),
    handlers: &'a [(u64, u64, bool)],
    events: &'a [u8],
}

/// Returns whether each step qualifies.
pub fn qualified(asked: &Asked, steps: &[Step]) -> Vec<bool> {
    let mut handlers: Vec<(u64, u64, bool)> = Vec::new();
    let mut all = Vec::new();
    let mut number = 0;
    let mut is_on = asked.start.is_none();
    let mut began: Option<(u64, u64)> = None;
    let mut by_instruction = asked.events.clone();
    let mut by_cycle = asked.cycle_events.clone();
    let mut cycle = 0;
    let is_over = |began: Option<(u64, u64)>, number: u64, cycle: u64| match (began, asked.period) {
        (Some((first, _)), Some(Period::Instructions(count))) => number >= first.saturating_add(count),
        (Some((_, first)), Some(Period::Cycles(count))) => cycle >= first.saturating_add(count),
        _ => false,
    };
    for step in steps {
        if let Happening::Trap { cause, tval, interrupt, served } = step.what {
            handlers.push((cause, tval, interrupt));
            // Only this many are kept.
            handlers.drain(..handlers.len().saturating_sub(32));
            let block = (if interrupt { 2 } else { 1 }, 0, 0);
            // It happens in the cycle of the last instruction.
            let step = Step { cycle, ..*step };
            let sample = Sample { step: &step, number, block, handlers: &handlers, events: &[] };
            let is_on = is_on && !is_over(began, number, cycle);
            all.push(is_on && asked.when.as_ref().is_none_or(|when| when.holds(&sample)));
            if served {
                handlers.pop();
            }
            continue;
        }
        if step.what == Happening::Lost {
            handlers.clear();
            all.push(false);
            continue;
        }
        cycle = step.cycle;
        let mut events = Vec::new();
        let mut due = |all: &mut Vec<(u8, u64)>, now: u64| {
            all.retain(|(event, at)| {
                if *at <= now {
                    events.push(*event);
                }
                *at > now
            });
        };
        due(&mut by_instruction, number);
        due(&mut by_cycle, cycle);
        let sample = Sample { step, number, block: step.block, handlers: &handlers, events: &events };
        if is_on && began.is_none() {
            began = Some((number, cycle));
        }
        let starts = |began: &mut Option<(u64, u64)>| {
            let starts = asked.start.as_ref().is_some_and(|start| start.holds(&sample));
            if starts {
                *began = Some((number, cycle));
            }
            starts
        };
        is_on = if !is_on || is_over(began, number, cycle) {
            starts(&mut began)
        } else {
            !asked.stop.as_ref().is_some_and(|stop| stop.holds(&sample))
        };
        all.push(is_on && asked.when.as_ref().is_none_or(|when| when.holds(&sample)));
        number += 1;
        if step.what == Happening::Returned {
            handlers.pop();
        }
    }
    all
}

impl Tree {
    fn holds(&self, sample: &Sample<'_>) -> bool {
        match self {
            Self::Test(field, ranges) => {
                let value = sample.value(*field);
                value
                    .is_some_and(|value| ranges.iter().any(|(least, most)| (*least..=*most).contains(&value)))
            }
            Self::Event(event) => sample.events.contains(event),
            Self::Not(tree) => !tree.holds(sample),
            Self::And(a, b) => a.holds(sample) && b.holds(sample),
            Self::Or(a, b) => a.holds(sample) || b.holds(sample),
        }
    }
}

impl Sample<'_> {
    fn value(&self, field: Field) -> Option<u64> {
        let last = self.handlers.last();
        Some(match field {
            Field::Pc => self.step.pc,
            Field::Number => self.number,
            Field::Cycle => self.step.cycle,
            Field::Privilege => self.step.privilege.into(),
            Field::Context | Field::Thread => self.step.context,
            Field::Cause => last?.0,
            Field::Tval => last?.1,
            Field::Exception => last.is_some_and(|last| !last.2).into(),
            Field::Interrupt => last.is_some_and(|last| last.2).into(),
            Field::Isr => self.handlers.iter().any(|handler| handler.2).into(),
            Field::Itype => self.block.0.into(),
            Field::Iretire => self.block.1.into(),
            Field::Ilastsize => self.block.2.into(),
            Field::Event => return None,
        })
    }
}
