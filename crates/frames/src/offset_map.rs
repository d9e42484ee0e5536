use alloc::vec::Vec;

use crate::Run;

/// A map from positions in the stream of one source to [`Run`]s and file offsets.
///
/// Runs are pushed in order. Positions that are no longer needed can be [forgotten](Self::forget_before), so that the
/// map of an endless stream stays small.
#[derive(Clone, Debug, Default)]
pub struct OffsetMap {
    /// Entries in the order of positions, without holes.
    entries: Vec<Entry>,
    /// Position after the last run.
    end: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    position: u64,
    run: Run,
}

impl OffsetMap {
    /// Creates an empty map at position 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the next `len` bytes of the stream. A run that continues the last one needs no memory.
    pub fn push(&mut self, run: Run, len: u64) {
        // Runs are only split between frames, so others need no arithmetic.
        let goes_on = |last: &Entry| run.lane == 0 && last.run.after(self.end - last.position) == run;
        if len > 0 && !self.entries.last().is_some_and(goes_on) {
            self.entries.push(Entry { position: self.end, run });
        }
        self.end += len;
    }

    /// Returns the position after the last byte.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Returns the runs, each with the position of its first byte.
    pub fn runs(&self) -> impl Iterator<Item = (u64, Run)> {
        self.entries.iter().map(|entry| (entry.position, entry.run))
    }

    /// Returns the run of the byte at `position`, from that byte on. Returns `None` if it was forgotten or has not
    /// been pushed yet. Most lookups are in increasing order, so each reader keeps a `cursor`, initially 0.
    pub fn run_near(&self, position: u64, cursor: &mut usize) -> Option<Run> {
        if position >= self.end {
            return None;
        }
        let begins_by =
            |index: usize| self.entries.get(index).is_some_and(|entry| entry.position <= position);
        if !begins_by(*cursor) || begins_by(*cursor + 2) {
            let after = self.entries.partition_point(|entry| entry.position <= position);
            *cursor = after.checked_sub(1)?;
        } else if begins_by(*cursor + 1) {
            *cursor += 1;
        }
        let Entry { position: start, run } = *self.entries.get(*cursor)?;
        Some(run.after(position - start))
    }

    /// Returns the file offset of the byte at `position`.
    pub fn offset_of(&self, position: u64) -> Option<u64> {
        self.run_near(position, &mut 0).map(|run| run.offset)
    }

    /// Forgets positions before this one, in batches. They must not be looked up afterwards.
    pub fn forget_before(&mut self, position: u64) {
        let after = self.entries.partition_point(|entry| entry.position <= position);
        let old = if position >= self.end { after } else { after.saturating_sub(1) };
        // Moving the rest down is cheap only if it is the smaller part.
        if 2 * old >= self.entries.len() {
            self.entries.drain(..old);
        }
    }

    /// Moves all runs of `other`, which begins where this map ends, to this map. `other` continues at its position.
    pub fn append(&mut self, other: &mut Self) {
        self.entries.append(&mut other.entries);
        self.end = other.end;
    }

    /// Forgets all runs. The next run is at `position`.
    pub(crate) fn restart(&mut self, position: u64) {
        self.entries.clear();
        self.end = position;
    }
}

#[cfg(test)]
mod tests {
    use tracewright_core::TraceId;
    use tracewright_testkit::Rng;

    use super::*;

    fn run(lane: u8, slip: u32, offset: u64) -> Run {
        Run { id: TraceId::from_low_bits(0x10), lane, slip, offset }
    }

    #[test]
    fn a_run_that_goes_on_is_one_entry() {
        let mut map = OffsetMap::new();
        map.push(run(3, 1, 3), 12);
        map.push(run(0, 0, 16), 150);
        assert_eq!(map.runs().count(), 1);
        map.push(run(0, 0, 180), 15);
        assert_eq!(map.runs().count(), 2);
        assert_eq!(map.offset_of(12 + 150), Some(180));
        let index = |position| map.run_near(position, &mut 0).map(|run| run.opencsd_index_of(0));
        assert_eq!((index(11), index(12)), (Some(13), Some(16)));
    }

    #[test]
    fn lookups_in_any_order_agree_with_a_list() {
        let mut rng = Rng::new(7);
        let mut map = OffsetMap::new();
        let (mut offsets, mut forgotten, mut offset, mut cursor) = (alloc::vec![], 0, 0, 0);
        for _ in 0..2_000 {
            offset += 1 + rng.below(40);
            let (run, len) = (run(rng.below(15) as u8, 0, offset), rng.below(60));
            map.push(run, len);
            offsets.extend((0..len).map(|i| run.offset_of(i)));
            offset = run.offset_of(len);
            assert_eq!(map.offset_of(map.end()), None);
            for _ in 0..rng.below(6) {
                let position = forgotten + rng.below(map.end() - forgotten + 1);
                let found = map.run_near(position, &mut cursor).map(|run| run.offset);
                assert_eq!(found, offsets.get(position as usize).copied());
                assert_eq!(found, map.offset_of(position));
            }
            if rng.one_in(10) {
                forgotten += rng.below(map.end() - forgotten + 1);
                map.forget_before(forgotten);
            }
        }
    }

    #[test]
    fn memory_is_bounded_if_the_past_is_forgotten() {
        let mut map = OffsetMap::new();
        for i in 0..1_000 {
            map.push(run(0, 0, 100 * i), 10);
            map.forget_before(10 * i.saturating_sub(20));
            assert!(map.runs().count() <= 44);
            assert_eq!(map.offset_of(10 * i.saturating_sub(20)), Some(100 * i.saturating_sub(20)));
        }
        map.forget_before(10_000);
        assert_eq!((map.runs().count(), map.offset_of(9_999)), (0, None));
        map.push(run(0, 0, 200_000), 1);
        assert_eq!(map.offset_of(10_000), Some(200_000));
    }
}
