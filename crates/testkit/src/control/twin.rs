use tracewright_core::control::Field;

/// What happened, one thing after another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Its address; of a trap, where it was taken.
    pub pc: u64,
    /// The privilege.
    pub privilege: u8,
    /// The context, which is the thread, too.
    pub context: u64,
    /// The cycle, as the machine counts it.
    pub cycle: u64,
    /// E-Trace's type of the block that it is in, half-words, and the size of the last instruction.
    pub block: (u8, u32, u8),
    /// What it is.
    pub what: Happening,
}

/// What a step is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Happening {
    /// An instruction retired.
    Retired,
    /// One retired that returns from a handler.
    Returned,
    /// Something ran that is not known.
    Lost,
    /// A trap.
    Trap {
        /// Its number.
        cause: u64,
        /// Its value.
        tval: u64,
        /// Whether it is an interrupt.
        interrupt: bool,
        /// Whether no handler runs.
        served: bool,
    },
}

/// An expression as a tree.
#[derive(Clone, Debug)]
pub enum Tree {
    /// The field is in one of these ranges, both ends among them.
    Test(Field, Vec<(u64, u64)>),
    /// This event happened just before.
    Event(u8),
    /// It is not so.
    Not(Box<Tree>),
    /// Both.
    And(Box<Tree>, Box<Tree>),
    /// One of them, or both.
    Or(Box<Tree>, Box<Tree>),
}

/// How long.
#[derive(Clone, Copy, Debug)]
pub enum Period {
    /// So many instructions.
    Instructions(u64),
    /// So many cycles.
    Cycles(u64),
}

/// What is asked for, and the text that says so.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The text.
    pub text: String,
    /// What has to be so.
    pub when: Option<Tree>,
    /// What starts tracing.
    pub start: Option<Tree>,
    /// What stops it.
    pub stop: Option<Tree>,
    /// How long it stays on.
    pub period: Option<Period>,
    /// Events by instruction: which, and before which.
    pub events: Vec<(u8, u64)>,
    /// Events by cycle.
    pub cycle_events: Vec<(u8, u64)>,
}

/// What an instruction, or a trap, is like.
struct Sample<'a> {
    step: &'a Step,
    number: u64,
    block: (u8, u32, u8),
    handlers: &'a [(u64, u64, bool)],
    events: &'a [u8],
}

/// Whether each step qualifies.
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
            // So many are known.
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
