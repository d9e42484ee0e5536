//! Stall analysis: where the cycles went.

use tracewright_core::{Block, MemorySpace, Stamp};

use crate::clock::{Kind, Told};
use crate::costs::{Costs, Id, Portions};
use crate::histogram::Histogram;
use crate::timeline::Timeline;

/// CallSums up the cycles of instructions.
///
/// An instruction's cycles are those from the retirement of the previous instruction to its own, so that a stall is
/// attributed to the instruction that waited to retire. If only the cycles of several instructions together are known,
/// each gets the same part, and the number of stall cycles is a lower bound.
#[derive(Clone, Debug)]
pub struct Stalls {
    kind: Kind,
    /// Costs of single instructions.
    pub costs: Costs,
    /// Histogram of stall lengths.
    pub histogram: Histogram,
    /// Functions along the run.
    pub timeline: Timeline,
    /// Longest stalls, the longest first.
    longest: Vec<Longest>,
    account: Account,
    /// Last known cycle. `None` after a loss.
    last: Option<u64>,
    /// Last known cycle before the loss.
    before_loss: Option<u64>,
    /// Instructions since then whose cycles are not known yet.
    pending: Vec<Pending>,
    waiting: u64,
    /// For timestamps, which come late: instructions in excess of the cycles reported with a timestamp. Their cycles
    /// were reported before or will be later.
    debt: u64,
    /// Value of `account.retired` at the last loss.
    retired_at_loss: u64,
}

/// A single stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Longest {
    /// Length in cycles.
    pub length: u64,
    /// Cycle that ended it.
    pub cycle: u64,
    /// Block of the instruction that waited.
    pub block: Block,
    /// Memory space of the block.
    pub space: MemorySpace,
    /// Index of the instruction in the block.
    pub at: u32,
}

/// Account of all cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Instructions retired.
    pub retired: u64,
    /// Instructions whose cycles are not known.
    pub untimed: u64,
    /// Cycles of instructions.
    pub cycles: u64,
    /// Cycles in which nothing retired, as a lower bound.
    pub stalled: u64,
    /// Cycles before the first instruction, if the clock began before it.
    pub before: u64,
    /// Cycles in which trace was lost or off, where known.
    pub lost: u64,
    /// Cycles that belong to no instruction: those of an exception, for example, and those after the last instruction.
    pub between: u64,
    /// Number of times that an unknown number of cycles passed.
    pub losses: u64,
    /// Number of times that cycles were reported for several instructions together.
    pub shares: u64,
    /// Instructions of these reports.
    pub shared: u64,
}

impl Account {
    /// Returns all cycles accounted for.
    pub fn all(&self) -> u64 {
        self.before + self.cycles + self.lost + self.between
    }
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    id: Id,
    at: u32,
    count: u32,
}

/// Block number of instructions that are not wanted.
const OUTSIDE: Id = Id::MAX;
/// Maximum number of blocks, or of owners, that wait for cycles.
const MOST_PENDING: usize = 1 << 20;
/// Columns of the timeline.
const PIECES: u32 = 800;
/// Number of longest stalls kept.
const LONGEST: usize = 10;

impl Stalls {
    /// Creates an empty analysis for a kind of clock.
    pub fn new(kind: Kind) -> Self {
        let last = (kind == Kind::Counts).then_some(0);
        Self {
            kind,
            costs: Costs::default(),
            histogram: Histogram::default(),
            timeline: Timeline::new(PIECES),
            longest: Vec::new(),
            account: Account::default(),
            last,
            before_loss: None,
            pending: Vec::new(),
            waiting: 0,
            debt: 0,
            retired_at_loss: 0,
        }
    }

    /// Takes the stamps of a block. `function` returns the number of its function and is called once for each block.
    pub fn block(
        &mut self,
        block: &Block,
        space: MemorySpace,
        stamps: &[Stamp],
        function: impl FnOnce() -> u32,
    ) {
        let id = self.costs.run(block, space, function);
        self.account.retired += stamps.len() as u64;
        for (at, stamp) in (0..).zip(stamps) {
            match *stamp {
                Stamp::Exact(cycle) => self.exact(id, at, cycle, block, space),
                Stamp::Between(..) | Stamp::From(_) | Stamp::Unknown => self.wait(id, at),
            }
        }
    }

    /// Takes the stamps of instructions that are not wanted. Their cycles are attributed to no instruction.
    pub fn passed(&mut self, stamps: &[Stamp]) {
        for stamp in stamps {
            match *stamp {
                Stamp::Exact(cycle) => {
                    if self.waiting > 0 {
                        self.wait(OUTSIDE, 0);
                        self.reached(cycle);
                        continue;
                    }
                    self.account.between += match self.last.map(|last| cycle.checked_sub(last)) {
                        Some(Some(cycles)) => cycles,
                        // The clock went back.
                        Some(None) => {
                            self.lose();
                            self.begin(cycle)
                        }
                        None => self.begin(cycle),
                    };
                    self.last = Some(cycle);
                }
                Stamp::Between(..) | Stamp::From(_) | Stamp::Unknown => self.wait(OUTSIDE, 0),
            }
        }
    }

