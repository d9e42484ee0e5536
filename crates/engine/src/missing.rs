//! Addresses of code that ran and that no image has.

use std::collections::BTreeMap;

use tracewright_core::MemorySpace;

/// Bits of an address inside a page.
const PAGE: u32 = 12;
/// Most pages that are kept apart.
const MOST_PAGES: usize = 1 << 14;
/// Greatest distance of two addresses of one range.
const APART: u64 = 1 << 16;

/// Where code ran that no image has: counts by page, so that memory is bounded.
#[derive(Clone, Debug, Default)]
pub struct MissingCode {
    pages: BTreeMap<(u32, u8, u64), Page>,
    /// Times in pages that are not kept, since there are too many.
    elsewhere: u64,
}

#[derive(Clone, Copy, Debug)]
struct Page {
    space: MemorySpace,
    first: u64,
    last: u64,
    times: u64,
}

/// Addresses close to each other at which code ran that no image has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingRange {
    /// Memory space.
    pub space: MemorySpace,
    /// Lowest address.
    pub first: u64,
    /// Highest address.
    pub last: u64,
    /// How often execution came there.
    pub times: u64,
}

impl MissingCode {
    /// Counts an address at which execution came to missing code.
    pub fn add(&mut self, address: u64, space: MemorySpace) {
        self.add_page(Page { space, first: address, last: address, times: 1 });
    }

    fn add_page(&mut self, page: Page) {
        let key = (page.space.process(), page.space.bits(), page.first >> PAGE);
        let is_full = self.pages.len() >= MOST_PAGES;
        match self.pages.get_mut(&key) {
            Some(known) => {
                (known.first, known.last) = (known.first.min(page.first), known.last.max(page.last));
                known.times += page.times;
            }
            None if is_full => self.elsewhere += page.times,
            None => drop(self.pages.insert(key, page)),
        }
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Self) {
        other.pages.values().for_each(|page| self.add_page(*page));
        self.elsewhere += other.elsewhere;
    }

    /// Returns whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty() && self.elsewhere == 0
    }

    /// Returns how often execution came to missing code that is in no range, since there are too many.
    pub fn elsewhere(&self) -> u64 {
        self.elsewhere
    }

    /// Returns whether execution came to missing code in a range.
    pub fn has(&self, range: &MissingRange) -> bool {
        let (process, bits) = (range.space.process(), range.space.bits());
        let (from, to) = ((process, bits, range.first >> PAGE), (process, bits, range.last >> PAGE));
        self.pages.range(from..=to).next().is_some()
    }

    /// Returns the ranges in which code is missing, the most frequent first.
    pub fn ranges(&self) -> Vec<MissingRange> {
        let mut ranges: Vec<MissingRange> = Vec::new();
        for &Page { space, first, last, times } in self.pages.values() {
            match ranges.last_mut() {
                Some(range) if range.space == space && first - range.last <= APART => {
                    (range.last, range.times) = (last, range.times + times);
                }
                _ => ranges.push(MissingRange { space, first, last, times }),
            }
        }
        ranges.sort_by_key(|range| (std::cmp::Reverse(range.times), range.first));
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_apart_counted_and_bounded() {
        let mut one = MissingCode::default();
        (0..10).for_each(|at| one.add(0x1000 + 0x1000 * at, MemorySpace::ANY));
        let mut two = MissingCode::default();
        (0..30).for_each(|_| two.add(0x9000_0000, MemorySpace::ANY));
        assert!(one.ranges().len() == 1 && !one.has(&two.ranges()[0]));
        one.merge(&two);
        let told: Vec<_> = one.ranges().iter().map(|range| (range.first, range.last, range.times)).collect();
        assert_eq!(told, [(0x9000_0000, 0x9000_0000, 30), (0x1000, 0xa000, 10)]);
        (0..100_000).for_each(|at| one.add(at << 20, MemorySpace::ANY));
        let all: u64 = one.ranges().iter().map(|range| range.times).sum();
        assert_eq!(all + one.elsewhere(), 100_040);
        assert!(one.ranges().len() <= MOST_PAGES && one.elsewhere() > 0);
    }
}
