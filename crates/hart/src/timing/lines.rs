//! Lines that a cache holds.

use super::config::CacheConfig;

/// A set-associative cache with least-recently-used replacement. It tracks lines, not bytes.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    /// Lines of each set, the last used first: twice the line's number, plus one if it is dirty.
    lines: Vec<u64>,
    ways: usize,
    /// Number of sets minus one.
    mask: u64,
    /// Log2 of the size of a line.
    shift: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub hit: bool,
    /// Set if a dirty line was evicted.
    pub write_back: bool,
}

/// Value that no line has, since lines have at least 16 bytes.
const NONE: u64 = u64::MAX;

impl Lines {
    /// Creates an empty cache for a checked configuration.
    pub fn new(config: &CacheConfig) -> Self {
        let ways = config.ways as usize;
        let count = (config.size / config.line) as usize;
        let mask = (count / ways).saturating_sub(1) as u64;
        Self { lines: vec![NONE; count], ways, mask, shift: config.line.trailing_zeros() }
    }

    /// Returns the number of the line of `address`.
    #[inline(always)]
    pub fn line(&self, address: u64) -> u64 {
        address >> self.shift
    }

    /// Accesses a line, and loads it if it is missing.
    #[inline(always)]
    pub fn access(&mut self, line: u64, write: bool) -> Found {
        const HIT: Found = Found { hit: true, write_back: false };
        let first = (line & self.mask) as usize * self.ways;
        // Without a cache, every access hits.
        let Some(set) = self.lines.get_mut(first..first + self.ways) else { return HIT };
        let entry = line << 1;
        if set[0] & !1 == entry {
            set[0] |= u64::from(write);
            return HIT;
        }
        other_ways(set, entry, write)
    }

    /// Empties the cache. Dirty lines are assumed to be in memory.
    pub fn clear(&mut self) {
        self.lines.fill(NONE);
    }
}

/// Completes an access that does not hit the most recently used line.
fn other_ways(set: &mut [u64], entry: u64, write: bool) -> Found {
    let way = set.iter().position(|&line| line & !1 == entry);
    let at = way.unwrap_or(set.len() - 1);
    let old = set[at];
    set.copy_within(..at, 1);
    match way {
        Some(_) => {
            set[0] = old | u64::from(write);
            Found { hit: true, write_back: false }
        }
        None => {
            set[0] = entry | u64::from(write);
            Found { hit: false, write_back: old != NONE && old & 1 == 1 }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, VecDeque};

    use tracewright_testkit::Rng;

    use super::*;

    /// A naive cache: a queue for each set, the last used at the front.
    #[derive(Default)]
    struct Twin(HashMap<u64, VecDeque<(u64, bool)>>);

    impl Twin {
        fn access(&mut self, config: &CacheConfig, address: u64, write: bool) -> Found {
            let line = address / u64::from(config.line);
            let sets = u64::from(config.size / config.line / config.ways);
            let set = self.0.entry(line % sets).or_default();
            if let Some(i) = set.iter().position(|entry| entry.0 == line) {
                let (_, dirty) = set.remove(i).unwrap();
                set.push_front((line, dirty || write));
                return Found { hit: true, write_back: false };
            }
            set.push_front((line, write));
            let gone = if set.len() > config.ways as usize { set.pop_back() } else { None };
            Found { hit: false, write_back: gone.is_some_and(|entry| entry.1) }
        }
    }

    #[test]
    fn random_streams_as_the_naive_twin() {
        let mut rng = Rng::new(11);
        for _ in 0..200 {
            let (ways, line) = (1 + rng.below(8) as u32, 16 << rng.below(4));
            let size = (ways * line) << rng.below(5);
            let config = CacheConfig { size, ways, line, hit: 1, miss: 1 };
            let mut cache = Lines::new(&config);
            let mut twin = Twin::default();
            let top = if rng.one_in(2) { 0 } else { u64::MAX << 20 };
            for _ in 0..2_000 {
                let address = top + rng.below(u64::from(size) * 3);
                let write = rng.one_in(3);
                let number = cache.line(address);
                assert_eq!(cache.access(number, write), twin.access(&config, address, write));
            }
        }
    }

    #[test]
    fn the_least_recently_used_goes() {
        // One set of two ways.
        let mut cache = Lines::new(&CacheConfig { size: 32, ways: 2, line: 16, hit: 1, miss: 1 });
        let hits: Vec<bool> = [1, 2, 1, 3, 1, 2].map(|line| cache.access(line, false).hit).to_vec();
        // 3 evicts 2, since 1 was used later.
        assert_eq!(hits, [false, false, true, false, true, false]);
    }

    #[test]
    fn what_was_written_to_is_written_back() {
        let mut cache = Lines::new(&CacheConfig { size: 16, ways: 1, line: 16, hit: 1, miss: 1 });
        cache.access(1, true);
        assert!(cache.access(2, false).write_back);
        assert!(!cache.access(3, false).write_back);
    }

    #[test]
    fn no_cache_always_hits() {
        let mut cache = Lines::new(&CacheConfig { size: 0, ways: 1, line: 16, hit: 1, miss: 1 });
        assert!((0..100).all(|line| cache.access(line, true).hit));
    }
}