    /// Takes what the clock says about another element.
    pub fn told(&mut self, told: Told<'_>) {
        match told {
            Told::Reached(cycle) => self.reached(cycle),
            Told::Lost => self.lose(),
            Told::Block(_) | Told::Nothing => {}
        }
    }

    #[inline]
    fn exact(&mut self, id: Id, at: u32, cycle: u64, block: &Block, space: MemorySpace) {
        if self.waiting > 0 {
            self.wait(id, at);
            return self.reached(cycle);
        }
        let Some(last) = self.last else { return self.first(id, at, cycle) };
        let Some(cycles) = cycle.checked_sub(last) else {
            self.lose();
            return self.first(id, at, cycle);
        };
        self.last = Some(cycle);
        if cycles == 0 {
            return;
        }
        let stalled = cycles - 1;
        self.costs.add(id, at, cycles, stalled);
        self.account.cycles += cycles;
        self.account.stalled += stalled;
        if stalled > 0 {
            self.histogram.add(stalled);
            if self.longest.len() < LONGEST || self.longest.last().is_some_and(|least| stalled > least.length)
            {
                self.longest(Longest { length: stalled, cycle, block: *block, space, at });
            }
        }
        self.timeline.add(self.costs.function(id), last, cycle, 1);
    }

    #[cold]
    fn longest(&mut self, stall: Longest) {
        let at = self.longest.partition_point(|other| other.length >= stall.length);
        self.longest.insert(at, stall);
        self.longest.truncate(LONGEST);
    }

    /// Counts the first instruction after a loss. What it waited for is not known.
    #[cold]
    fn first(&mut self, id: Id, at: u32, cycle: u64) {
        let own = self.begin(cycle);
        self.costs.add(id, at, own, 0);
        self.account.cycles += own;
        self.timeline.add(self.costs.function(id), cycle - own, cycle, own);
        self.last = Some(cycle);
    }

    /// Accounts for the cycles up to the first instruction after a loss, wanted or not. Returns its own, 0 or 1.
    #[cold]
    fn begin(&mut self, cycle: u64) -> u64 {
        let before = cycle.saturating_sub(1);
        match self.before_loss.take() {
            None => {
                self.account.before += before;
                cycle - before
            }
            Some(last) => {
                self.account.lost += before.saturating_sub(last);
                self.timeline.add(Timeline::LOST, last, before, 0);
                // A wide core may retire in the cycle that was counted last.
                u64::from(cycle > last)
            }
        }
    }

    /// Adds an instruction whose cycles are not known yet.
    #[inline]
    fn wait(&mut self, id: Id, at: u32) {
        self.waiting += 1;
        match self.pending.last_mut() {
            Some(last) if last.id == OUTSIDE && id == OUTSIDE && last.count < u32::MAX => last.count += 1,
            Some(last) if last.id == id && id != OUTSIDE && last.at + last.count == at => last.count += 1,
            _ => self.pending.push(Pending { id, at, count: 1 }),
        }
        if self.pending.len() > MOST_PENDING {
            self.give_up();
        }
    }

    /// Gives up waiting for the cycles of pending instructions. Only those that are wanted are counted.
    #[cold]
    fn give_up(&mut self) {
        let wanted = self.pending.drain(..).filter(|pending| pending.id != OUTSIDE);
        self.account.untimed += wanted.map(|pending| u64::from(pending.count)).sum::<u64>();
        self.waiting = 0;
    }

    /// Notes that all instructions so far had retired by this cycle.
    fn reached(&mut self, cycle: u64) {
        let Some(last) = self.last else {
            // The duration before the first report of the clock is not known.
            self.give_up();
            match self.before_loss.take() {
                None => self.account.before += cycle,
                Some(last) => {
                    self.account.lost += cycle.saturating_sub(last);
                    self.timeline.add(Timeline::LOST, last, cycle, 0);
                }
            }
            self.last = Some(cycle);
            return;
        };
        let Some(cycles) = cycle.checked_sub(last) else {
            self.lose();
            self.before_loss = None;
            self.last = Some(cycle);
            return;
        };
        self.last = Some(cycle);
        if self.waiting == 0 {
            self.account.between += cycles;
            return;
        }
        let mut stalled = cycles.saturating_sub(self.waiting);
        if self.kind == Kind::Times {
            let owed = self.debt + self.waiting.saturating_sub(cycles);
            (stalled, self.debt) = (stalled.saturating_sub(owed), owed.saturating_sub(stalled));
        }
        self.account.cycles += cycles;
        self.account.stalled += stalled;
        self.account.shares += 1;
        self.account.shared += self.waiting;
        let mut wanted = 0;
        let mut each = Portions::new(cycles, self.waiting);
        let mut each_stalled = Portions::new(stalled, self.waiting);
        let mut at = last;
        for Pending { id, at: first, count } in self.pending.drain(..) {
            let (cycles, stalled) = (each.take(count.into()), each_stalled.take(count.into()));
            let stalled = stalled.min(cycles);
            if id == OUTSIDE {
                self.account.cycles -= cycles;
                self.account.stalled -= stalled;
                self.account.between += cycles;
                at += cycles;
                continue;
            }
            wanted += stalled;
            self.costs.share(id, first, count, cycles, stalled);
            self.timeline.add(self.costs.function(id), at, at + cycles, cycles - stalled);
            at += cycles;
        }
        self.histogram.add(wanted);
        self.waiting = 0;
    }

