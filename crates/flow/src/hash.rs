//! Hash maps for keys that are a few numbers, such as addresses and blocks.

use std::collections;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A hash map with a quick hash.
pub type HashMap<K, V> = collections::HashMap<K, V, NumberHash>;

/// A hash set with a quick hash.
pub type HashSet<K> = collections::HashSet<K, NumberHash>;

/// A quick hash of a few numbers. Its seeds are random, so that no file can be made whose addresses all collide.
#[derive(Clone, Copy, Debug)]
pub struct NumberHash {
    seed: u64,
    factor: u64,
}

impl Default for NumberHash {
    fn default() -> Self {
        let random = RandomState::new();
        // A factor with few bits set would mix little.
        Self { seed: random.hash_one(0), factor: random.hash_one(1) | 1 << 63 | 1 << 31 | 1 }
    }
}

impl BuildHasher for NumberHash {
    type Hasher = NumberHasher;

    #[inline]
    fn build_hasher(&self) -> NumberHasher {
        NumberHasher { hash: self.seed, factor: self.factor }
    }
}

/// The hash of the numbers so far.
#[derive(Clone, Copy, Debug)]
pub struct NumberHasher {
    hash: u64,
    factor: u64,
}

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    #[inline]
    fn write_u16(&mut self, value: u16) {
        self.write_u64(value.into());
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    #[inline]
    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.hash = folded(self.hash.rotate_left(23) ^ value, self.factor);
    }

    /// Mixes once more: with some factors, numbers at equal distances would share a few slots.
    #[inline]
    fn finish(&self) -> u64 {
        folded(self.hash, 0x9e37_79b9_7f4a_7c15)
    }
}

/// Combines both halves of the product: each bit of the number changes bits all over the hash.
#[inline]
fn folded(number: u64, factor: u64) -> u64 {
    let product = u128::from(number) * u128::from(factor);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys that differ in few bits, wherever these are, land all over a table: in its slots (low bits), and in the
    /// tags that tell keys of a slot apart (high bits).
    #[test]
    fn keys_spread_over_slots_and_tags() {
        for seed in 1..20_u64 {
            let hash = NumberHash {
                seed: seed << 60 | seed,
                factor: folded(seed, seed << 40 | 0x1234_5679) | 1 << 63 | 1 << 31 | 1,
            };
            for shift in 0..52 {
                for pair in [false, true] {
                    check(
                        shift,
                        (0..4096_u64).map(|key| match pair {
                            false => hash.hash_one(key << shift),
                            true => hash.hash_one((0x40_0000_u64, key << shift, 3_u32)),
                        }),
                    );
                }
            }
        }
    }

    /// Checks 4,096 hashes.
    fn check(shift: u32, hashes: impl Iterator<Item = u64>) {
        let (mut slots, mut tags) = (vec![0; 4096], vec![0; 128]);
        for hash in hashes {
            slots[hash as usize % 4096] += 1;
            tags[(hash >> 57) as usize] += 1;
        }
        // Random hashes use 2,589 slots and put at most about 8 keys into one, and about 32 keys under each tag.
        let used = slots.iter().filter(|&&keys| keys > 0).count();
        assert!(used > 2400, "{used} of 4096 slots, shift {shift}");
        assert!(slots.iter().all(|&keys| keys < 16), "shift {shift}");
        assert!(tags.iter().all(|&keys| keys < 96), "shift {shift}");
    }

    #[test]
    fn bytes_and_numbers_of_all_sizes_count() {
        let hash = NumberHash::default();
        let of = [
            hash.hash_one("text"),
            hash.hash_one("texts"),
            hash.hash_one("a longer text"),
            hash.hash_one(1_u8),
            hash.hash_one(2_u16),
            hash.hash_one(3_u32),
            hash.hash_one(4_usize),
            hash.hash_one(Some(5_u64)),
        ];
        assert_eq!(of.iter().collect::<collections::HashSet<_>>().len(), of.len());
    }
}
