//! Front end: fetch and branch prediction.

use tracewright_isa::riscv::IType;

use super::lines::Lines;
use super::predictor::{Directions, ReturnStack, TargetBuffer};
use super::reason::When;
use super::{Config, Reason, Stats};

/// Fetches instructions, one group of aligned bytes in each cycle.
#[derive(Clone, Debug)]
pub(super) struct Front {
    icache: Lines,
    /// Last fetched group. [`NONE`] if the next instruction needs a new fetch in any case.
    group: u64,
    group_mask: u64,
    /// Cache line of that group.
    line: u64,
    /// First cycle in which the last fetched instructions can begin.
    at: u64,
    /// Earliest time of a new fetch.
    pub redirect: When,
    /// Cycle in which the last miss was over.
    pub missed: u64,
    directions: Directions,
    targets: TargetBuffer,
    returns: ReturnStack,
    pending: Option<Pending>,
}

/// An indirect branch whose target is known only with the next block.
#[derive(Clone, Copy, Debug)]
struct Pending {
    pc: u64,
    predicted: Option<u64>,
    is_return: bool,
    /// Cycle in which the branch began.
    issue: u64,
}

/// Value that no group or line has.
const NONE: u64 = u64::MAX;

#[derive(Clone, Copy, Debug)]
pub(super) struct Branch {
    pub itype: IType,
    pub pc: u64,
    /// Address after the branch.
    pub end: u64,
    pub offset: i32,
    pub taken: bool,
    /// Cycle in which the branch began.
    pub issue: u64,
}

impl Front {
    /// Creates an empty front end for a checked configuration.
    pub fn new(config: &Config) -> Self {
        Self {
            icache: Lines::new(&config.icache),
            group: NONE,
            group_mask: !u64::from(config.fetch_bytes - 1),
            line: NONE,
            at: 0,
            redirect: When::START,
            missed: 0,
            directions: Directions::new(config),
            targets: TargetBuffer::new(config.btb_entries),
            returns: ReturnStack::new(config.return_stack),
            pending: None,
        }
    }

    /// Fetches an instruction. Returns the first cycle in which it can begin. The queue has room for it from cycle
    /// `room` on.
    #[inline(always)]
    pub fn fetch(&mut self, pc: u64, len: u8, room: u64, config: &Config, stats: &mut Stats) -> u64 {
        for address in [pc, pc.wrapping_add(u64::from(len) - 1)] {
            let group = address & self.group_mask;
            if group != self.group {
                self.group = group;
                self.fetch_group(group, config, stats);
            }
        }
        self.at = self.at.max(room);
        self.at
    }

    #[inline(always)]
    fn fetch_group(&mut self, group: u64, config: &Config, stats: &mut Stats) {
        self.at = (self.at + 1).max(self.redirect.cycle());
        let line = self.icache.line(group);
        // The line used last is still there, and still the last.
        if line == self.line || self.icache.access(line, false).hit {
            stats.icache.hits += 1;
        } else {
            stats.icache.misses += 1;
            self.at += u64::from(config.icache.miss);
            self.missed = self.at;
        }
        self.line = line;
    }

    /// Lets the next instruction begin `penalty` cycles later than right after `cycle`, with a new fetch.
    #[inline]
    pub fn restart(&mut self, cycle: u64, penalty: u32, reason: Reason, config: &Config) {
        let refill = u64::from(penalty) + u64::from(config.icache.hit - 1);
        self.redirect = self.redirect.max(When::new(cycle + 1 + refill, reason));
        self.group = NONE;
    }

    /// Empties the instruction cache.
    #[cold]
    pub fn clear(&mut self) {
        self.icache.clear();
        (self.group, self.line) = (NONE, NONE);
    }

    /// Trains the predictor with a retired branch, and delays the next fetch if it was mispredicted.
    #[inline]
    pub fn branch(&mut self, branch: &Branch, config: &Config, stats: &mut Stats) {
        let &Branch { itype, pc, end, offset, taken, issue } = branch;
        let is_return = matches!(itype, IType::Return | IType::CoRoutineSwap);
        match itype {
            IType::TakenBranch => {
                let predicted = self.directions.branch(pc, offset < 0, taken);
                stats.branches.count += 1;
                if predicted != taken {
                    stats.branches.wrong += 1;
                    self.restart(issue, config.mispredict_penalty, Reason::Mispredict, config);
                    if taken {
                        self.targets.set(pc, pc.wrapping_add(offset as u64));
                    }
                } else if taken {
                    self.direct(pc, offset, config, stats);
                }
            }
            IType::InferableCall | IType::InferableJump | IType::OtherInferableJump => {
                self.direct(pc, offset, config, stats);
            }
            IType::TrapReturn => self.restart(issue, config.mispredict_penalty, Reason::Trap, config),
            _ => {
                let predicted = if is_return { self.returns.pop() } else { self.targets.get(pc) };
                self.group = NONE;
                self.pending = Some(Pending { pc, predicted, is_return, issue });
            }
        }
        if matches!(itype, IType::InferableCall | IType::UninferableCall | IType::CoRoutineSwap) {
            self.returns.push(end);
        }
    }

    /// Handles a direct branch that was taken as predicted.
    #[inline]
    fn direct(&mut self, pc: u64, offset: i32, config: &Config, stats: &mut Stats) {
        self.group = NONE;
        if self.targets.get(pc).is_none() {
            stats.redirects += 1;
            self.targets.set(pc, pc.wrapping_add(offset as u64));
            // The target is found by decoding, so the penalty counts from the fetch: a front end that is ahead hides it.
            self.restart(self.at, config.redirect_penalty, Reason::Redirect, config);
        }
    }

    /// Resolves the last indirect branch: execution continued at `pc`.
    #[inline]
    pub fn resolve(&mut self, pc: u64, config: &Config, stats: &mut Stats) {
        let Some(pending) = self.pending.take() else { return };
        let kind = if pending.is_return { &mut stats.returns } else { &mut stats.indirect };
        kind.count += 1;
        if pending.predicted != Some(pc) {
            kind.wrong += 1;
            self.restart(pending.issue, config.mispredict_penalty, Reason::Mispredict, config);
        }
        if !pending.is_return {
            self.targets.set(pending.pc, pc);
        }
    }
}
