//! Compares a trace with a log, item by item, in bounded memory.

use std::collections::VecDeque;

use tracewright_core::Ended;

use super::item::{Data, Item, Mode, Run, Told, Trap, Unknown};

/// Traps that a log has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Traps {
    /// Every trap.
    All,
    /// Only ECALL and EBREAK, whose cause is a guess, as in QEMU's logs. An instruction that an exception kept from retiring is in the log
    /// as if it had retired.
    Missing,
}

/// The first difference between trace and log. Fields have the value of each side, and the address of the instruction.
#[allow(missing_docs, reason = "the sides of a difference, which need no words")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parted {
    /// Instructions at different addresses ran.
    Address { trace: u64, log: u64 },
    /// The branch at this address was taken in one of them only.
    Branch { at: u64, taken_in_trace: bool },
    /// Only the trace has a trap here.
    OnlyInTrace(Trap),
    /// Only the log has a trap here.
    OnlyInLog(Trap),
    /// Traps differ.
    Trap { trace: Trap, log: Trap },
    /// The same instruction ran with different privileges.
    Privilege { at: u64, trace: u8, log: u8 },
    /// The same instruction ran in different contexts.
    Context { at: u64, trace: u64, log: u64 },
    /// Accesses to memory differ, or only one of the two has one more.
    Data { trace: Option<Data>, log: Option<Data> },
    /// It cannot be known whether they are equal.
    Unknown(Unknown),
    /// The trace ends, and the log goes on.
    TraceEnds,
    /// The log ends, and the trace goes on.
    LogEnds,
}

/// Totals of what is equal so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Equal {
    /// Instructions.
    pub instructions: u64,
    /// Traps.
    pub traps: u64,
    /// Accesses to memory, where both have them.
    pub accesses: u64,
    /// Whether later accesses were not compared: the trace has lost some, or leaves open how often some ran.
    pub accesses_ended: bool,
    /// Times that the trace left open how many rounds of a loop ran.
    pub open: u64,
    /// Instructions that the log has for those rounds.
    pub uncounted: u64,
    /// Whether the log ends with a trap that the trace has not: nothing ran after it, and not every protocol then tells it.
    pub has_last_trap: bool,
}

/// Number of runs that are remembered.
const LAST: usize = 4;

/// Most accesses of one side that wait for those of the other. If there are more, the other side lacks them; if it has none at all,
/// accesses are not compared.
const WAITING: usize = 1 << 20;

/// Accesses that were not compared yet. Only one of the two sides has any.
#[derive(Debug, Default)]
struct Accesses {
    trace: VecDeque<Data>,
    log: VecDeque<Data>,
}

/// A comparison in progress.
#[derive(Debug)]
pub struct Compare<L: Iterator<Item = Item>> {
    log: L,
    kind: Traps,
    /// The log's next item, if it was read; of a run, the rest that was not compared yet.
    next: Option<Item>,
    /// After a difference: the rest of the trace's item, and the log's item after the next.
    pub left: Option<Item>,
    second: Option<Item>,
    log_mode: Mode,
    trace_mode: Mode,
    /// Whether the trace leaves open what ran before its next item.
    is_open: bool,
    /// A loop that only waits, from its first to behind its last byte: the trace still turns in it, the log does not.
    waits_in: Option<(u64, u64)>,
    /// Rounds of such loops that only one side has.
    pub wait_rounds: u64,
    /// Whether the log's beginning may be skipped, where no image has its code.
    pub may_skip: bool,
    /// Whether the log is skipped up to the next run of the trace.
    skips: bool,
    /// Instructions of the log that were skipped.
    pub skipped: u64,
    accesses: Accesses,
    pub equal: Equal,
    /// The last runs that both sides have.
    pub last: VecDeque<Run>,
}

impl<L: Iterator<Item = Item>> Compare<L> {
    pub fn new(log: L, kind: Traps) -> Self {
        let last = VecDeque::with_capacity(LAST);
        Self {
            log,
            kind,
            next: None,
            left: None,
            second: None,
            log_mode: Mode::default(),
            trace_mode: Mode::default(),
            is_open: false,
            waits_in: None,
            wait_rounds: 0,
            may_skip: false,
            skips: false,
            skipped: 0,
            accesses: Accesses::default(),
            equal: Equal::default(),
            last,
        }
    }