    /// Drops the debt: no more timestamps come for what ran, and its cycles were reported before, as stalls.
    fn settle_debt(&mut self) {
        self.account.stalled = self.account.stalled.saturating_sub(std::mem::take(&mut self.debt));
    }

    /// Notes that an unknown number of cycles passed.
    fn lose(&mut self) {
        self.give_up();
        self.settle_debt();
        // One gap is reported by several elements.
        if self.account.retired > self.retired_at_loss {
            self.account.losses += 1;
            self.retired_at_loss = self.account.retired;
        }
        // Counts go on from their sum.
        if self.kind != Kind::Counts
            && let Some(last) = self.last.take()
        {
            self.before_loss = Some(last);
        }
    }

    /// Ends the trace. `end` is the cycle after the last one in the trace.
    pub fn finish(&mut self, end: Option<u64>) {
        self.give_up();
        self.settle_debt();
        let last = self.last.or(self.before_loss);
        if let (Some(end), Some(last)) = (end, last) {
            self.account.between += end.saturating_sub(1).saturating_sub(last);
        }
    }

    /// Returns the account of all cycles.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Returns the longest stalls that belong to a single instruction, the longest first.
    pub fn longest_stalls(&self) -> &[Longest] {
        &self.longest
    }

    /// Returns the kind of clock.
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

/// Attributes cycles to owners, such as call tree nodes or loops, as [`Stalls`] does to instructions: an instruction's cycles are those
/// from the retirement of the previous instruction to its own. If only the cycles of several instructions together are
/// known, each gets the same part.
#[derive(Clone, Debug)]
pub struct Meter {
    kind: Kind,
    /// Last known cycle. `None` after a loss.
    last: Option<u64>,
    before_loss: Option<u64>,
    /// Instructions since then, by owner, whose cycles are not known yet.
    pending: Vec<(u32, u64)>,
    waiting: u64,
}

impl Meter {
    /// Creates a meter for a kind of clock.
    pub fn new(kind: Kind) -> Self {
        let last = (kind == Kind::Counts).then_some(0);
        Self { kind, last, before_loss: None, pending: Vec::new(), waiting: 0 }
    }

    /// Takes the stamps of a block of `owner`. Calls `add` with owners and their cycles.
    pub fn block(&mut self, owner: u32, stamps: &[Stamp], mut add: impl FnMut(u32, u64)) {
        // If all stamps of the block are exact, its cycles are one difference.
        let mut sum = 0;
        for stamp in stamps {
            let &Stamp::Exact(cycle) = stamp else {
                self.wait(owner);
                continue;
            };
            if self.waiting > 0 {
                self.wait(owner);
                self.reached(cycle, &mut add);
                continue;
            }
            match self.last.map(|last| cycle.checked_sub(last)) {
                Some(Some(cycles)) => {
                    sum += cycles;
                    self.last = Some(cycle);
                    continue;
                }
                // The clock went back.
                Some(None) => self.lose(),
                None => {}
            }
            sum += match self.before_loss.take() {
                None => u64::from(cycle > 0),
                Some(last) => u64::from(cycle > last),
            };
            self.last = Some(cycle);
        }
        if sum > 0 {
            add(owner, sum);
        }
    }

    /// Takes what the clock says about another element.
    pub fn told(&mut self, told: Told<'_>, mut add: impl FnMut(u32, u64)) {
        match told {
            Told::Reached(cycle) => self.reached(cycle, &mut add),
            Told::Lost => self.lose(),
            Told::Block(_) | Told::Nothing => {}
        }
    }

    fn wait(&mut self, owner: u32) {
        self.waiting += 1;
        match self.pending.last_mut() {
            Some((last, count)) if *last == owner => *count += 1,
            _ => self.pending.push((owner, 1)),
        }
        if self.pending.len() > MOST_PENDING {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.waiting = 0;
        self.pending.clear();
    }

    fn reached(&mut self, cycle: u64, add: &mut impl FnMut(u32, u64)) {
        let cycles = self.last.map(|last| cycle.checked_sub(last));
        if let Some(None) = cycles {
            self.lose();
        }
        self.before_loss = None;
        self.last = Some(cycle);
        let Some(Some(cycles)) = cycles else { return self.give_up() };
        let mut each = Portions::new(cycles, self.waiting);
        for (owner, count) in self.pending.drain(..) {
            add(owner, each.take(count));
        }
        self.waiting = 0;
    }

    fn lose(&mut self) {
        self.give_up();
        if self.kind != Kind::Counts
            && let Some(last) = self.last.take()
        {
            self.before_loss = Some(last);
        }
    }
}
