//! Detection of expressions that contradict themselves.

use super::expression::{MOST, Operation};
use super::{Comparator, Expression, Field};

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

impl Expression {
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
