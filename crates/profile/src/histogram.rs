//! Histogram of stall lengths.

/// Stalls by length: 1, 2, 3 to 4, 5 to 8 cycles, and so on.
#[derive(Clone, Copy, Debug)]
pub struct Histogram {
    buckets: [(u64, u64); 65],
}

/// Stalls of similar length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Shortest length, in cycles.
    pub from: u64,
    /// Longest length, in cycles.
    pub to: u64,
    /// Number of stalls.
    pub count: u64,
    /// Total cycles.
    pub cycles: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: [(0, 0); 65] }
    }
}

impl Histogram {
    /// Adds a stall of `length` cycles; 0 is ignored.
    #[inline]
    pub fn add(&mut self, length: u64) {
        if let Some(less) = length.checked_sub(1) {
            let (count, cycles) = &mut self.buckets[64 - less.leading_zeros() as usize];
            *count += 1;
            *cycles += length;
        }
    }

    /// Adds another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (here, there) in self.buckets.iter_mut().zip(&other.buckets) {
            *here = (here.0 + there.0, here.1 + there.1);
        }
    }

    /// Returns all buckets up to the last one that is not empty.
    pub fn buckets(&self) -> Vec<Bucket> {
        let used = self.buckets.iter().rposition(|&(count, _)| count > 0).map_or(0, |last| last + 1);
        let all = self.buckets[..used].iter().enumerate();
        all.map(|(i, &(count, cycles))| {
            let to = 1u64.checked_shl(i as u32).unwrap_or(u64::MAX);
            let from = if i == 0 { 1 } else { (1u64 << (i - 1)) + 1 };
            Bucket { from, to, count, cycles }
        })
        .collect()
    }
}
