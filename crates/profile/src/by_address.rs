//! A map from addresses to values with a small direct-mapped cache in front.

use tracewright_core::MemorySpace;
use tracewright_flow::hash::HashMap;

/// A map keyed by address and memory space. Programs run the same code again and again, so recent lookups are answered
/// from `lately` without the cost of the `HashMap`'s hash function, which resists chosen keys.
#[derive(Clone, Debug)]
pub(crate) struct ByAddress<V> {
    all: HashMap<(u64, MemorySpace), V>,
    /// Direct-mapped cache, indexed by [`slot`]. Empty until the first insertion.
    lately: Vec<Option<(u64, MemorySpace, V)>>,
}

/// Number of index bits of the cache. It holds the hot blocks of a program of some size and fits into a core's private cache.
const LATELY: u32 = 14;

impl<V> Default for ByAddress<V> {
    fn default() -> Self {
        Self { all: HashMap::default(), lately: Vec::new() }
    }
}

impl<V: Copy> ByAddress<V> {
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

    /// Returns the value of an address without updating the cache.
    pub(crate) fn peek(&self, address: u64, space: MemorySpace) -> Option<V> {
        self.all.get(&(address, space)).copied()
    }

    pub(crate) fn insert(&mut self, address: u64, space: MemorySpace, value: V) {
        if self.lately.is_empty() {
            self.lately.resize(1 << LATELY, None);
        }
        self.all.insert((address, space), value);
        self.lately[slot(address)] = Some((address, space, value));
    }
}

/// Returns the cache index of an address.
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
        let (mut ours, mut map) = (ByAddress::default(), HashMap::default());
        assert_eq!(ours.get(0, MemorySpace::ANY), None);
        for number in 0..200_000_u32 {
            // More addresses than the cache holds, in two spaces.
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