    /// Returns the log's items from here on.
    pub fn log(&mut self) -> impl Iterator<Item = Item> {
        self.next.take().into_iter().chain(self.second.take()).chain(&mut self.log)
    }

    /// Returns the log itself.
    pub fn into_log(self) -> L {
        self.log
    }

    /// Takes the next item of the trace. `len` returns the length of an instruction.
    #[inline]
    pub fn take(&mut self, told: &Told, len: impl Fn(u64) -> u64) -> Result<(), Parted> {
        match told.item {
            Item::Run(run) if self.waits_in.is_some() => self.wait(run),
            Item::Run(run) if self.skips => {
                self.skip_to(run.start);
                self.run(run)
            }
            Item::Trap(_) | Item::Unknown(Unknown::Path) if self.skips => Ok(()),
            Item::Unknown(Unknown::NoCode) if self.may_skip && self.equal.instructions == 0 => {
                self.skips = true;
                Ok(())
            }
            Item::Run(run) => {
                self.run(run).map_err(|parted| self.or_open(parted))?;
                self.same_accesses()
            }
            Item::Data(data) => {
                self.accesses.trace.push_back(data);
                self.same_accesses()
            }
            Item::DataLost => {
                self.equal.accesses_ended = true;
                Ok(())
            }
            Item::Trap(trap) => self
                .trap(trap, len)
                .inspect_err(|_| self.left = Some(told.item))
                .map_err(|parted| self.or_open(parted)),
            Item::Mode(mode) => {
                self.trace_mode.update(mode);
                // V modes have no number of their own in logs.
                self.trace_mode.privilege = self.trace_mode.privilege.filter(|&level| level < 4);
                Ok(())
            }
            Item::Unknown(Unknown::Path) => {
                self.is_open = true;
                self.equal.open += 1;
                Ok(())
            }
            Item::Unknown(why) => Err(Parted::Unknown(why)),
        }
    }

    /// Ends the trace, so the log must end, too. A trap at the very end of a log is in no trace, since a trap is reported together with
    /// the instruction after it.
    pub fn end(&mut self) -> Result<(), Parted> {
        while self.pass_round() {}
        self.peek();
        self.pass_undecided();
        let next = self.peek();
        if let Some(Item::Trap(_)) = next {
            self.next = None;
            self.second = self.peek();
            if self.second.is_none() {
                self.equal.has_last_trap = true;
                return self.accesses_end();
            }
            self.next = next;
        }
        if next.is_some() { Err(Parted::TraceEnds) } else { self.accesses_end() }
    }

    /// Compares the accesses that both sides have reported.
    fn same_accesses(&mut self) -> Result<(), Parted> {
        let Accesses { trace, log } = &mut self.accesses;
        if self.equal.accesses_ended {
            trace.clear();
            log.clear();
        }
        while let (Some(of_trace), Some(of_log)) = (trace.front(), log.front()) {
            if !of_trace.agrees(of_log) {
                return Err(Parted::Data { trace: Some(*of_trace), log: Some(*of_log) });
            }
            trace.pop_front();
            log.pop_front();
            self.equal.accesses += 1;
        }
        if trace.len().max(log.len()) <= WAITING {
            return Ok(());
        }
        self.equal.accesses_ended = true;
        self.no_access_left()
    }

    /// Ends the comparison of accesses: if both sides have accesses, none may be left.
    fn accesses_end(&mut self) -> Result<(), Parted> {
        self.same_accesses()?;
        self.no_access_left()
    }

    /// Fails if both sides have accesses, and one of them has one more.
    fn no_access_left(&mut self) -> Result<(), Parted> {
        let (trace, log) = (self.accesses.trace.pop_front(), self.accesses.log.pop_front());
        let differ = self.equal.accesses > 0 && trace.or(log).is_some();
        if differ { Err(Parted::Data { trace, log }) } else { Ok(()) }
    }

    /// Skips a run of the log that belongs to a loop of which the trace leaves open how many rounds ran. Returns whether it did. Such runs
    /// end without a decision: where they lead, the program alone says.
    fn pass_round(&mut self) -> bool {
        match self.peek().filter(|_| self.is_open) {
            Some(Item::Run(run)) if run.is_certain || run.ended == Ended::Cut => {
                self.equal.uncounted += u64::from(run.count);
                // The trace does not say how often they accessed memory, either.
                self.equal.accesses_ended = true;
                self.next = None;
                true
            }
            _ => false,
        }
    }

