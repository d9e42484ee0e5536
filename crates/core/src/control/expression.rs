use super::{Comparator, Field};

/// Maximum number of operations in an expression.
pub(super) const MOST: usize = 64;

/// A combination of tests, as operations in reverse Polish notation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    operations: [Operation; MOST],
    len: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// Tests a field of the instruction. For [`Field::Event`], the comparator matches the number of the event.
    Test(Field, Comparator),
    Not,
    And,
    Or,
}

/// The range of instructions for which a decision holds. All ends are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First and last address.
    pub pc: (u64, u64),
    /// Last instruction number.
    pub number: u64,
    /// Last cycle.
    pub cycle: u64,
}

/// The field values of an instruction. Outside handlers, the cause and trap value are `None`.
pub(super) type Sample = [Option<u64>; Field::COUNT];

impl Window {
    /// The unlimited window.
    pub const ALL: Self = Self { pc: (0, u64::MAX), number: u64::MAX, cycle: u64::MAX };

    /// Returns whether an instruction is inside the window.
    #[inline]
    pub const fn holds(&self, pc: u64, number: u64, cycle: u64) -> bool {
        self.pc.0 <= pc && pc <= self.pc.1 && number <= self.number && cycle <= self.cycle
    }

    /// Narrows the window to where a test of `field` has the same result.
    #[inline]
    fn narrow(&mut self, field: Field, value: u64, comparator: Comparator) {
        let (least, most) = comparator.bounds();
        let (from, to) = if value < least {
            (0, least - 1)
        } else if value > most {
            (most + 1, u64::MAX)
        } else {
            (least, most)
        };
        match field {
            Field::Pc => self.pc = (self.pc.0.max(from), self.pc.1.min(to)),
            Field::Number => self.number = self.number.min(to),
            Field::Cycle => self.cycle = self.cycle.min(to),
            _ => {}
        }
    }
}

impl Default for Expression {
    fn default() -> Self {
        Self { operations: [Operation::Not; MOST], len: 0 }
    }
}

impl Expression {
    /// Returns whether the expression has no test.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns whether the expression tests `field`.
    pub fn asks(&self, field: Field) -> bool {
        self.asks_any(|asked| asked == field)
    }

    pub(super) fn asks_any(&self, is_one: impl Fn(Field) -> bool) -> bool {
        self.operations()
            .iter()
            .any(|operation| matches!(operation, Operation::Test(field, _) if is_one(*field)))
    }

    pub(super) fn operations(&self) -> &[Operation] {
        &self.operations[..self.len]
    }

    /// Returns whether there was room.
    pub(super) fn push(&mut self, operation: Operation) -> bool {
        match self.operations.get_mut(self.len) {
            Some(slot) => {
                *slot = operation;
                self.len += 1;
                true
            }
            None => false,
        }
    }

    /// Adds `other` as an alternative. Returns whether there was room.
    pub(super) fn or(&mut self, other: &Self) -> bool {
        let is_first = self.is_empty();
        other.operations().iter().all(|operation| self.push(*operation))
            && (is_first || self.push(Operation::Or))
    }

    /// Returns whether the expression is true for an instruction, and narrows `window` to where that holds. An empty
    /// expression is always true.
    #[inline]
    pub(super) fn holds(&self, sample: &Sample, window: &mut Window) -> bool {
        if self.is_empty() {
            return true;
        }
        // Each value on the stack is a bit. An expression never has more values than there are bits.
        let mut stack = 0_u64;
        for operation in self.operations() {
            match *operation {
                Operation::Test(field, comparator) => {
                    let is_so = sample[field as usize].is_some_and(|value| match (field, comparator) {
                        (Field::Event, Comparator::Match(number)) => value >> number & 1 != 0,
                        _ => {
                            window.narrow(field, value, comparator);
                            comparator.agrees(value)
                        }
                    });
                    stack = stack << 1 | u64::from(is_so);
                }
                Operation::Not => stack ^= 1,
                Operation::And => stack = stack >> 1 & (stack | !1),
                Operation::Or => stack = stack >> 1 | stack & 1,
            }
        }
        stack & 1 != 0
    }
}
