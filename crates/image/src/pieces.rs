//! Overlapping ranges made disjoint, so that finding the owner of an address is one binary search.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use tracewright_core::MemorySpace;

/// Disjoint address ranges in ascending order, each with its owner.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    starts: Vec<u64>,
    ends: Vec<u64>,
    owners: Vec<u32>,
}

/// Claim that an earlier one has taken a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hidden {
    /// Index of the hidden claim.
    pub claim: u32,
    /// Index of a claim that hides it.
    pub by: u32,
    /// Lowest hidden address.
    pub at: u64,
}

impl Pieces {
    /// Gives each address to the first of the `claims` on it. The owner of a piece is the index of its claim.
    /// Takes n log n steps for n claims.
    pub fn new(claims: &[Range<u64>]) -> (Self, Vec<Hidden>) {
        let mut by_start: Vec<u32> =
            (0..claims.len() as u32).filter(|&i| !claim(claims, i).is_empty()).collect();
        by_start.sort_by_key(|&i| (claim(claims, i).start, i));
        let mut coming = by_start.into_iter().peekable();
        let mut pieces = Self::default();
        let mut hidden = vec![None; claims.len()];
        // Claims that have begun and may not have ended, the winner first.
        let mut active = BinaryHeap::new();
        let mut at = 0;
        loop {
            while active.peek().is_some_and(|&Reverse(top)| claim(claims, top).end <= at) {
                active.pop();
            }
            if let Some(new) = coming.next_if(|&i| claim(claims, i).start == at) {
                if let Some(&Reverse(top)) = active.peek() {
                    let (claim, by) = (top.max(new), top.min(new));
                    hidden[claim as usize].get_or_insert(Hidden { claim, by, at });
                }
                active.push(Reverse(new));
                continue;
            }
            let next_start = coming.peek().map(|&i| claim(claims, i).start);
            match (active.peek(), next_start) {
                (None, None) => break,
                (None, Some(start)) => at = start,
                (Some(&Reverse(top)), start) => {
                    let end = claim(claims, top).end.min(start.unwrap_or(u64::MAX));
                    pieces.push(at..end, top);
                    at = end;
                }
            }
        }
        (pieces, hidden.into_iter().flatten().collect())
    }

    fn push(&mut self, range: Range<u64>, owner: u32) {
        match (self.ends.last_mut(), self.owners.last()) {
            (Some(end), Some(&last)) if *end == range.start && last == owner => *end = range.end,
            _ => {
                self.starts.push(range.start);
                self.ends.push(range.end);
                self.owners.push(owner);
            }
        }
    }

    /// Renumbers the owners.
    pub fn renumber(&mut self, number: impl Fn(u32) -> u32) {
        self.owners.iter_mut().for_each(|owner| *owner = number(*owner));
    }

    /// Returns the piece that contains `address`, and its owner.
    #[inline]
    pub fn find(&self, address: u64) -> Option<(Range<u64>, u32)> {
        let i = self.starts.partition_point(|&start| start <= address).checked_sub(1)?;
        let end = self.ends[i];
        (address < end).then(|| (self.starts[i]..end, self.owners[i]))
    }

    /// Returns the piece or the gap that contains `address`, and the owner.
    pub fn find_or_gap(&self, address: u64) -> (Range<u64>, Option<u32>) {
        let i = self.starts.partition_point(|&start| start <= address);
        let before = i.checked_sub(1);
        match before {
            Some(i) if address < self.ends[i] => (self.starts[i]..self.ends[i], Some(self.owners[i])),
            _ => {
                let start = before.map_or(0, |i| self.ends[i]);
                (start..self.starts.get(i).copied().unwrap_or(u64::MAX), None)
            }
        }
    }

    /// Returns all pieces in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (Range<u64>, u32)> {
        (0..self.starts.len()).map(|i| (self.starts[i]..self.ends[i], self.owners[i]))
    }
}

fn claim(claims: &[Range<u64>], index: u32) -> &Range<u64> {
    &claims[index as usize]
}

/// Owners of addresses in each memory space.
///
/// Spaces with the same regions share a table; usually all of them do.
#[derive(Debug)]
pub(crate) struct Spaces {
    tables: Vec<Pieces>,
    /// For each set of spaces, one bit for each table that covers it.
    tables_of: Box<[u8; 256]>,
}