    /// Skips a branch whose outcome the log does not know: no trace can report it, and some leave it out. Returns whether it did.
    fn pass_undecided(&mut self) -> bool {
        match self.next {
            Some(Item::Run(run)) if run.is_undecided && run.count == 1 => {
                self.next = None;
                true
            }
            _ => false,
        }
    }

    /// Passes over the rounds that only one side has of the loop from `start` to `end`, after a difference in its last branch. Returns
    /// whether that side left the loop there, or may still.
    pub fn pass_wait(&mut self, (start, end): (u64, u64), taken_in_trace: bool) -> bool {
        self.equal.accesses_ended = true;
        if taken_in_trace {
            self.waits_in = Some((start, end));
            return true;
        }
        while let Some(Item::Run(run)) = self.peek().filter(|item| is_round(item, start, end)) {
            self.next = None;
            self.wait_rounds += 1;
            if run.ended == Ended::NotTaken {
                return true;
            }
        }
        false
    }

    /// Takes a round of a loop that the log has left.
    #[cold]
    fn wait(&mut self, run: Run) -> Result<(), Parted> {
        let (start, end) = self.waits_in.unwrap_or_default();
        if !is_round(&Item::Run(run), start, end) {
            self.waits_in = None;
            self.left = Some(Item::Run(run));
            return Err(Parted::Branch { at: end, taken_in_trace: true });
        }
        self.wait_rounds += 1;
        self.waits_in = self.waits_in.filter(|_| run.ended == Ended::Taken);
        Ok(())
    }

    /// Skips the log up to its first run that begins at `start`.
    #[cold]
    fn skip_to(&mut self, start: u64) {
        (self.skips, self.equal.accesses_ended) = (false, true);
        while let Some(item) = self.peek() {
            match item {
                Item::Run(run) if run.start == start => break,
                Item::Run(run) => self.skipped += u64::from(run.count),
                _ => {}
            }
            self.next = None;
        }
    }

    /// Returns the open path as the reason for a difference, if the trace leaves open what ran.
    fn or_open(&self, parted: Parted) -> Parted {
        if self.is_open { Parted::Unknown(Unknown::Path) } else { parted }
    }

    /// Returns the next run or trap of the log without taking it.
    #[inline]
    fn peek(&mut self) -> Option<Item> {
        while self.next.is_none() {
            match self.log.next()? {
                Item::Mode(mode) => self.log_mode.update(mode),
                Item::Data(_) if self.equal.accesses_ended => {}
                Item::Data(data) => self.accesses.log.push_back(data),
                item => self.next = Some(item),
            }
        }
        self.next
    }

    #[inline]
    fn run(&mut self, mut run: Run) -> Result<(), Parted> {
        self.follow(&mut run).inspect_err(|_| self.left = (run.count > 0).then_some(Item::Run(run)))
    }

    /// Removes from `run` the instructions that the log has, too.
    #[inline]
    fn follow(&mut self, run: &mut Run) -> Result<(), Parted> {
        loop {
            let log = match self.peek() {
                Some(Item::Run(log)) => log,
                Some(Item::Trap(trap)) => return Err(Parted::OnlyInLog(trap)),
                _ => return Err(Parted::LogEnds),
            };
            if log.start != run.start {
                if self.pass_round() || self.pass_undecided() {
                    continue;
                }
                return Err(Parted::Address { trace: run.start, log: log.start });
            }
            if self.trace_mode != self.log_mode {
                self.same_mode(run.start)?;
            }
            if (log.end, log.count) == (run.end, run.count) {
                self.next = None;
                self.both_ran(*run);
                run.count = 0;
                let at = run.last();
                return match (run.ended, log.ended) {
                    (Ended::Taken, Ended::NotTaken) => Err(Parted::Branch { at, taken_in_trace: true }),
                    (Ended::NotTaken, Ended::Taken) => Err(Parted::Branch { at, taken_in_trace: false }),
                    _ => Ok(()),
                };
            }
            // One of them was cut short, or has less to say about its end; the next items show whether they are equal.
            if log.count < run.count {
                self.next = None;
                self.both_ran(log);
                *run = Run { start: log.end, count: run.count - log.count, ..*run };
            } else if run.count < log.count {
                self.next = Some(Item::Run(Run { start: run.end, count: log.count - run.count, ..log }));
                self.both_ran(*run);
                return Ok(());
            } else {
                // The same number of instructions with other lengths: these are different programs.
                return Err(Parted::Address { trace: run.end, log: log.end });
            }
        }
    }

