use std::fmt;

use super::Reason;

/// What the model has counted.
///
/// `busy + stalls.iter().sum() == cycles`: each cycle is one in which something retired, or is put down to the reason why
/// nothing did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Cycles up to the last retirement.
    pub cycles: u64,
    /// Instructions that retired.
    pub instructions: u64,
    /// Cycles in which at least one instruction retired.
    pub busy: u64,
    /// Cycles in which none did, by [`Reason`] (its number is the index).
    pub stalls: [u64; Reason::COUNT],
    /// The instruction cache; an access is an aligned fetch.
    pub icache: CacheStats,
    /// The data cache; an access is a line touched by an instruction.
    pub dcache: CacheStats,
    /// Conditional branches: wrong is the direction.
    pub branches: BranchStats,
    /// Jumps and calls to an address in a register, without returns.
    pub indirect: BranchStats,
    /// Returns, also co-routine swaps.
    pub returns: BranchStats,
    /// Branches taken as predicted whose target was not in the target buffer.
    pub redirects: u64,
    /// Traps.
    pub traps: u64,
}

/// What a cache did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Accesses that found their line.
    pub hits: u64,
    /// Accesses that did not.
    pub misses: u64,
    /// Lines written to memory to make room.
    pub write_backs: u64,
}

/// How well branches were predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BranchStats {
    /// How many.
    pub count: u64,
    /// How many went elsewhere than predicted.
    pub wrong: u64,
}

impl Stats {
    /// Cycles for each instruction; 0 before the first.
    pub fn cpi(&self) -> f64 {
        ratio(self.cycles, self.instructions)
    }

    /// Cycles in which nothing retired, for this reason.
    pub fn stall(&self, reason: Reason) -> u64 {
        self.stalls[reason as usize]
    }

    /// Which part of all branches whose way had to be guessed was guessed wrong, 0 to 1.
    pub fn mispredict_rate(&self) -> f64 {
        let kinds = [self.branches, self.indirect, self.returns];
        ratio(kinds.iter().map(|kind| kind.wrong).sum(), kinds.iter().map(|kind| kind.count).sum())
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A table of at most 80 columns; lines that would only say 0 are left out.
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
