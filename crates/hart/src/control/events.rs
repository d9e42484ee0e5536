/// Time of an external event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// Before this instruction; the first is 0.
    Instruction(u64),
    /// Before the first instruction that retires in this cycle or later.
    Cycle(u64),
}

/// External events that are still to come. An event may happen several times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Events by instruction, in descending order, with their numbers. Those by cycle follow.
    by_instruction: Vec<(u64, u8)>,
    by_cycle: Vec<(u64, u8)>,
}

impl Events {
    /// Creates an empty list.
    pub const fn new() -> Self {
        Self { by_instruction: Vec::new(), by_cycle: Vec::new() }
    }

    /// Adds an occurrence of an event, 0 to 63.
    pub fn add(&mut self, event: u8, moment: Moment) {
        let (all, at) = match moment {
            Moment::Instruction(at) => (&mut self.by_instruction, at),
            Moment::Cycle(at) => (&mut self.by_cycle, at),
        };
        let place = all.partition_point(|(other, _)| *other > at);
        all.insert(place, (at, event));
    }

    /// Returns whether no event is still to come.
    pub const fn is_over(&self) -> bool {
        self.by_instruction.is_empty() && self.by_cycle.is_empty()
    }

    /// Returns whether an event happens up to this instruction in this cycle.
    #[inline]
    pub(super) fn is_due(&self, instruction: u64, cycle: u64) -> bool {
        self.by_instruction.last().is_some_and(|(at, _)| *at <= instruction)
            || self.by_cycle.last().is_some_and(|(at, _)| *at <= cycle)
    }

    /// Removes and returns the events up to this instruction, one bit each.
    pub(super) fn take(&mut self, instruction: u64, cycle: u64) -> u64 {
        let mut happened = 0;
        for (all, now) in [(&mut self.by_instruction, instruction), (&mut self.by_cycle, cycle)] {
            while let Some((_, event)) = all.pop_if(|(at, _)| *at <= now) {
                happened |= 1 << (event & 63);
            }
        }
        happened
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_happens_once_at_its_moment() {
        let mut events = Events::new();
        events.add(1, Moment::Instruction(10));
        events.add(0, Moment::Instruction(3));
        events.add(2, Moment::Cycle(5));
        events.add(0, Moment::Instruction(10));
        assert!(!events.is_due(2, 4));
        assert!(events.is_due(3, 4));
        assert_eq!(events.take(3, 4), 0b001);
        assert_eq!(events.take(3, 5), 0b100);
        assert_eq!(events.take(20, 9), 0b011);
        assert!(events.is_over());
        assert_eq!(events.take(u64::MAX, u64::MAX), 0);
    }
}