    /// Fails if privilege or context is known to both sides and differs.
    fn same_mode(&self, at: u64) -> Result<(), Parted> {
        let (trace, log) = (self.trace_mode, self.log_mode);
        if let Some((trace, log)) = trace.privilege.zip(log.privilege).filter(|(trace, log)| trace != log) {
            return Err(Parted::Privilege { at, trace, log });
        }
        match trace.context.zip(log.context).filter(|(trace, log)| trace != log) {
            Some((trace, log)) => Err(Parted::Context { at, trace, log }),
            None => Ok(()),
        }
    }

    #[cold]
    fn trap(&mut self, trace: Trap, len: impl Fn(u64) -> u64) -> Result<(), Parted> {
        while self.pass_round() {}
        match self.peek() {
            Some(Item::Trap(log)) => {
                let differ = |trace: Option<u64>, log: Option<u64>| {
                    trace.zip(log).is_some_and(|(trace, log)| trace != log)
                };
                let cause = (trace.cause, trace.interrupt) != (log.cause, log.interrupt);
                if cause && self.kind == Traps::All
                    || differ(trace.pc, log.pc)
                    || differ(trace.value, log.value)
                {
                    return Err(Parted::Trap { trace, log });
                }
                self.next = None;
                self.equal.traps += 1;
                Ok(())
            }
            Some(Item::Run(log)) if self.kind == Traps::Missing => {
                if !trace.interrupt && trace.pc == Some(log.start) {
                    let left =
                        Run { start: log.start.wrapping_add(len(log.start)), count: log.count - 1, ..log };
                    self.next = (left.count > 0).then_some(Item::Run(left));
                }
                self.equal.traps += 1;
                Ok(())
            }
            Some(Item::Run(_)) => Err(Parted::OnlyInTrace(trace)),
            _ => Err(Parted::LogEnds),
        }
    }

    #[inline]
    fn both_ran(&mut self, run: Run) {
        self.equal.instructions += u64::from(run.count);
        // The outcome of a branch ends the open loop; how many rounds ran until then stays unknown.
        self.is_open &= run.is_certain || run.ended == Ended::Cut;
        if self.last.len() == LAST {
            self.last.pop_front();
        }
        self.last.push_back(run);
    }
}

/// Returns whether an item is a round of the loop from `start` to `end`.
fn is_round(item: &Item, start: u64, end: u64) -> bool {
    matches!(item, Item::Run(run) if (run.start, run.end) == (start, end) && run.ended != Ended::Cut)
}

#[cfg(test)]
mod tests {
    use tracewright_core::Isa;
    use tracewright_isa::riscv::AccessKind;

    use super::*;

    fn run(start: u64, count: u32, ended: Ended) -> Item {
        Item::Run(Run {
            start,
            end: start + 4 * u64::from(count),
            count,
            last_len: 4,
            ended,
            is_certain: false,
            is_undecided: false,
            isa: Isa::Rv64,
        })
    }

    fn trap(pc: u64, cause: u64, value: Option<u64>) -> Item {
        Item::Trap(Trap { pc: Some(pc), cause, interrupt: false, value })
    }

    /// What comparing came to, and how many instructions were equal.
    fn check(kind: Traps, trace: &[Item], log: &[Item]) -> (Result<(), Parted>, u64) {
        let mut compare = Compare::new(log.iter().copied(), kind);
        let result = trace.iter().try_for_each(|&item| compare.take(&Told { offset: 0, item }, |_| 4));
        (result.and_then(|()| compare.end()), compare.equal.instructions)
    }

    #[test]
    fn how_runs_are_cut_does_not_matter() {
        let whole = [run(0, 10, Ended::Taken), run(0x100, 3, Ended::Cut)];
        let cut = [run(0, 4, Ended::Cut), run(0x10, 6, Ended::Taken), run(0x100, 3, Ended::Cut)];
        assert_eq!(check(Traps::All, &whole, &cut), (Ok(()), 13));
        assert_eq!(check(Traps::All, &cut, &whole), (Ok(()), 13));
    }

