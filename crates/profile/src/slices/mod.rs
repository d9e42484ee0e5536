//! Functions along a run: when each was entered and left, for timelines.
//!
//! [`Slicer`] takes elements in order, and tells slices that are nested in each other: each ends before the one it began in does. A
//! function begins when the instruction before its first one retired: so all cycles belong to the function of the instruction that
//! waited for them, as everywhere. Where trace is lost, and while another thread runs, slices end, and begin again after that. Its memory is that
//! of the calls that threads are in.

mod track;

use std::ops::Range;

use tracewright_core::{Element, MemorySpace, Stamp};

use crate::calls::{How, Thread, Tracker, Watch};
use crate::clock::{Clock, End, Kind, Told};
use crate::functions::Within;
use crate::window::{Gate, Window};
use track::Tracks;
pub use track::{Limits, Shown, Slices};

/// Makes slices of elements.
#[derive(Debug)]
pub struct Slicer<'c> {
    /// Nothing: instructions are counted instead.
    clock: Option<Clock<'c>>,
    tracker: Tracker,
    tracks: Tracks,
    time: Time,
    noted: Vec<Change>,
    /// Which instructions are in the time asked for.
    gate: Gate,
    /// Whether the last element was not asked for.
    is_passing: bool,
}

/// What changes at an instruction.
#[derive(Clone, Copy, Debug)]
enum Change {
    Thread(u32),
    Enter(u32),
    Leave,
    /// So many instructions in the time asked for ran.
    Ran(u64),
}

/// More changes than these do not wait for their time.
const MOST_PENDING: usize = 1 << 21;

/// When things happen.
#[derive(Debug, Default)]
struct Time {
    /// The last time that is known; nothing after a loss.
    last: Option<u64>,
    before_loss: u64,
    /// What to add to the clock: it may begin anew.
    shift: u64,
    /// Instructions since the last time.
    waiting: u64,
    /// Changes since then, each after so many of these.
    pending: Vec<(u64, Change)>,
}

impl Watch for Vec<Change> {
    fn thread(&mut self, number: u32) {
        self.push(Change::Thread(number));
    }

    fn enter(&mut self, function: u32, _how: How) {
        self.push(Change::Enter(function));
    }

    fn leave(&mut self) {
        self.push(Change::Leave);
    }
}

impl<'c> Slicer<'c> {
    /// By a clock; without one the time is the number of instructions.
    #[must_use]
    pub fn new(clock: Option<Clock<'c>>, limits: Limits) -> Self {
        Self::at_times(clock, limits, None)
    }

    /// The same, and only what ran at these timestamps.
    #[must_use]
    pub fn at_times(clock: Option<Clock<'c>>, limits: Limits, times: Option<Range<u64>>) -> Self {
        let starts = clock.as_ref().is_none_or(|clock| clock.kind() == Kind::Counts);
        let time = Time { last: starts.then_some(0), ..Time::default() };
        let is_limited = limits.from > 0 || limits.to < u64::MAX;
        let is_shut = times.is_some();
        let window = Window { cycles: is_limited.then_some(limits.from..limits.to), times };
        let mut tracks = Tracks::new(limits, starts && !is_shut);
        tracks.set_shut(is_shut);
        Self {
            gate: Gate::new(&window, clock.as_ref().map(Clock::kind)),
            is_passing: false,
            tracks,
            clock,
            tracker: Tracker::default(),
            time,
            noted: Vec::new(),
        }
    }

    /// Takes the next element, whose code is in `space`. `find` tells the function of an address there.
    pub fn take(
        &mut self,
        element: &Element,
        space: MemorySpace,
        find: impl FnMut(u64, MemorySpace) -> Within,
        out: &mut impl Slices,
    ) {
        self.tracker.take(element, space, find, &mut self.noted);
        let Self { clock, tracks, time, noted, gate, is_passing, .. } = self;
        if std::mem::take(is_passing) && time.last.is_some() {
            tracks.resume(time.now(), out);
        }
        let kind = clock.as_ref().map(Clock::kind);
        let told = match clock {
            Some(clock) => clock.take(element),
            None => Told::Nothing,
        };
        if let Told::Block(stamps) = told {
            time.resume(stamps.first(), tracks, out);
        }
        let inside = gate.take(element, kind.map(|_| &told));
        if let Element::Timestamp { .. } = element {
            time.shut(!gate.is_time(), tracks, out);
        }
        for change in noted.drain(..) {
            time.note(change, tracks, out);
        }
        if !inside.is_empty() {
            time.note(Change::Ran((inside.end - inside.start).into()), tracks, out);
        }
        match (told, element) {
            (Told::Block(stamps), _) => {
                stamps.iter().for_each(|stamp| time.instruction(stamp, tracks, out));
            }
            (Told::Reached(cycle), _) => time.reached(cycle, tracks, out),
            (Told::Lost, _) => {
                time.lose(kind == Some(Kind::Counts), tracks, out);
            }
            (Told::Nothing, Element::Block(block)) if kind.is_none() => {
                time.last = Some(time.last.unwrap_or(0) + u64::from(block.count));
            }
            (Told::Nothing, _) => {}
        }
    }

