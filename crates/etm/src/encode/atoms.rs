use crate::packet::Atoms;

/// Atoms that have not been written yet.
///
/// Packets are made greedily, each as long as can be, which is optimal: every end piece of what an atom packet can say
/// can be said by an atom packet too, so a packet that starts later never gets further than one that starts earlier
/// and is as long as can be.
#[derive(Clone, Debug, Default)]
pub(super) struct AtomQueue {
    /// Bit 0 is the oldest; 1 is E. Bits from `count` on are 0.
    bits: u64,
    count: u32,
}

impl AtomQueue {
    /// No packet says more.
    const LONGEST: u32 = 24;

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether packets must be taken out before the next [`push`](Self::push).
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.count == u64::BITS
    }

    #[inline]
    pub(super) fn push(&mut self, taken: bool) {
        self.bits |= u64::from(taken) << self.count;
        self.count += 1;
    }

    /// The header of the next packet, if what comes later cannot make it longer.
    pub(super) fn settled(&mut self) -> Option<u8> {
        if self.count < Self::LONGEST { None } else { self.next() }
    }

    /// The header of the next packet.
    pub(super) fn next(&mut self) -> Option<u8> {
        if self.count == 0 {
            return None;
        }
        let count = self.longest();
        let header = Atoms { bits: self.bits as u32, count: count as u8 }.header();
        self.bits >>= count;
        self.count -= count;
        header
    }

    /// How many atoms one packet can say.
    fn longest(&self) -> u32 {
        let taken = self.bits.trailing_ones();
        if taken >= 3 {
            // E's, then whatever comes (format 6), or three of them (format 3).
            return (taken + 1).min(Self::LONGEST).min(self.count);
        }
        let starts = |count: u32, patterns: [u64; 4]| {
            self.count >= count && patterns.contains(&(self.bits & ((1 << count) - 1)))
        };
        if starts(5, [0b11110, 0b00000, 0b01010, 0b10101]) {
            5
        } else if starts(4, [0b1110, 0b0000, 0b1010, 0b0101]) {
            4
        } else {
            self.count.min(3)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn headers(bits: u32, count: u32) -> Vec<u8> {
        let mut queue = AtomQueue { bits: bits.into(), count };
        core::iter::from_fn(|| queue.next()).collect()
    }

    /// The fewest packets by trying all ways to cut.
    fn fewest(bits: u32, count: u32) -> usize {
        let mut fewest = [0; 33];
        for end in 1..=count {
            fewest[end as usize] = (1..=end.min(24))
                .filter(|len| Atoms { bits: bits >> (end - len), count: *len as u8 }.header().is_some())
                .map(|len| fewest[(end - len) as usize] + 1)
                .min()
                .unwrap();
        }
        fewest[count as usize]
    }

    #[test]
    fn packing_says_the_atoms_in_the_fewest_packets() {
        let patterns = (0..=16).flat_map(|count| (0..1u32 << count).map(move |bits| (bits, count)));
        for (bits, count) in patterns {
            let headers = headers(bits, count);
            let said: Vec<bool> = headers.iter().flat_map(|&h| Atoms::of_packet(h).iter()).collect();
            let meant: Vec<bool> = (0..count).map(|i| bits >> i & 1 == 1).collect();
            assert_eq!(said, meant);
            assert_eq!(headers.len(), fewest(bits, count), "{bits:b} {count}");
        }
    }

    #[test]
    fn long_runs() {
        assert_eq!(headers(0x00ff_ffff, 25), [0xd4, 0xf6]);
        assert_eq!(headers(0x007f_ffff, 24), [0xf4]);
        assert_eq!(headers(0x01ff_ffff, 25), [0xd4, 0xf7]);
    }
}
