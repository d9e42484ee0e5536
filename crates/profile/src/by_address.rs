//! What is known of addresses.

use std::collections::HashMap;

use tracewright_core::MemorySpace;

/// Something of each address that was asked for. Programs run the same code again and again: what was asked for lately is found without
/// hashing that withstands chosen addresses, which the map behind it has.
#[derive(Clone, Debug)]
pub(crate) struct ByAddress<V> {
    all: HashMap<(u64, MemorySpace), V>,
    /// By a few bits of a product; none until something is known.
    lately: Vec<Option<(u64, MemorySpace, V)>>,
}

/// As many are at hand as a program of some size has blocks that matter; they fit into a core's own cache.
const LATELY: u32 = 14;

impl<V> Default for ByAddress<V> {
    fn default() -> Self {
        Self { all: HashMap::new(), lately: Vec::new() }
    }
}

impl<V: Copy> ByAddress<V> {
    /// What is known of an address.
    #[inline]
    pub(crate) fn get(&mut self, address: u64, space: MemorySpace) -> Option<V> {
        match self.lately.get(slot(address)) {
            Some(&Some((of, within, value))) if of == address && within == space => Some(value),
            _ => self.look_up(address, space),
        }
    }

    #[cold]
    fn look_up(&mut self, address: u64, space: MemorySpace) -> Option<V> {
        let value = *self.all.get(&(address, space))?;
        self.lately[slot(address)] = Some((address, space, value));
        Some(value)
    }

    /// The same, for who only looks.
    pub(crate) fn peek(&self, address: u64, space: MemorySpace) -> Option<V> {
        self.all.get(&(address, space)).copied()
    }

    /// This is known from now on.
    pub(crate) fn insert(&mut self, address: u64, space: MemorySpace, value: V) {
        if self.lately.is_empty() {
            self.lately.resize(1 << LATELY, None);
        }
        self.all.insert((address, space), value);
        self.lately[slot(address)] = Some((address, space, value));
    }
}

/// Where an address is at hand.
const fn slot(address: u64) -> usize {
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - LATELY)) as usize
}

#[cfg(test)]
mod tests {
    use tracewright_testkit::Rng;

    use super::*;

    #[test]
    fn it_is_a_map() {
        let mut rng = Rng::new(3);
        let (mut ours, mut map) = (ByAddress::default(), HashMap::new());
        assert_eq!(ours.get(0, MemorySpace::ANY), None);
        for number in 0..200_000_u32 {
            // More addresses than are at hand, in two spaces.
            let space = if rng.one_in(2) { MemorySpace::EL1N } else { MemorySpace::EL2 };
            let address = rng.below(40_000) * 4;
            if rng.one_in(3) {
                ours.insert(address, space, number);
                map.insert((address, space), number);
            }
            assert_eq!(ours.get(address, space), map.get(&(address, space)).copied());
            assert_eq!(ours.peek(address, space), map.get(&(address, space)).copied());
        }
    }
}
