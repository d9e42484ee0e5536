//! The front end: what is fetched when, and where it is thought to go on.

use tracewright_isa::riscv::IType;

use super::lines::Lines;
use super::predictor::Directions;
use super::reason::When;
use super::targets::{ReturnStack, TargetBuffer};
use super::{Config, Reason, Stats};

/// Fetches instructions, a group of aligned bytes a cycle.
#[derive(Clone, Debug)]
pub(super) struct Front {
    icache: Lines,
    /// The group fetched last; [`NONE`] when the next instruction needs a new fetch wherever it is.
    group: u64,
    group_mask: u64,
    /// The line that group is in.
    line: u64,
    /// The first cycle in which what was fetched last can begin.
    at: u64,
    /// No new fetch is earlier than that.
    pub redirect: When,
    /// When the last miss was over.
    pub missed: u64,
    directions: Directions,
    targets: TargetBuffer,
    returns: ReturnStack,
    pending: Option<Pending>,
}

/// An indirect branch of which it is not known yet where it went: the next block tells.
#[derive(Clone, Copy, Debug)]
struct Pending {
    pc: u64,
    predicted: Option<u64>,
    is_return: bool,
    /// When the branch began.
    issue: u64,
}

/// No group or line has this address or number.
const NONE: u64 = u64::MAX;

/// A branch that retired.
#[derive(Clone, Copy, Debug)]
pub(super) struct Branch {
    pub itype: IType,
    pub pc: u64,
    /// The address after it.
    pub end: u64,
    pub offset: i32,
    pub taken: bool,
    /// When it began.
    pub issue: u64,
}

impl Front {
    /// An empty one, of a configuration that was checked.
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

    /// Fetches an instruction: the first cycle in which it can begin. The queue has room for it from cycle `room` on.
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

    /// The next instruction can begin `penalty` cycles later than right after `cycle`; it takes a new fetch.
    #[inline]
    pub fn restart(&mut self, cycle: u64, penalty: u32, reason: Reason, config: &Config) {
        let refill = u64::from(penalty) + u64::from(config.icache.hit - 1);
        self.redirect = self.redirect.max(When::new(cycle + 1 + refill, reason));
        self.group = NONE;
    }

    /// Forgets the instruction cache.
    #[cold]
    pub fn clear(&mut self) {
        self.icache.clear();
        (self.group, self.line) = (NONE, NONE);
    }

    /// A branch retired: learns from it, and waits where it was not foreseen.
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

    /// A branch whose target the instruction tells was taken, as foreseen.
    #[inline]
    fn direct(&mut self, pc: u64, offset: i32, config: &Config, stats: &mut Stats) {
        self.group = NONE;
        if self.targets.get(pc).is_none() {
            stats.redirects += 1;
            self.targets.set(pc, pc.wrapping_add(offset as u64));
            // Found by decoding, so counted from the fetch: a front end that is ahead hides it.
            self.restart(self.at, config.redirect_penalty, Reason::Redirect, config);
        }
    }

    /// Execution went on at `pc`: now it is known whether the last indirect branch was foreseen.
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
