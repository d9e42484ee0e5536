use std::fmt;

use super::Reason;

/// Counts of the model.
///
/// `busy + stalls.iter().sum() == cycles`: in each cycle something retired, or the cycle is attributed to the reason
/// why nothing did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Cycles up to the last retirement.
    pub cycles: u64,
    /// Instructions retired.
    pub instructions: u64,
    /// Cycles in which at least one instruction retired.
    pub busy: u64,
    /// Cycles in which none did, indexed by the number of the [`Reason`].
    pub stalls: [u64; Reason::COUNT],
    /// Instruction cache; an access is an aligned fetch.
    pub icache: CacheStats,
    /// Data cache; an access is a line touched by an instruction.
    pub dcache: CacheStats,
    /// Conditional branches; `wrong` counts directions.
    pub branches: BranchStats,
    /// Indirect jumps and calls, without returns.
    pub indirect: BranchStats,
    /// Returns, also coroutine swaps.
    pub returns: BranchStats,
    /// Branches taken as predicted whose target was not in the target buffer.
    pub redirects: u64,
    /// Traps.
    pub traps: u64,
}

/// Counts of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Hits.
    pub hits: u64,
    /// Misses.
    pub misses: u64,
    /// Dirty lines evicted to memory.
    pub write_backs: u64,
}

/// Counts of branch predictions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BranchStats {
    /// Number of branches.
    pub count: u64,
    /// Number of mispredicted branches.
    pub wrong: u64,
}

impl Stats {
    /// Returns the cycles per instruction; 0 before the first.
    pub fn cpi(&self) -> f64 {
        ratio(self.cycles, self.instructions)
    }

    /// Returns the cycles in which nothing retired for this reason.
    pub fn stall(&self, reason: Reason) -> u64 {
        self.stalls[reason as usize]
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Formats a table of at most 80 columns. Lines with nothing but 0 are left out.
impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |f: &mut fmt::Formatter<'_>, name: &str, count: u64, whole: u64| {
            writeln!(f, "  {name:<28} {count:>20} {:>6.1} %", 100.0 * ratio(count, whole))
        };
        writeln!(f, "{:<30} {:>20}", "instructions", self.instructions)?;
        writeln!(f, "{:<30} {:>20} {:>8.3} an instruction", "cycles", self.cycles, self.cpi())?;
        part(f, "retiring", self.busy, self.cycles)?;
        for reason in Reason::ALL {
            if self.stall(reason) != 0 {
                part(f, reason.name(), self.stall(reason), self.cycles)?;
            }
        }
        for (name, cache) in [("instruction cache", self.icache), ("data cache", self.dcache)] {
            let CacheStats { hits, misses, write_backs } = cache;
            if hits + misses != 0 {
                writeln!(f, "{name:<30} {:>20}", hits + misses)?;
                part(f, "misses", misses, hits + misses)?;
            }
            if write_backs != 0 {
                part(f, "write-backs", write_backs, hits + misses)?;
            }
        }
        let kinds = [
            ("conditional branches", self.branches),
            ("indirect jumps and calls", self.indirect),
            ("returns", self.returns),
        ];
        for (name, BranchStats { count, wrong }) in kinds {
            if count != 0 {
                writeln!(f, "{name:<30} {count:>20}")?;
                part(f, "mispredicted", wrong, count)?;
            }
        }
        for (name, count) in [("targets found late", self.redirects), ("traps", self.traps)] {
            if count != 0 {
                writeln!(f, "{name:<30} {count:>20}")?;
            }
        }
        Ok(())
    }
}
