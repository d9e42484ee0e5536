//! Exceptions along a run: how often each came, how long it took, how far apart they came, and how deep they nested.

use std::collections::BTreeMap;

use tracewright_core::{Block, Element, Ended, ExceptionChange, Message, Role};

use crate::clock::{Told, is_break};
use crate::histogram::{Bucket, Histogram};

/// Statistics of the exceptions of a core, from its elements.
///
/// An exception lasts until the core returns from it. What ran in exceptions that came meanwhile is part of that. Where trace
/// is missing, nobody knows which exceptions ended: those that had begun count as unfinished, and have no duration. So do
/// those whose handler is not traced: the trace goes on where they came.
#[derive(Debug, Default)]
pub struct Exceptions {
    kinds: BTreeMap<ExceptionKey, ExceptionStats>,
    active: Vec<Active>,
    deepest: usize,
    /// Returns without an exception that the trace has.
    strays: u64,
    now: Option<u64>,
    /// When the outermost exception ended last.
    resumed: Option<u64>,
    /// Whether the core returned from the innermost exception.
    returns: bool,
    /// Where execution goes on after the exception that came last, if it came just now.
    came_at: Option<[u64; 2]>,
    /// Changes whose time a local timestamp tells later.
    pending: Vec<(u16, ExceptionChange)>,
    /// Set while elements are outside the part of the trace that is wanted.
    is_outside: bool,
}

/// An exception: its number, and whether it is an interrupt, where these have numbers of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExceptionKey {
    /// Number, as the protocol defines it.
    pub number: u16,
    /// See [`Exception::interrupt`](tracewright_core::Exception::interrupt).
    pub interrupt: bool,
}

/// Statistics of an exception.
#[derive(Clone, Debug, Default)]
pub struct ExceptionStats {
    /// Number of times that it came.
    pub count: u64,
    /// Number of times that it has no duration: the trace does not have its end, or not the times.
    pub unfinished: u64,
    /// Number of these times that it ended, at a time that the trace does not tell.
    pub untimed: u64,
    /// Number of times that another exception came in it.
    pub interrupted: u64,
    /// Times from its beginning to its end.
    pub durations: Spread,
    /// Times from one beginning to the next.
    pub intervals: Spread,
    /// When it began last.
    last: Option<u64>,
}

/// A distribution of times: exact up to 4,096 different times, after that each is right within 1 %.
#[derive(Clone, Debug, Default)]
pub struct Spread {
    counts: BTreeMap<u64, u64>,
    count: u64,
    total: u128,
    /// Least and greatest time.
    ends: Option<(u64, u64)>,
    /// Set once there were too many different times.
    is_rounded: bool,
    /// The same in ranges, for a picture.
    histogram: Histogram,
}

/// Maximum number of different times that are kept.
const MOST_TIMES: usize = 4096;
/// Number of bits that are kept of a time that is rounded.
const KEPT_BITS: u32 = 7;
/// Maximum number of exceptions inside each other. More are an exception that never returns.
const DEEPEST: usize = 1024;
/// Maximum number of changes before a local timestamp.
const MOST_PENDING: usize = 1024;

#[derive(Clone, Copy, Debug)]
struct Active {
    key: ExceptionKey,
    since: Option<u64>,
    /// Whether it began in the part of the trace that is wanted.
    is_counted: bool,
}

impl Exceptions {
    /// Takes the next element, with what the clock says about it. Without a clock, time is the number of instructions.
    pub fn take(&mut self, element: &Element, told: Option<&Told<'_>>) {
        self.is_outside = false;
        self.next(element, told);
    }

    /// Takes an element outside the part of the trace that is wanted: exceptions that begin there are not counted.
    pub fn pass(&mut self, element: &Element, told: Option<&Told<'_>>) {
        self.is_outside = true;
        self.next(element, told);
    }

