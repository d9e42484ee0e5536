//! Overlapping ranges made disjoint, so that finding the owner of an address is one binary search.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

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
