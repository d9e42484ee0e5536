//! Prediction of branches: directions, targets, and return addresses.

use super::Config;
use super::config::Predictor;

/// A direction predictor. It learns at once: the errors of hardware that learns later, in short loops, are not modelled.
#[derive(Clone, Debug)]
pub(super) struct Directions {
    kind: Predictor,
    /// Two-bit counters; 2 and 3 predict taken. Initially 1.
    counters: Box<[u8]>,
    /// Outcomes of the last branches, the latest in bit 0.
    history: u64,
    /// Mask of the history bits.
    history_mask: u64,
}

impl Directions {
    /// Creates an untrained predictor for a checked configuration.
    pub fn new(config: &Config) -> Self {
        let bits = if config.predictor == Predictor::Gshare { config.predictor_history } else { 0 };
        Self {
            kind: config.predictor,
            counters: vec![1; config.predictor_entries as usize].into(),
            history: 0,
            history_mask: (1 << bits) - 1,
        }
    }

    /// Returns whether the branch at `pc` was predicted taken, then learns its outcome.
    #[inline]
    pub fn branch(&mut self, pc: u64, backward: bool, taken: bool) -> bool {
        if self.kind == Predictor::Static {
            return backward;
        }
        // Instructions are at even addresses. Without history this is the bimodal predictor.
        let index = (pc >> 1 ^ self.history) as usize & (self.counters.len() - 1);
        let counter = &mut self.counters[index];
        let predicted = *counter >= 2;
        *counter = if taken { (*counter + 1).min(3) } else { counter.saturating_sub(1) };
        self.history = (self.history << 1 | u64::from(taken)) & self.history_mask;
        predicted
    }
}

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

    /// Naive predictor: counters by number, history as a list.
    struct Twin {
        counters: HashMap<u64, i32>,
        history: Vec<bool>,
    }

    impl Twin {
        fn branch(&mut self, entries: u64, bits: usize, pc: u64, taken: bool) -> bool {
            let recent = &self.history[self.history.len().saturating_sub(bits)..];
            let history = recent.iter().fold(0, |sum, &taken| sum * 2 + u64::from(taken));
            let counter = self.counters.entry(((pc / 2) ^ history) % entries).or_insert(1);
            let predicted = *counter > 1;
            *counter = (*counter + if taken { 1 } else { -1 }).clamp(0, 3);
            self.history.push(taken);
            predicted
        }
    }

    #[test]
    fn random_branches_as_the_naive_twin() {
        let mut rng = Rng::new(5);
        for round in 0..100 {
            let predictor = if round % 2 == 0 { Predictor::Bimodal } else { Predictor::Gshare };
            let entries = 1 << rng.below(9);
            let bits = rng.below(17) as u32;
            let config = Config {
                predictor,
                predictor_entries: entries,
                predictor_history: bits,
                ..Config::default()
            };
            let mut fast = Directions::new(&config);
            let mut twin = Twin { counters: HashMap::new(), history: Vec::new() };
            let bits = if predictor == Predictor::Gshare { bits as usize } else { 0 };
            for _ in 0..1_000 {
                let (pc, taken) = (rng.below(400) * 2, rng.one_in(3));
                assert_eq!(
                    fast.branch(pc, rng.one_in(2), taken),
                    twin.branch(entries.into(), bits, pc, taken)
                );
            }
        }
    }

    #[test]
    fn backward_taken_forward_not() {
        let mut predictor = Directions::new(&Config::tiny());
        assert!(predictor.branch(0, true, false));
        assert!(!predictor.branch(0, false, true));
    }

    #[test]
    fn gshare_learns_what_alternates_and_bimodal_does_not() {
        let wrong = |predictor| {
            let mut directions = Directions::new(&Config { predictor, ..Config::default() });
            (0..1_000).filter(|i| directions.branch(64, true, i % 2 == 0) != (i % 2 == 0)).count()
        };
        assert!(wrong(Predictor::Gshare) < 20);
        assert!(wrong(Predictor::Bimodal) >= 500);
    }

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