    fn next(&mut self, element: &Element, told: Option<&Told<'_>>) {
        match told {
            Some(Told::Reached(now)) => self.now = Some(*now),
            Some(Told::Lost) => self.lose(),
            _ => {}
        }
        match element {
            Element::Block(block) => self.block(block, told),
            Element::Exception(exception) => {
                self.leave_if_returned();
                self.enter(ExceptionKey { number: exception.number, interrupt: exception.interrupt });
                // A call of the system is four bytes long. Some protocols tell its address, others the one after it.
                let of_call = |at: u64| at.wrapping_add(if exception.interrupt { 0 } else { 4 });
                self.came_at = exception.return_address.map(|at| [at, of_call(at)]);
            }
            Element::ExceptionReturn => self.returns = true,
            Element::Message(Message::Exception { number, change }) => {
                if self.pending.len() >= MOST_PENDING {
                    self.settle(None);
                }
                self.pending.push((*number, *change));
            }
            Element::LocalTime { cycles, .. } => {
                // Without a clock it is the only time.
                let now = match told {
                    Some(Told::Reached(now)) => *now,
                    _ => self.now.unwrap_or(0).saturating_add(*cycles),
                };
                self.settle(Some(now));
            }
            _ if is_break(element) => self.lose(),
            _ => {}
        }
    }

    /// Ends the trace.
    pub fn finish(&mut self) {
        self.leave_if_returned();
        self.settle(None);
        self.forget();
    }

    /// Returns the statistics of each exception, by its number.
    pub fn kinds(&self) -> impl Iterator<Item = (&ExceptionKey, &ExceptionStats)> {
        self.kinds.iter()
    }

    /// Returns how many exceptions were active at once at most.
    pub fn deepest(&self) -> usize {
        self.deepest
    }

    /// Returns the number of returns whose exception is not in the trace.
    pub fn strays(&self) -> u64 {
        self.strays
    }

    /// Returns whether the core handles an exception.
    pub(crate) fn is_active(&self) -> bool {
        !self.active.is_empty()
    }

    /// Returns when the outermost exception ended last.
    pub(crate) fn resumed(&self) -> Option<u64> {
        self.resumed
    }

    /// Returns when the outermost exception came; the current time if none is active.
    pub(crate) fn interrupted_at(&self) -> Option<u64> {
        self.active.first().map_or(self.now, |outermost| outermost.since)
    }

    /// Returns whether the last element was outside the part of the trace that is wanted.
    pub(crate) fn is_outside(&self) -> bool {
        self.is_outside
    }

    fn block(&mut self, block: &Block, told: Option<&Told<'_>>) {
        self.leave_if_returned();
        if self.came_at.take().is_some_and(|resumes| resumes.contains(&block.start)) {
            self.cut(self.active.len().saturating_sub(1));
        }
        self.deepest = self.deepest.max(self.active.len());
        match told {
            Some(Told::Block(stamps)) => {
                if let Some(now) = stamps.last().and_then(|stamp| stamp.first()) {
                    self.now = Some(now);
                }
            }
            Some(_) => {}
            None => self.now = Some(self.now.unwrap_or(0) + u64::from(block.count)),
        }
        self.returns = block.class.role == Role::ExceptionReturn && block.ended == Ended::Taken;
    }

    fn enter(&mut self, key: ExceptionKey) {
        let now = self.now;
        if self.active.len() == DEEPEST {
            self.forget();
        }
        if self.is_outside {
            return self.active.push(Active { key, since: now, is_counted: false });
        }
        if let Some(outer) = self.active.last().filter(|outer| outer.is_counted) {
            self.kinds.entry(outer.key).or_default().interrupted += 1;
        }
        let stats = self.kinds.entry(key).or_default();
        stats.count += 1;
        if let Some((last, now)) = stats.last.zip(now) {
            stats.intervals.add(now.saturating_sub(last));
        }
        stats.last = now;
        self.active.push(Active { key, since: now, is_counted: true });
    }

    fn leave_if_returned(&mut self) {
        if std::mem::take(&mut self.returns) {
            self.leave();
        }
    }

    fn leave(&mut self) {
        let Some(Active { key, since, is_counted }) = self.active.pop() else {
            self.strays += u64::from(!self.is_outside);
            return;
        };
        if self.active.is_empty() {
            self.resumed = self.now;
        }
        if !is_counted {
            return;
        }
        let stats = self.kinds.entry(key).or_default();
        match since.zip(self.now) {
            Some((since, now)) => stats.durations.add(now.saturating_sub(since)),
            None => {
                stats.unfinished += 1;
                stats.untimed += 1;
            }
        }
    }

