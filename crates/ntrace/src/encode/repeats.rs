//! Full histories that repeat.

use crate::packet::Packet;

/// A full history that waits for repeats of it.
///
/// Patterns of one length repeat only if a loop has a divisor of that many branches. So the second history may also make the pattern one
/// or three branches shorter, as the reference encoder does: 31, 30 and 28 branches have all divisors up to 7.
#[derive(Clone, Debug)]
pub(super) struct Repeats {
    /// Branches of a full history.
    branches: u32,
    /// Branches of the pattern, below a 1.
    pattern: u64,
    /// Number of branches by which the pattern is shorter than a full history.
    shorter: u32,
    /// Number of times that it happened; 0 if none waits.
    count: u64,
}

/// Largest number of repeats that a message may have.
const MOST: u64 = (1 << 18) - 1;

impl Repeats {
    pub fn new(branches: u8) -> Self {
        Self { branches: branches.into(), pattern: 1, shorter: 0, count: 0 }
    }

    /// Takes a full history. Returns what is left of it, and the message that cannot wait any longer.
    pub fn take(&mut self, history: u64) -> (u64, Option<Packet>) {
        if self.count > 0 && self.count < MOST && history >> self.shorter == self.pattern {
            self.count += 1;
            return (rest(history, self.shorter), None);
        }
        if self.count == 1
            && let Some(left) = self.shorten(history)
        {
            return (left, None);
        }
        let message = self.flush();
        (self.pattern, self.shorter, self.count) = (history, 0, 1);
        (1, message)
    }

    /// Makes the pattern shorter if it then happened twice. Returns what is left.
    fn shorten(&mut self, history: u64) -> Option<u64> {
        let shorter = [3, 1].into_iter().filter(|shorter| 2 * shorter < self.branches);
        let found = { shorter }.find(|&shorter| {
            // The second pattern begins in the first history.
            let second = rest(self.pattern, shorter) << self.branches | history & ((1 << self.branches) - 1);
            second >> (2 * shorter) == self.pattern >> shorter
        });
        self.shorter = found?;
        self.pattern >>= self.shorter;
        self.count = 2;
        Some(rest(history, 2 * self.shorter))
    }

    /// Returns the message that waits.
    pub fn flush(&mut self) -> Option<Packet> {
        let (rdata, count) = (self.pattern, core::mem::take(&mut self.count));
        match count {
            0 => None,
            1 => Some(Packet::ResourceFull { rcode: 1, rdata, hrepeat: None }),
            _ => Some(Packet::ResourceFull { rcode: 2, rdata, hrepeat: Some(count) }),
        }
    }

    pub fn clear(&mut self) {
        self.count = 0;
    }
}

/// Returns the last branches of a history, below a 1.
const fn rest(history: u64, branches: u32) -> u64 {
    1 << branches | history & ((1 << branches) - 1)
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::packet::History;

    /// Messages for these branches, and the branches that they stand for.
    fn sent(branches: &[bool]) -> (usize, Vec<bool>) {
        let mut repeats = Repeats::new(31);
        let (mut history, mut messages) = (1_u64, Vec::new());
        for &taken in branches {
            history = history << 1 | u64::from(taken);
            if history >> 31 == 1 {
                let (left, message) = repeats.take(history);
                history = left;
                messages.extend(message);
            }
        }
        messages.extend(repeats.flush());
        let mut all = Vec::new();
        for message in &messages {
            let Packet::ResourceFull { hrepeat, .. } = message else { panic!("{message:?}") };
            let bits = message.history().unwrap();
            (0..hrepeat.unwrap_or(1)).for_each(|_| all.extend(bits));
        }
        all.extend(History::of(history).unwrap());
        (messages.len(), all)
    }

    #[test]
    fn loops_of_up_to_seven_branches_are_one_message() {
        for period in 1..8 {
            let branches: Vec<_> = (0..100 * 31).map(|at| at % period == 0).collect();
            assert_eq!(sent(&branches), (1, branches.clone()), "{period}");
        }
        let branches: Vec<_> = (0..100 * 31).map(|at| at % 11 == 0).collect();
        assert_eq!(sent(&branches), (100, branches));
    }

    #[test]
    fn a_message_has_a_limited_count() {
        let branches = std::vec![true; 31 * (1 << 18)];
        assert_eq!(sent(&branches), (2, branches));
    }

    #[test]
    fn what_does_not_repeat_is_kept() {
        let mut state = 1_u64;
        let branches: Vec<_> = (0..5000)
            .map(|at| {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                at % 700 < 500 || state >> 63 == 1
            })
            .collect();
        assert_eq!(sent(&branches).1, branches);
    }
}
