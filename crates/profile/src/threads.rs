//! Threads of an operating system along a run: how often each ran, and how long.

use std::collections::BTreeMap;

use tracewright_core::{Context, Element, Message, Watched};

use crate::calls::Thread;
use crate::clock::{Told, is_break};
use crate::exceptions::{Exceptions, Spread};

/// Statistics of the threads of a core, from its elements.
///
/// The trace tells the current thread by context IDs, or by what the operating system writes to the variable that points to the
/// current thread. A thread that a handler chose runs once the handler is done, and the one before ran until it began.
/// Interrupts that come back to the same thread are part of its time. Where trace is missing, nobody knows which
/// thread ran: the last one counts as unfinished.
#[derive(Debug, Default)]
pub struct Threads {
    told_by: ThreadsBy,
    threads: BTreeMap<ThreadKey, ThreadStats>,
    current: Option<Running>,
    /// The thread that was chosen, until the handler that chose it is done.
    chosen: Option<Chosen>,
    /// Lower half of the last address that each comparator told.
    addresses: BTreeMap<u8, u16>,
}

/// What tells which thread runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadsBy {
    /// Context IDs, and the IDs of virtual machines, into which Linux may put a thread's ID.
    #[default]
    Context,
    /// What is written to the variable at this address.
    Variable(u64),
    /// What is written where this comparator of the core's debug hardware (DWT) watches.
    Comparator(u8),
}

/// A thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ThreadKey {
    /// The thread with these IDs in the trace.
    Context(Thread),
    /// The thread whose choice writes this value: in most systems, the address of its control block.
    Value(u64),
}

/// Statistics of a thread.
#[derive(Clone, Debug, Default)]
pub struct ThreadStats {
    /// Number of times that it was given the core.
    pub count: u64,
    /// Number of times that the trace does not have when it stopped or began.
    pub unfinished: u64,
    /// Times for which it had the core.
    pub durations: Spread,
}

#[derive(Clone, Copy, Debug)]
struct Chosen {
    key: ThreadKey,
    /// When the thread before it stopped.
    stopped: Option<u64>,
    /// Whether a handler chose it.
    by_handler: bool,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    key: ThreadKey,
    since: Option<u64>,
    /// Whether it began in the part of the trace that is wanted.
    is_counted: bool,
}

impl Threads {
    /// Creates statistics without any thread.
    pub fn new(told_by: ThreadsBy) -> Self {
        Self { told_by, ..Self::default() }
    }

    /// Takes the next element, with what the clock says about it, after `exceptions` has taken it.
    pub fn take(&mut self, element: &Element, told: Option<&Told<'_>>, exceptions: &Exceptions) {
        if told == Some(&Told::Lost) || is_break(element) {
            return self.lose();
        }
        if let Some(key) = self.told(element) {
            self.choose(key, exceptions);
        }
        if !exceptions.is_active()
            && let Some(Chosen { key, stopped, by_handler }) = self.chosen.take()
        {
            let since = if by_handler { exceptions.resumed() } else { stopped };
            self.run(key, stopped, since, exceptions.is_outside());
        }
    }

    /// Ends the trace.
    pub fn finish(&mut self) {
        self.lose();
    }

    /// Returns the statistics of each thread.
    pub fn threads(&self) -> impl Iterator<Item = (&ThreadKey, &ThreadStats)> {
        self.threads.iter()
    }

    /// Returns the thread that an element tells.
    fn told(&mut self, element: &Element) -> Option<ThreadKey> {
        let value = match (self.told_by, element) {
            (ThreadsBy::Context, Element::Context(context, _)) => {
                let Context { vmid, context_id, .. } = *context;
                let thread = Thread { vmid, context_id };
                return (thread != Thread::default()).then_some(ThreadKey::Context(thread));
            }
            (ThreadsBy::Variable(at), Element::Data { access, .. }) if access.address == Some(at) => {
                access.stored()?
            }
            (_, Element::Message(Message::Watch { comparator, watched })) => match *watched {
                Watched::AddressLow(low) => {
                    self.addresses.insert(*comparator, low);
                    return None;
                }
                Watched::Wrote { value, .. } => {
                    let low = self.addresses.remove(comparator);
                    let is_it = match self.told_by {
                        ThreadsBy::Context => false,
                        ThreadsBy::Variable(at) => low == Some(at as u16),
                        ThreadsBy::Comparator(number) => number == *comparator,
                    };
                    is_it.then_some(value.into())?
                }
                _ => return None,
            },
            _ => return None,
        };
        Some(ThreadKey::Value(value))
    }

    fn choose(&mut self, key: ThreadKey, exceptions: &Exceptions) {
        let is_current = self.current.is_some_and(|current| current.key == key);
        match &mut self.chosen {
            _ if is_current => self.chosen = None,
            Some(chosen) => chosen.key = key,
            chosen => {
                let (stopped, by_handler) = (exceptions.interrupted_at(), exceptions.is_active());
                *chosen = Some(Chosen { key, stopped, by_handler });
            }
        }
    }

    fn run(&mut self, key: ThreadKey, stopped: Option<u64>, since: Option<u64>, is_outside: bool) {
        if let Some(before) = self.current.take() {
            self.stop(before, stopped);
        }
        if !is_outside {
            self.threads.entry(key).or_default().count += 1;
        }
        self.current = Some(Running { key, since, is_counted: !is_outside });
    }

