//! Target prediction: the branch target buffer and the return address stack.

/// A direct-mapped branch target buffer. Entries have the whole address, so that none is mistaken for another.
#[derive(Clone, Debug)]
pub(super) struct TargetBuffer(Box<[(u64, u64)]>);

/// Value that no instruction address has, since it is odd.
const NONE: u64 = u64::MAX;

impl TargetBuffer {
    /// Creates an empty buffer; `entries` is a power of two or 0.
    pub fn new(entries: u32) -> Self {
        Self(vec![(NONE, 0); entries as usize].into())
    }

    /// Returns the target of the branch at `pc` when it was last taken.
    #[inline]
    pub fn get(&self, pc: u64) -> Option<u64> {
        let &(at, target) = self.0.get((pc >> 1) as usize & self.0.len().wrapping_sub(1))?;
        (at == pc).then_some(target)
    }

    /// Sets the target of the branch at `pc`.
    #[inline]
    pub fn set(&mut self, pc: u64, target: u64) {
        let index = (pc >> 1) as usize & self.0.len().wrapping_sub(1);
        if let Some(entry) = self.0.get_mut(index) {
            *entry = (pc, target);
        }
    }
}

/// A return address stack. When it is full, the oldest address is lost.
#[derive(Clone, Debug)]
pub(super) struct ReturnStack {
    addresses: Box<[u64]>,
    top: usize,
    count: usize,
}

impl ReturnStack {
    /// Creates an empty stack.
    pub fn new(depth: u32) -> Self {
        Self { addresses: vec![0; depth as usize].into(), top: 0, count: 0 }
    }

    /// Pushes the return address of a call.
    pub fn push(&mut self, address: u64) {
        let depth = self.addresses.len();
        if depth == 0 {
            return;
        }
        self.top = if self.top + 1 == depth { 0 } else { self.top + 1 };
        self.addresses[self.top] = address;
        self.count = (self.count + 1).min(depth);
    }

    /// Pops the predicted target of a return.
    pub fn pop(&mut self) -> Option<u64> {
        self.count = self.count.checked_sub(1)?;
        let address = self.addresses[self.top];
        self.top = if self.top == 0 { self.addresses.len() - 1 } else { self.top - 1 };
        Some(address)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, VecDeque};

    use tracewright_testkit::Rng;

    use super::*;

    #[test]
    fn return_stack_as_a_queue_that_forgets() {
        let mut rng = Rng::new(3);
        for depth in 0..20u32 {
            let mut stack = ReturnStack::new(depth);
            let mut twin = VecDeque::new();
            for i in 0..2_000 {
                if rng.one_in(2) {
                    stack.push(i);
                    twin.push_back(i);
                    if twin.len() > depth as usize {
                        twin.pop_front();
                    }
                } else {
                    assert_eq!(stack.pop(), twin.pop_back());
                }
            }
        }
    }

    #[test]
    fn target_buffer_as_a_map_of_slots() {
        let mut rng = Rng::new(4);
        for entries in [0, 1, 2, 16, 64] {
            let mut buffer = TargetBuffer::new(entries);
            let mut twin = HashMap::new();
            for _ in 0..2_000 {
                let pc = rng.below(200) * 2;
                let slot = if entries == 0 { 0 } else { pc / 2 % u64::from(entries) };
                let expected = twin.get(&slot).filter(|entry: &&(u64, u64)| entry.0 == pc);
                assert_eq!(buffer.get(pc), expected.map(|entry| entry.1));
                if rng.one_in(2) && entries != 0 {
                    let target = rng.next_u64();
                    buffer.set(pc, target);
                    twin.insert(slot, (pc, target));
                }
            }
        }
    }
}
