use super::Field;

/// Maximum number of operations in an expression.
pub(super) const MOST: usize = 64;

/// The values that a comparator matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Comparator {
    /// Any value.
    #[default]
    Off,
    /// This value.
    Match(u64),
    /// A value in this range, both ends included.
    Range(u64, u64),
}

impl Comparator {
    /// Returns whether `value` matches.
    #[inline]
    pub const fn agrees(self, value: u64) -> bool {
        match self {
            Self::Off => true,
            Self::Match(wanted) => value == wanted,
            Self::Range(least, most) => least <= value && value <= most,
        }
    }

    /// Returns the least and the greatest value that match.
    #[inline]
    pub const fn bounds(self) -> (u64, u64) {
        match self {
            Self::Off => (0, u64::MAX),
            Self::Match(wanted) => (wanted, wanted),
            Self::Range(least, most) => (least, most),
        }
    }
}

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

    /// Returns whether the expression tests one of these fields.
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

    /// Returns whether the expression contradicts itself, looking at each field alone. An empty one does not.
    pub fn is_never(&self) -> bool {
        // For each value on the stack: where it can be true, and where its negation can.
        let mut stack = [(Hull::ALL, Hull::ALL); MOST];
        let mut len = 0;
        for operation in self.operations() {
            match *operation {
                Operation::Test(field, comparator) => {
                    stack[len] = (Hull::of(field, comparator), Hull::outside(field, comparator));
                    len += 1;
                }
                Operation::Not => {
                    let (so, not) = stack[len - 1];
                    stack[len - 1] = (not, so);
                }
                Operation::And | Operation::Or => {
                    let ((a, not_a), (b, not_b)) = (stack[len - 2], stack[len - 1]);
                    stack[len - 2] = if *operation == Operation::And {
                        (a.and(&b), not_a.or(&not_b))
                    } else {
                        (a.or(&b), not_a.and(&not_b))
                    };
                    len -= 1;
                }
            }
        }
        len == 1 && stack[0].0.is_empty
    }
}

/// The least and the greatest value of each field for which an expression can be true. If empty, it never is.
#[derive(Clone, Copy)]
struct Hull {
    fields: [(u64, u64); Field::COUNT],
    is_empty: bool,
}

impl Hull {
    const ALL: Self = Self { fields: [(0, u64::MAX); Field::COUNT], is_empty: false };
    const NONE: Self = Self { is_empty: true, ..Self::ALL };

    fn of(field: Field, comparator: Comparator) -> Self {
        let mut hull = Self::ALL;
        if field != Field::Event {
            let (least, most) = comparator.bounds();
            let most = most.min(field.most());
            hull.fields[field as usize] = (least, most);
            hull.is_empty = least > most;
        }
        hull
    }

    fn and(&self, other: &Self) -> Self {
        let mut both = *self;
        for (ours, theirs) in both.fields.iter_mut().zip(&other.fields) {
            *ours = (ours.0.max(theirs.0), ours.1.min(theirs.1));
        }
        both.is_empty =
            self.is_empty || other.is_empty || both.fields.iter().any(|(least, most)| least > most);
        both
    }

    fn or(&self, other: &Self) -> Self {
        if self.is_empty || other.is_empty {
            return if self.is_empty { *other } else { *self };
        }
        let mut either = *self;
        for (ours, theirs) in either.fields.iter_mut().zip(&other.fields) {
            *ours = (ours.0.min(theirs.0), ours.1.max(theirs.1));
        }
        either
    }

    /// Returns where `!test` can be true. A range that begins or ends with the values of the field leaves one range.
    fn outside(field: Field, comparator: Comparator) -> Self {
        let (least, most) = comparator.bounds();
        let last = field.most();
        match (field, least, most) {
            (Field::Event, ..) => Self::ALL,
            // Outside handlers, these fields have no value.
            (Field::Cause | Field::Tval, ..) => Self::ALL,
            (_, 0, most) if most >= last => Self::NONE,
            (_, 0, most) => Self::of(field, Comparator::Range(most + 1, last)),
            (_, least, most) if most >= last => Self::of(field, Comparator::Range(0, least - 1)),
            _ => Self::ALL,
        }
    }
}