    fn stop(&mut self, running: Running, now: Option<u64>) {
        let Running { key, since, is_counted } = running;
        if !is_counted {
            return;
        }
        let stats = self.threads.entry(key).or_default();
        match since.zip(now) {
            Some((since, now)) => stats.durations.add(now.saturating_sub(since)),
            None => stats.unfinished += 1,
        }
    }

    /// Handles missing trace.
    fn lose(&mut self) {
        if let Some(running) = self.current.take() {
            self.stop(running, None);
        }
        (self.chosen, self.addresses) = (None, BTreeMap::new());
    }
}

#[cfg(test)]
mod tests {
    use tracewright_core::{DataAccess, DataKind, Delay, ExceptionChange, GapReason, Isa, Security};

    use super::*;

    fn change(number: u16, change: ExceptionChange) -> Element {
        Element::Message(Message::Exception { number, change })
    }

    fn cycles(cycles: u64) -> Element {
        Element::LocalTime { cycles, delay: Delay { timestamp: false, packet: false } }
    }

    fn watch(comparator: u8, watched: Watched) -> Element {
        Element::Message(Message::Watch { comparator, watched })
    }

    /// Key, count, unfinished, and the shortest and longest time.
    type Row = (ThreadKey, u64, u64, [Option<u64>; 2]);

    fn check(by: ThreadsBy, elements: &[Element], expected: &[Row]) {
        let (mut exceptions, mut threads) = (Exceptions::default(), Threads::new(by));
        for element in elements {
            exceptions.take(element, None);
            threads.take(element, None, &exceptions);
        }
        threads.finish();
        let row = |(key, stats): (&ThreadKey, &ThreadStats)| {
            let durations = [stats.durations.least(), stats.durations.most()];
            (*key, stats.count, stats.unfinished, durations)
        };
        assert_eq!(threads.threads().map(row).collect::<Vec<_>>(), expected);
    }

    /// PendSV (14) chooses the next thread; SysTick (15) comes back to the same.
    fn switch(to: u32, low: Option<u16>) -> Vec<Element> {
        let mut elements = vec![change(14, ExceptionChange::Entered), cycles(10)];
        elements.extend(low.map(|low| watch(1, Watched::AddressLow(low))));
        elements.extend([watch(1, Watched::Wrote { size: 4, value: to }), cycles(5)]);
        let left = [change(14, ExceptionChange::Left), change(0, ExceptionChange::Resumed), cycles(2)];
        elements.extend(left);
        elements
    }

    #[test]
    fn a_thread_runs_from_the_end_of_the_handler_that_chose_it_to_the_next() {
        use ThreadKey::Value;
        let tick =
            [change(15, ExceptionChange::Entered), cycles(100), change(15, ExceptionChange::Left), cycles(1)];
        let back = [change(0, ExceptionChange::Resumed), cycles(3)];
        let elements =
            |low| [switch(0x2000_0100, low), tick.to_vec(), back.to_vec(), switch(0x2000_0200, low)].concat();
        let expected = [(Value(0x2000_0100), 1, 0, [Some(114); 2]), (Value(0x2000_0200), 1, 1, [None; 2])];
        check(ThreadsBy::Comparator(1), &elements(None), &expected);
        check(ThreadsBy::Comparator(0), &elements(None), &[]);
        check(ThreadsBy::Variable(0x2000_4abc), &elements(Some(0x4abc)), &expected);
        check(ThreadsBy::Variable(0x2000_4ab0), &elements(Some(0x4abc)), &[]);
    }

    #[test]
    fn stores_to_the_variable_tell_the_thread() {
        let store = |address, value| {
            let (kind, operand, after) = (DataKind::Store, None, false);
            let (address, value) = (Some(address), Some(value));
            let access = DataAccess { kind, size: 4, address, value, operand, after };
            Element::Data { access, by: None }
        };
        let elements = [
            cycles(1),
            store(0x100, 1),
            cycles(10),
            store(0x104, 7),
            store(0x100, 2),
            cycles(5),
            store(0x100, 1),
        ];
        let expected =
            [(ThreadKey::Value(1), 2, 1, [Some(10); 2]), (ThreadKey::Value(2), 1, 0, [Some(5); 2])];
        check(ThreadsBy::Variable(0x100), &elements, &expected);
    }

    #[test]
    fn context_ids_are_threads_and_missing_trace_ends_one() {
        let context = |id| {
            let security = Security::NonSecure;
            let context = Context { level: 0, security, is_64bit: true, vmid: None, context_id: Some(id) };
            Element::Context(context, Isa::A64)
        };
        let gap = Element::Gap { reason: GapReason::Overflow, from: 0, to: 1 };
        let elements = [
            cycles(1),
            context(5),
            cycles(10),
            context(5),
            cycles(1),
            context(6),
            cycles(4),
            gap,
            context(6),
        ];
        let key = |id| ThreadKey::Context(Thread { vmid: None, context_id: Some(id) });
        let expected = [(key(5), 1, 0, [Some(11); 2]), (key(6), 2, 2, [None; 2])];
        check(ThreadsBy::Context, &elements, &expected);
    }
}