    /// Takes the next element, which is not asked for: time goes on, and slices end until the next that is.
    pub fn pass(&mut self, element: &Element, out: &mut impl Slices) {
        let Self { clock: Some(clock), tracks, time, gate, is_passing, .. } = self else { return };
        if !std::mem::replace(is_passing, true) {
            time.give_up(tracks, out);
            tracks.suspend(time.now(), out);
        }
        let kind = clock.kind();
        let told = clock.take(element);
        gate.pass(element, Some(&told));
        if let Element::Timestamp { .. } = element {
            tracks.set_shut(!gate.is_time());
        }
        let cycle = match told {
            Told::Block(stamps) => stamps.iter().rev().find_map(|stamp| match stamp {
                Stamp::Exact(cycle) => Some(*cycle),
                _ => None,
            }),
            Told::Reached(cycle) => Some(cycle),
            Told::Lost => {
                time.lose(kind == Kind::Counts, tracks, out);
                tracks.suspend(time.now(), out);
                None
            }
            Told::Nothing => None,
        };
        if let Some(cycle) = cycle {
            time.last = Some(time.time_of(cycle));
        }
    }

    /// What became of the instructions in the time asked for, once it is [finished](Self::finish).
    #[must_use]
    pub fn shown(&self) -> Shown {
        self.tracks.shown()
    }

    /// Which instructions were in it.
    #[must_use]
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// No element comes any more: all slices end. What the clock says of it.
    pub fn finish(&mut self, out: &mut impl Slices) -> Option<End> {
        self.time.give_up(&mut self.tracks, out);
        self.tracks.suspend(self.time.now(), out);
        self.clock.as_mut().map(Clock::end)
    }

    /// All threads that were seen, by their numbers.
    #[must_use]
    pub fn threads(&self) -> &[Thread] {
        self.tracker.threads()
    }

    /// When slices ended because there were too many.
    #[must_use]
    pub fn cut(&self) -> Option<u64> {
        self.tracks.cut()
    }
}

impl Time {
    fn now(&self) -> u64 {
        self.last.unwrap_or(self.before_loss)
    }

    /// A block comes whose first instruction has this stamp: if the time was lost, it is known again.
    fn resume(&mut self, first: Option<&Stamp>, tracks: &mut Tracks, out: &mut impl Slices) {
        if let (None, Some(&Stamp::Exact(cycle))) = (self.last, first) {
            let cycle = self.time_of(cycle);
            // An instruction takes a cycle, if there is one.
            let start = cycle - u64::from(cycle > self.before_loss);
            self.last = Some(start);
            tracks.resume(start, out);
        }
    }

    /// A time of the clock, which never goes back.
    fn time_of(&mut self, cycle: u64) -> u64 {
        let now = self.now();
        let time = cycle.saturating_add(self.shift);
        if time < now {
            self.shift = now.saturating_sub(cycle);
        }
        time.max(now)
    }

    fn note(&mut self, change: Change, tracks: &mut Tracks, out: &mut impl Slices) {
        if self.waiting == 0 {
            return apply(change, self.now(), tracks, out);
        }
        if let (Change::Ran(more), Some((_, Change::Ran(count)))) = (change, self.pending.last_mut()) {
            *count += more;
            return;
        }
        if self.pending.len() >= MOST_PENDING {
            self.give_up(tracks, out);
            return apply(change, self.now(), tracks, out);
        }
        self.pending.push((self.waiting, change));
    }

    fn instruction(&mut self, stamp: &Stamp, tracks: &mut Tracks, out: &mut impl Slices) {
        match *stamp {
            Stamp::Exact(cycle) if self.waiting == 0 && self.last.is_some() => {
                self.last = Some(self.time_of(cycle));
            }
            Stamp::Exact(cycle) => {
                self.waiting += 1;
                self.reached(cycle, tracks, out);
            }
            _ => self.waiting += 1,
        }
    }

    /// All that waits had happened by then: each instruction took the same part of the time.
    fn reached(&mut self, cycle: u64, tracks: &mut Tracks, out: &mut impl Slices) {
        let to = self.time_of(cycle);
        let from = self.now();
        if self.last.is_none() {
            self.give_up(tracks, out);
            tracks.resume(to, out);
        }
        let cycles = u128::from(to - from);
        let all = u128::from(self.waiting.max(1));
        for (after, change) in std::mem::take(&mut self.pending) {
            let time = from + (cycles * u128::from(after) / all) as u64;
            apply(change, time, tracks, out);
        }
        self.waiting = 0;
        self.last = Some(to);
    }

    /// From here on it is not, or it is again, the time that is asked for.
    fn shut(&mut self, is_shut: bool, tracks: &mut Tracks, out: &mut impl Slices) {
        if is_shut != tracks.is_shut() {
            self.give_up(tracks, out);
            if is_shut {
                tracks.suspend(self.now(), out);
            }
            tracks.set_shut(is_shut);
            if !is_shut && self.last.is_some() {
                tracks.resume(self.now(), out);
            }
        }
    }

    /// Nobody will say when what waits happened.
    fn give_up(&mut self, tracks: &mut Tracks, out: &mut impl Slices) {
        let now = self.now();
        for (_, change) in std::mem::take(&mut self.pending) {
            apply(change, now, tracks, out);
        }
        self.waiting = 0;
    }

    /// Nobody knows how long it takes to what comes next. `anew`: the clock begins with 0 again.
    fn lose(&mut self, anew: bool, tracks: &mut Tracks, out: &mut impl Slices) {
        self.give_up(tracks, out);
        let now = self.now();
        tracks.suspend(now, out);
        if anew {
            self.shift = now;
            tracks.resume(now, out);
        } else if let Some(last) = self.last.take() {
            self.before_loss = last;
        }
    }
}

fn apply(change: Change, time: u64, tracks: &mut Tracks, out: &mut impl Slices) {
    match change {
        Change::Thread(number) => tracks.thread(number, time, out),
        Change::Enter(function) => tracks.enter(function, time, out),
        Change::Leave => tracks.leave(time, out),
        Change::Ran(count) => tracks.ran(count),
    }
}