impl Spaces {
    /// Builds the tables. The first region at an address in a space wins; owners are indices into `regions`.
    pub fn new(regions: &[(Range<u64>, MemorySpace)]) -> (Self, Vec<Hidden>) {
        let classes = classes(regions.iter().map(|(_, space)| space.bits()));
        let mut hidden = Vec::new();
        let tables = classes.iter().map(|class| {
            let members: Vec<u32> =
                (0..regions.len() as u32).filter(|&i| regions[i as usize].1.bits() & class != 0).collect();
            let claims: Vec<_> = members.iter().map(|&i| regions[i as usize].0.clone()).collect();
            let (mut pieces, hidden_here) = Pieces::new(&claims);
            let number = |i: u32| members[i as usize];
            pieces.renumber(number);
            hidden.extend(hidden_here.iter().map(|h| Hidden {
                claim: number(h.claim),
                by: number(h.by),
                ..*h
            }));
            pieces
        });
        let tables = tables.collect();
        let tables_of = std::array::from_fn(|set| {
            let tells = |class: u8| class & set as u8 != 0;
            (0..classes.len()).filter(|&i| tells(classes[i])).fold(0, |tables, i| tables | 1 << i)
        });
        // A region is hidden once, although it may be in several tables.
        hidden.sort_by_key(|hidden| (hidden.claim, hidden.at, hidden.by));
        hidden.dedup_by_key(|hidden| hidden.claim);
        (Self { tables, tables_of: Box::new(tables_of) }, hidden)
    }

    /// Renumbers each region to the number at its index in `numbers`.
    pub fn renumber(&mut self, numbers: &[u32]) {
        for table in &mut self.tables {
            table.renumber(|index| numbers[index as usize]);
        }
    }

    /// Returns the region at `address` and the range around it that belongs to the region. If several spaces
    /// are asked for, the region added first wins.
    #[inline]
    pub fn find(&self, address: u64, space: MemorySpace) -> Option<(Range<u64>, u32)> {
        let tables = self.tables_of[usize::from(space.bits())];
        if tables.is_power_of_two() {
            return self.tables[tables.trailing_zeros() as usize].find(address);
        }
        self.find_in_several(address, tables)
    }

    /// Returns the range around `address` that belongs to one region or to none, and the region.
    pub fn find_or_gap(&self, address: u64, space: MemorySpace) -> (Range<u64>, Option<u32>) {
        let tables = self.tables_of[usize::from(space.bits())];
        self.find_or_gap_in(address, tables)
    }

    #[cold]
    fn find_in_several(&self, address: u64, tables: u8) -> Option<(Range<u64>, u32)> {
        let (range, owner) = self.find_or_gap_in(address, tables);
        owner.map(|owner| (range, owner))
    }

    fn find_or_gap_in(&self, address: u64, tables: u8) -> (Range<u64>, Option<u32>) {
        let asked = self.tables.iter().enumerate().filter(|(i, _)| tables >> i & 1 != 0);
        let answers = asked.map(|(_, table)| table.find_or_gap(address));
        answers.fold((0..u64::MAX, None), |(range, owner), (other, other_owner)| {
            let both = range.start.max(other.start)..range.end.min(other.end);
            let first = [owner, other_owner].into_iter().flatten().min();
            (both, first)
        })
    }
}

/// Returns disjoint sets of spaces that together cover all, such that each of `masks` contains all or none of
/// each set.
fn classes(masks: impl Iterator<Item = u8>) -> Vec<u8> {
    let mut seen = [false; 256];
    let mut classes = vec![MemorySpace::ANY.bits()];
    for mask in masks.filter(|&mask| !std::mem::replace(&mut seen[usize::from(mask)], true)) {
        let split = |class: u8| [class & mask, class & !mask];
        classes = classes.into_iter().flat_map(split).filter(|&class| class != 0).collect();
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::classes;

    #[test]
    fn spaces_are_split_only_where_regions_differ() {
        assert_eq!(classes([].into_iter()), [0xff]);
        assert_eq!(classes([0xff, 0xff].into_iter()), [0xff]);
        assert_eq!(classes([0xff, 0x02].into_iter()), [0x02, 0xfd]);
        assert_eq!(classes([0x19, 0x01].into_iter()), [0x01, 0x18, 0xe6]);
    }
}
