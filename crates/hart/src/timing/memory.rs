//! Data memory: the cache, outstanding misses, and the store buffer.

use super::lines::Lines;
use super::reason::When;
use super::{CacheStats, Config, Reason};
use crate::Access;

#[derive(Clone, Debug)]
pub(super) struct Memory {
    dcache: Lines,
    /// Last misses of loads: line and arrival. Number `n` is at `n % 8`.
    misses: [(u64, u64); 8],
    missed: usize,
    /// Arrival of the last of these.
    pub arrived: u64,
    /// Cycles in which the last stores leave the buffer. Number `n` is at `n % 64`.
    stores: [u64; 64],
    stored: usize,
    /// Cycle in which the last store leaves the buffer.
    pub drained: u64,
}

/// Timing of a load or atomic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    /// Time of the result.
    pub ready: When,
    /// Cycle up to which the port is occupied beyond its usual time; 0 if it is not.
    pub port: u64,
}

impl Memory {
    /// Creates empty memory for a checked configuration.
    pub fn new(config: &Config) -> Self {
        Self {
            dcache: Lines::new(&config.dcache),
            misses: [(u64::MAX, 0); 8],
            missed: 0,
            arrived: 0,
            stores: [0; 64],
            stored: 0,
            drained: 0,
        }
    }

    /// Accesses the lines of an access. Calls `each` with each line and whether it hit.
    #[inline(always)]
    fn touch(
        &mut self,
        access: &Access,
        write: bool,
        stats: &mut CacheStats,
        mut each: impl FnMut(&mut Self, u64, bool),
    ) {
        let first = self.dcache.line(access.address);
        // An access that wraps around the address space counts as in one line.
        let last = access.address.saturating_add(u64::from(access.size).saturating_sub(1));
        for line in first..=self.dcache.line(last) {
            let found = self.dcache.access(line, write);
            stats.hits += u64::from(found.hit);
            stats.misses += u64::from(!found.hit);
            stats.write_backs += u64::from(found.write_back);
            each(self, line, found.hit);
        }
    }

    /// Executes a load that begins in cycle `issue` and takes `latency` cycles if it hits.
    #[inline(always)]
    pub fn load(
        &mut self,
        issue: u64,
        latency: u64,
        accesses: &[Access],
        config: &Config,
        stats: &mut CacheStats,
    ) -> Taken {
        let mut taken = Taken { ready: When::new(issue + latency, Reason::LoadUse), port: 0 };
        for access in accesses {
            self.touch(access, false, stats, |memory, line, hit| {
                if hit && issue >= memory.arrived {
                    return;
                }
                let arrives = match memory.misses.iter().find(|miss| hit && miss.0 == line) {
                    Some(&(_, arrives)) => arrives,
                    None if hit => return,
                    None => memory.miss(line, issue, config),
                };
                if arrives > issue {
                    taken.ready = taken.ready.max(When::new(arrives + latency, Reason::DataMiss));
                }
                if config.outstanding_misses == 0 {
                    taken.port = arrives + 1;
                }
            });
        }
        taken
    }

    /// Handles a miss of a load. Returns when the line arrives.
    fn miss(&mut self, line: u64, issue: u64, config: &Config) -> u64 {
        let before = match config.outstanding_misses as usize {
            0 => 0,
            most => self.misses[self.missed.wrapping_sub(most) % 8].1,
        };
        let arrives = before.max(issue) + u64::from(config.dcache.miss);
        self.misses[self.missed % 8] = (line, arrives);
        self.missed = self.missed.wrapping_add(1);
        self.arrived = self.arrived.max(arrives);
        arrives
    }

    /// Returns the cycle from which the buffer has room for a store.
    #[inline(always)]
    pub fn room(&self, config: &Config) -> u64 {
        self.stores[self.stored.wrapping_sub(config.store_buffer as usize) % 64]
    }

    /// Executes a store that begins in cycle `issue`.
    #[inline(always)]
    pub fn store(&mut self, issue: u64, accesses: &[Access], config: &Config, stats: &mut CacheStats) {
        let mut cycles = 1;
        for access in accesses {
            self.touch(access, true, stats, |_, _, hit| {
                cycles += if hit { 0 } else { u64::from(config.dcache.miss) };
            });
        }
        self.drained = self.drained.max(issue) + cycles;
        self.stores[self.stored % 64] = self.drained;
        self.stored = self.stored.wrapping_add(1);
    }

    /// Executes an atomic operation that begins in cycle `issue` and takes `latency` cycles if it hits. The port waits
    /// for a miss.
    pub fn atomic(
        &mut self,
        issue: u64,
        latency: u64,
        accesses: &[Access],
        config: &Config,
        stats: &mut CacheStats,
    ) -> Taken {
        let mut miss = 0;
        for access in accesses {
            self.touch(access, true, stats, |_, _, hit| {
                miss += if hit { 0 } else { u64::from(config.dcache.miss) };
            });
        }
        let reason = if miss == 0 { Reason::LoadUse } else { Reason::DataMiss };
        let port = if miss == 0 { 0 } else { issue + miss + 1 + u64::from(config.atomic) };
        Taken { ready: When::new(issue + miss + latency, reason), port }
    }
}