    #[test]
    fn every_kind_of_difference_is_found() {
        let one = [run(0, 4, Ended::Taken), run(0x100, 3, Ended::NotTaken)];
        let parted = |trace: &[Item], log: &[Item]| match check(Traps::All, trace, log) {
            (Err(parted), equal) => (parted, equal),
            (Ok(()), _) => panic!("equal: {trace:?} {log:?}"),
        };
        let elsewhere = [one[0], run(0x104, 2, Ended::NotTaken)];
        assert_eq!(parted(&one, &elsewhere), (Parted::Address { trace: 0x100, log: 0x104 }, 4));
        // A single instruction more, or less, at the end of a run.
        let longer = [run(0, 5, Ended::Taken), one[1]];
        assert_eq!(parted(&one, &longer), (Parted::Address { trace: 0x100, log: 0x10 }, 4));
        assert_eq!(parted(&longer, &one), (Parted::Address { trace: 0x10, log: 0x100 }, 4));
        let taken = [one[0], run(0x100, 3, Ended::Taken)];
        let branch = Parted::Branch { at: 0x108, taken_in_trace: true };
        assert_eq!(parted(&taken, &one), (branch, 7));
        assert_eq!(parted(&one[..1], &one), (Parted::TraceEnds, 4));
        assert_eq!(parted(&one, &one[..1]), (Parted::LogEnds, 4));
        assert_eq!(parted(&one, &[]), (Parted::LogEnds, 0));
        let (fault, other) = (trap(0x10, 5, Some(1)), trap(0x10, 7, Some(1)));
        let [Item::Trap(told), Item::Trap(known)] = [fault, other] else { unreachable!() };
        let with = |trap| [one[0], trap, one[1]];
        assert_eq!(parted(&with(fault), &with(other)), (Parted::Trap { trace: told, log: known }, 4));
        assert_eq!(parted(&with(fault), &one), (Parted::OnlyInTrace(told), 4));
        assert_eq!(parted(&one, &with(fault)), (Parted::OnlyInLog(told), 4));
        assert!(matches!(parted(&with(fault), &with(trap(0x14, 5, Some(1)))), (Parted::Trap { .. }, 4)));
        assert!(matches!(parted(&with(fault), &with(trap(0x10, 5, Some(2)))), (Parted::Trap { .. }, 4)));
        assert_eq!(check(Traps::All, &with(fault), &with(trap(0x10, 5, None))), (Ok(()), 7));
        let mode = |privilege, context| [one[0], Item::Mode(Mode { privilege, context }), one[1]];
        let privileges = |level| mode(Some(level), None);
        let contexts = |context| mode(None, Some(context));
        let different = Parted::Context { at: 0x100, trace: 0, log: 0x3e8 };
        assert_eq!(parted(&contexts(0), &contexts(0x3e8)), (different, 4));
        assert_eq!(check(Traps::All, &contexts(0), &one), (Ok(()), 7));
        let different = Parted::Privilege { at: 0x100, trace: 0, log: 3 };
        assert_eq!(parted(&privileges(0), &privileges(3)), (different, 4));
        assert_eq!(check(Traps::All, &privileges(0), &one), (Ok(()), 7));
        let gap = [one[0], Item::Unknown(Unknown::Gap), one[1]];
        assert_eq!(parted(&gap, &one), (Parted::Unknown(Unknown::Gap), 4));
    }

