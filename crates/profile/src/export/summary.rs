//! Distribution of counts, by which compilers decide what is hot or cold.

use std::collections::BTreeMap;

use super::samples::{Function, Samples};

/// Shares of the total count, in millionths, that the summary lists.
const CUTOFFS: [u32; 16] = [
    10_000, 100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000, 800_000, 900_000, 950_000,
    990_000, 999_000, 999_900, 999_990, 999_999,
];

/// Distribution of the counts of samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    /// Sum of all counts.
    pub total: u64,
    /// Largest count.
    pub most: u64,
    /// Largest number of entries of a function.
    pub most_entered: u64,
    /// Number of counts.
    pub counts: u64,
    /// Number of functions.
    pub functions: u64,
    /// For each share: the smallest count needed to reach it, and how many counts are at least that large.
    pub shares: Vec<(u32, u64, u64)>,
}

impl Summary {
    pub fn of(samples: &Samples) -> Self {
        let mut counts = Vec::new();
        samples.functions.values().for_each(|function| collect(function, &mut counts));
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let total: u64 = counts.iter().sum();
        let (mut sum, mut at) = (0, 0);
        let mut shares = Vec::with_capacity(CUTOFFS.len());
        for cutoff in CUTOFFS {
            let wanted = (u128::from(total) * u128::from(cutoff) / 1_000_000) as u64;
            while sum < wanted && at < counts.len() {
                // Equal counts go together.
                let count = counts[at];
                while at < counts.len() && counts[at] == count {
                    sum += count;
                    at += 1;
                }
            }
            let least = at.checked_sub(1).map_or(0, |last| counts[last]);
            shares.push((cutoff, least, at as u64));
        }
        Self {
            total,
            most: counts.first().copied().unwrap_or(0),
            most_entered: samples.functions.values().map(|function| function.head).max().unwrap_or(0),
            counts: counts.len() as u64,
            functions: samples.functions.len() as u64,
            shares,
        }
    }

    /// Returns the numbers before the shares and the number of shares, as all formats have them.
    pub fn head(&self) -> [u64; 6] {
        let shares = self.shares.len() as u64;
        [self.total, self.most, self.most_entered, self.counts, self.functions, shares]
    }
}

fn collect(function: &Function, counts: &mut Vec<u64>) {
    counts.extend(function.body.values().map(|body| body.count));
    function.inlined.values().flat_map(BTreeMap::values).for_each(|callee| collect(callee, counts));
}