    /// Applies the changes before a local timestamp, which tells when they were.
    fn settle(&mut self, now: Option<u64>) {
        if now.is_some() {
            self.now = now;
        }
        for (number, change) in std::mem::take(&mut self.pending) {
            let key = ExceptionKey { number, interrupt: false };
            match change {
                ExceptionChange::Entered => {
                    self.enter(key);
                    self.deepest = self.deepest.max(self.active.len());
                }
                ExceptionChange::Left => match self.active.iter().rposition(|active| active.key == key) {
                    Some(at) => {
                        // What came in it and has no end ended before.
                        self.cut(at + 1);
                        self.leave();
                    }
                    None => self.strays += u64::from(!self.is_outside),
                },
                // The core is back in this handler, or in the thread: what was inside has ended.
                ExceptionChange::Resumed => {
                    let at = self.active.iter().rposition(|active| active.key == key).map_or(0, |at| at + 1);
                    self.cut(at);
                }
            }
        }
    }

    /// Handles missing trace.
    fn lose(&mut self) {
        self.leave_if_returned();
        self.came_at = None;
        self.settle(None);
        self.forget();
        self.now = None;
    }

    /// Leaves the exceptions inside the first `depth`, whose ends the trace does not have.
    fn cut(&mut self, depth: usize) {
        if depth == 0 && !self.active.is_empty() {
            self.resumed = self.now;
        }
        for Active { key, .. } in self.active.split_off(depth).iter().filter(|active| active.is_counted) {
            self.kinds.entry(*key).or_default().unfinished += 1;
        }
    }

    /// Forgets which exceptions are active.
    fn forget(&mut self) {
        self.cut(0);
        for stats in self.kinds.values_mut() {
            stats.last = None;
        }
    }
}

impl Spread {
    /// Adds a time.
    pub fn add(&mut self, time: u64) {
        self.count += 1;
        self.total += u128::from(time);
        self.ends = Some(self.ends.map_or((time, time), |(least, most)| (least.min(time), most.max(time))));
        self.histogram.add(time);
        let key = if self.is_rounded { rounded(time) } else { time };
        *self.counts.entry(key).or_default() += 1;
        if self.counts.len() > MOST_TIMES && !self.is_rounded {
            self.is_rounded = true;
            for (time, count) in std::mem::take(&mut self.counts) {
                *self.counts.entry(rounded(time)).or_default() += count;
            }
        }
    }

    /// Returns the number of times.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the shortest time.
    pub fn least(&self) -> Option<u64> {
        Some(self.ends?.0)
    }

    /// Returns the longest time.
    pub fn most(&self) -> Option<u64> {
        Some(self.ends?.1)
    }

    /// Returns the median: half of the times are no longer.
    pub fn median(&self) -> Option<u64> {
        let mut left = self.count.div_ceil(2);
        let (&time, _) = self.counts.iter().find(|&(_, &count)| {
            let found = left <= count;
            left = left.saturating_sub(count);
            found
        })?;
        let (least, most) = self.ends?;
        Some(time.clamp(least, most))
    }

    /// Returns the sum of all times.
    pub fn total(&self) -> u128 {
        self.total
    }

    /// Returns the times in ranges.
    pub fn buckets(&self) -> Vec<Bucket> {
        self.histogram.buckets()
    }
}

/// Returns the middle of the times that have the same upper bits.
fn rounded(time: u64) -> u64 {
    let bits = u64::BITS - time.leading_zeros();
    let dropped = bits.saturating_sub(KEPT_BITS);
    if dropped == 0 { time } else { (time >> dropped << dropped) | 1 << (dropped - 1) }
}

#[cfg(test)]
mod tests {
    use tracewright_core::{Class, Delay, Exception, Flow, GapReason, Isa};

    use super::*;
    use crate::Clock;

    fn block(count: u32, role: Role) -> Element {
        let is_return = role == Role::ExceptionReturn;
        let class =
            if is_return { Class { flow: Flow::Indirect, role, conditional: false } } else { Class::NEXT };
        let ended = if is_return { Ended::Taken } else { Ended::Cut };
        let end = 0x1000 + 4 * u64::from(count);
        Element::Block(Block { start: 0x1000, end, count, isa: Isa::A64, last_len: 4, class, ended })
    }

    fn ran(count: u32) -> Element {
        block(count, Role::Jump)
    }

    fn returns(count: u32) -> Element {
        block(count, Role::ExceptionReturn)
    }

    fn taken(number: u16) -> Element {
        let (value, return_address) = (None, None);
        Element::Exception(Exception { number, interrupt: false, value, return_address, at_target: false })
    }

    fn change(number: u16, change: ExceptionChange) -> Element {
        Element::Message(Message::Exception { number, change })
    }

    fn cycles(cycles: u64) -> Element {
        Element::LocalTime { cycles, delay: Delay { timestamp: false, packet: false } }
    }