    #[test]
    fn accesses_are_compared_in_their_order() {
        let one = run(0, 4, Ended::Taken);
        let data = |kind, address, value| Data { kind, size: 4, address: Some(address), value };
        let load = data(AccessKind::Load, 0x100, Some(7));
        let store = data(AccessKind::Store, 0x200, Some(8));
        let log = [Item::Data(load), Item::Data(store), one, one];
        // A trace may tell them before instructions, or after them.
        let late = [one, Item::Data(load), one, Item::Data(store)];
        assert_eq!(check(Traps::All, &late, &log), (Ok(()), 8));
        let unknown = [Item::Data(Data { value: None, ..load }), Item::Data(Data { address: None, ..store })];
        assert_eq!(check(Traps::All, &[unknown[0], one, unknown[1], one], &log), (Ok(()), 8));
        for other in [
            Data { value: Some(6), ..load },
            Data { address: Some(0), ..load },
            Data { size: 8, ..load },
            Data { kind: AccessKind::Amo, ..load },
        ] {
            let parted = Parted::Data { trace: Some(other), log: Some(load) };
            assert_eq!(
                check(Traps::All, &[Item::Data(other), one, Item::Data(store), one], &log).0,
                Err(parted)
            );
        }
        let missing = Parted::Data { trace: None, log: Some(store) };
        assert_eq!(check(Traps::All, &[Item::Data(load), one, one], &log).0, Err(missing));
        // Where one of the two has none, or has lost some, there is nothing to compare.
        assert_eq!(check(Traps::All, &[one, one], &log), (Ok(()), 8));
        assert_eq!(check(Traps::All, &late, &[one, one]), (Ok(()), 8));
        let lost = [Item::Data(load), one, Item::DataLost, one];
        assert_eq!(check(Traps::All, &lost, &log), (Ok(()), 8));
        // What is missing is missed, however much it is.
        let many = std::iter::repeat_n(Item::Data(store), WAITING + 2);
        let many: Vec<_> = std::iter::once(Item::Data(load)).chain(many).chain([one, one]).collect();
        assert_eq!(check(Traps::All, &[Item::Data(load), one, one], &many).0, Err(missing));
        let more = Parted::Data { trace: Some(store), log: None };
        let after: Vec<_> = [many[0], one].into_iter().chain(many[1..].iter().copied()).collect();
        assert_eq!(check(Traps::All, &after, &[many[0], one, one, one]).0, Err(more));
        assert_eq!(check(Traps::All, &[one, one], &many), (Ok(()), 8));
    }

    #[test]
    fn accesses_that_are_not_compared_any_more_are_not_kept_and_said() {
        let one = run(0, 4, Ended::Taken);
        let Item::Run(round) = one else { unreachable!() };
        let round = Item::Run(Run { is_certain: true, ..round });
        let load = Item::Data(Data { kind: AccessKind::Load, size: 4, address: Some(0x100), value: Some(7) });
        // A loop that the trace leaves open, with an access in each round.
        let rounds = std::iter::repeat_n([load, round], 1000).flatten();
        let log: Vec<_> = [load, one].into_iter().chain(rounds).collect();
        let mut compare = Compare::new(log.iter().copied(), Traps::All);
        for item in [load, one, Item::Unknown(Unknown::Path)] {
            compare.take(&Told { offset: 0, item }, |_| 4).unwrap();
        }
        assert!(!compare.equal.accesses_ended);
        while compare.pass_round() {}
        assert!(compare.accesses.log.len() < 2, "{}", compare.accesses.log.len());
        compare.end().unwrap();
        assert_eq!((compare.equal.accesses, compare.equal.accesses_ended), (1, true));
    }

    #[test]
    fn what_a_trace_leaves_open_is_nothing_if_the_log_has_nothing() {
        let (one, again) = (run(0, 4, Ended::Taken), run(0xc, 1, Ended::Taken));
        let open = Item::Unknown(Unknown::Path);
        assert_eq!(check(Traps::All, &[one, open], &[one]), (Ok(()), 4));
        assert_eq!(check(Traps::All, &[one, open, again], &[one, again]), (Ok(()), 5));
        let parted = Err(Parted::Unknown(Unknown::Path));
        let other = run(0x40, 1, Ended::NotTaken);
        assert_eq!(check(Traps::All, &[one, open], &[one, again]), (Err(Parted::TraceEnds), 4));
        assert_eq!(check(Traps::All, &[one, open, other], &[one, again]), (parted, 4));
        // Rounds of a loop that asks nothing are passed over, others are not.
        let Item::Run(round) = again else { unreachable!() };
        let round = Item::Run(Run { is_certain: true, ..round });
        assert_eq!(check(Traps::All, &[one, open], &[one, round, round]), (Ok(()), 4));
        assert_eq!(check(Traps::All, &[one, open, other], &[one, round, round, other]), (Ok(()), 5));
        assert_eq!(check(Traps::All, &[one, open, round, other], &[one, round, round, other]), (Ok(()), 6));
        // The last instruction that ran is told, but not in which round.
        let part = run(0xc, 1, Ended::Cut);
        let Item::Run(three) = run(0xc, 3, Ended::Taken) else { unreachable!() };
        let three = Item::Run(Run { is_certain: true, ..three });
        assert_eq!(check(Traps::All, &[one, open, part], &[one, three, three, part]), (Ok(()), 5));
        let fault = trap(0xc, 7, None);
        assert_eq!(check(Traps::All, &[one, open, fault, other], &[one, round, fault, other]), (Ok(()), 5));
        assert_eq!(check(Traps::All, &[one, other], &[one, round, other]).1, 4);
    }

