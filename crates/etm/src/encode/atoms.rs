use crate::packet::Atoms;

/// A queue of atoms that are not written yet.
///
/// Packets are made greedily, each as long as possible. This is optimal: every suffix of an atom packet is itself an
/// atom packet, so a packet that starts later never ends after the longest packet that starts earlier.
#[derive(Clone, Debug)]
pub(super) struct AtomQueue {
    /// Atoms as bits: bit 0 is the oldest, 1 is E. Bits from `count` on are 0.
    bits: u64,
    count: u32,
    /// Capacity.
    most: u32,
}

impl Default for AtomQueue {
    fn default() -> Self {
        Self { bits: 0, count: 0, most: u64::BITS }
    }
}

impl AtomQueue {
    /// Maximum number of atoms in a packet.
    const LONGEST: u32 = 24;

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Creates a queue that is full as soon as later atoms cannot make the next packet longer.
    pub(super) fn early() -> Self {
        Self { most: Self::LONGEST, ..Self::default() }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns whether packets must be taken out before the next [`push`](Self::push).
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.count >= self.most
    }

    pub(super) fn clear(&mut self) {
        (self.bits, self.count) = (0, 0);
    }

    #[inline]
    pub(super) fn push(&mut self, taken: bool) {
        self.bits |= u64::from(taken) << self.count;
        self.count += 1;
    }

    /// Removes the newest atoms as far as they are N.
    pub(super) fn forget_not_taken(&mut self) {
        self.count = u64::BITS - self.bits.leading_zeros();
    }

    /// Returns the header of the next packet, if later atoms cannot make it longer.
    #[inline]
    pub(super) fn settled(&mut self) -> Option<u8> {
        if self.count < Self::LONGEST { None } else { self.next() }
    }

    /// Returns the header of the next packet.
    #[inline]
    pub(super) fn next(&mut self) -> Option<u8> {
        if self.count == 0 {
            return None;
        }
        let taken = self.bits.trailing_ones();
        let (count, header) = if taken >= 3 && self.count > 3 {
            // E's, and then either atom (format 6).
            let count = (taken + 1).min(Self::LONGEST).min(self.count);
            let is_all = u8::from(count <= taken);
            (count, (0xe0 - (is_all << 5)) | (count as u8 - 4))
        } else {
            let (count, header) = SHORT[self.count.min(5) as usize][self.bits as usize % 32];
            (count.into(), header)
        };
        self.bits >>= count;
        self.count -= count;
        Some(header)
    }
}

/// The longest packet that does not begin with four E's, or three and an N: its number of atoms and its header.
/// Indexed by the number of atoms, 5 standing for more, and by the first five atoms.
static SHORT: [[(u8, u8); 32]; 6] = {
    let mut table = [[(0, 0); 32]; 6];
    let mut available = 1;
    while available < 6 {
        let mut bits = 0;
        while bits < 32 {
            let mut count = available as u8;
            loop {
                if let Some(header) = (Atoms { bits, count }).header() {
                    table[available][bits as usize] = (count, header);
                    break;
                }
                count -= 1;
            }
            bits += 1;
        }
        available += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn headers(bits: u32, count: u32) -> Vec<u8> {
        let mut queue = AtomQueue { bits: bits.into(), count, ..AtomQueue::default() };
        core::iter::from_fn(|| queue.next()).collect()
    }

    /// Returns the fewest packets, by trying all ways to split.
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