    /// Number, count, shortest, median and longest duration, interval, unfinished, interrupted.
    type Row = (u16, u64, [Option<u64>; 3], Option<u64>, u64, u64);

    fn check(elements: &[Element], mut clock: Option<Clock<'_>>, deepest: usize, expected: &[Row]) {
        let mut exceptions = Exceptions::default();
        for element in elements {
            let told = clock.as_mut().map(|clock| clock.take(element));
            exceptions.take(element, told.as_ref());
        }
        exceptions.finish();
        let rows: Vec<Row> = exceptions
            .kinds()
            .map(|(key, stats)| {
                let durations = [stats.durations.least(), stats.durations.median(), stats.durations.most()];
                let ExceptionStats { count, unfinished, interrupted, intervals, .. } = stats;
                (key.number, *count, durations, intervals.median(), *unfinished, *interrupted)
            })
            .collect();
        assert_eq!(rows, expected);
        assert_eq!(exceptions.deepest(), deepest);
    }

    #[test]
    fn one_inside_another() {
        let elements = [
            ran(10),
            taken(1),
            ran(3),
            taken(2),
            returns(4),
            ran(2),
            Element::ExceptionReturn,
            ran(1),
            taken(1),
            returns(5),
            Element::ExceptionReturn,
            ran(1),
        ];
        let rows = [(1, 2, [Some(5), Some(5), Some(9)], Some(10), 0, 1), (2, 1, [Some(4); 3], None, 0, 0)];
        check(&elements, None, 2, &rows);
    }

    #[test]
    fn time_is_in_cycles_where_the_trace_has_them() {
        let cycles = |count| Element::Cycles(Some(count));
        let elements =
            [ran(1), cycles(100), taken(1), ran(1), cycles(30), Element::ExceptionReturn, ran(1), cycles(7)];
        check(&elements, Some(Clock::counts()), 1, &[(1, 1, [Some(30); 3], None, 0, 0)]);
    }

    #[test]
    fn what_trace_is_missing_of_has_no_duration() {
        let gap = Element::Gap { reason: GapReason::Overflow, from: 0, to: 1 };
        let elements = [taken(1), ran(3), gap, ran(1), returns(1), ran(1), taken(1), ran(2)];
        check(&elements, None, 1, &[(1, 2, [None; 3], None, 2, 0)]);
    }

    #[test]
    fn what_ends_at_an_unknown_time_is_not_what_has_no_end() {
        let mut exceptions = Exceptions::default();
        let mut clock = Clock::counts();
        for element in [taken(1), ran(1), Element::ExceptionReturn, ran(1), taken(1), ran(1)] {
            exceptions.take(&element, Some(&clock.take(&element)));
        }
        exceptions.finish();
        let stats = exceptions.kinds().map(|(_, stats)| (stats.unfinished, stats.untimed));
        assert_eq!(stats.collect::<Vec<_>>(), [(2, 1)]);
    }

    #[test]
    fn handlers_that_are_not_traced_have_no_duration() {
        let mut call = taken(8);
        if let Element::Exception(exception) = &mut call {
            exception.return_address = Some(0x0ffc);
        }
        check(&[ran(1), call, ran(2), call, ran(3)], None, 0, &[(8, 2, [None; 3], Some(2), 2, 0)]);
    }

    #[test]
    fn changes_have_the_time_of_the_local_timestamp_behind_them() {
        use ExceptionChange::{Entered, Left, Resumed};
        let elements = [
            change(16, Entered),
            cycles(10),
            change(20, Entered),
            cycles(5),
            change(20, Left),
            change(16, Resumed),
            cycles(7),
            change(16, Left),
            cycles(2),
            change(0, Resumed),
            cycles(1),
        ];
        let rows = [(16, 1, [Some(14); 3], None, 0, 1), (20, 1, [Some(7); 3], None, 0, 0)];
        check(&elements, None, 2, &rows);
        check(&elements, Some(Clock::counts()), 2, &rows);
    }

    #[test]
    fn many_times_are_rounded_within_a_hundredth() {
        let mut spread = Spread::default();
        for time in 0..100_000 {
            spread.add(time * 10);
        }
        let median = spread.median().unwrap();
        assert!(median.abs_diff(499_990) < 5_000, "{median}");
        assert_eq!((spread.least(), spread.most(), spread.count()), (Some(0), Some(999_990), 100_000));
        assert!(spread.counts.len() <= MOST_TIMES);
    }
}