    #[test]
    fn rounds_of_a_wait_are_passed_over_on_either_side() {
        let (first, again) = (run(0, 4, Ended::Taken), run(8, 2, Ended::Taken));
        let (left, after) = (run(8, 2, Ended::NotTaken), run(0x10, 1, Ended::Taken));
        let sides = [&[first, left, after][..], &[first, again, again, left, after]];
        for (trace, log, rounds) in [(sides[0], sides[1], 2), (sides[1], sides[0], 2)] {
            let mut compare = Compare::new(log.iter().copied(), Traps::All);
            for &item in trace {
                if let Err(parted) = compare.take(&Told { offset: 0, item }, |_| 4) {
                    let Parted::Branch { at: 0xc, taken_in_trace } = parted else { panic!("{parted:?}") };
                    assert!(compare.pass_wait((8, 0x10), taken_in_trace));
                }
            }
            assert_eq!(compare.end(), Ok(()));
            assert_eq!(compare.wait_rounds, rounds);
        }
        // One that leads elsewhere is a difference.
        let mut compare = Compare::new([first, again, after].into_iter(), Traps::All);
        compare.take(&Told { offset: 0, item: first }, |_| 4).unwrap();
        compare.take(&Told { offset: 0, item: left }, |_| 4).unwrap_err();
        assert!(!compare.pass_wait((8, 0x10), false));
    }

    #[test]
    fn a_branch_that_nobody_knows_the_end_of_may_be_missing() {
        let Item::Run(undecided) = run(0, 4, Ended::Cut) else { unreachable!() };
        let undecided = Item::Run(Run { is_undecided: true, ..undecided });
        let (without, after) = (run(0, 3, Ended::Cut), run(0x100, 2, Ended::Taken));
        assert_eq!(check(Traps::All, &[undecided, after], &[undecided, after]), (Ok(()), 6));
        assert_eq!(check(Traps::All, &[without, after], &[undecided, after]), (Ok(()), 5));
        assert_eq!(check(Traps::All, &[without], &[undecided]), (Ok(()), 3));
        // Only the branch may be.
        assert!(check(Traps::All, &[run(0, 2, Ended::Cut), after], &[undecided, after]).0.is_err());
        assert!(check(Traps::All, &[without, after], &[run(0, 4, Ended::Cut), after]).0.is_err());
    }

    #[test]
    fn a_trap_that_nothing_follows_is_in_no_trace() {
        let ran = run(0, 4, Ended::Cut);
        assert_eq!(check(Traps::All, &[ran], &[ran, trap(0x10, 8, None)]), (Ok(()), 4));
        let more = [ran, trap(0x10, 8, None), run(0x14, 1, Ended::Cut)];
        assert!(check(Traps::All, &[ran], &more).0.is_err());
    }

    #[test]
    fn logs_without_traps_have_what_did_not_retire() {
        // The fifth instruction faults: it is in QEMU's log, and then its handler.
        let trace = [run(0, 4, Ended::Cut), trap(0x10, 5, Some(7)), run(0x100, 2, Ended::Cut)];
        let log = [run(0, 5, Ended::Cut), run(0x100, 2, Ended::Cut)];
        assert_eq!(check(Traps::Missing, &trace, &log), (Ok(()), 6));
        assert!(check(Traps::All, &trace, &log).0.is_err());
        // ECALL is told, with a cause that need not be right.
        let trace = [run(0, 4, Ended::Cut), trap(0x10, 11, None), run(0x14, 2, Ended::Cut)];
        let log = [run(0, 4, Ended::Cut), trap(0x10, 8, None), run(0x14, 2, Ended::Cut)];
        assert_eq!(check(Traps::Missing, &trace, &log), (Ok(()), 6));
        assert!(check(Traps::All, &trace, &log).0.is_err());
    }
}
