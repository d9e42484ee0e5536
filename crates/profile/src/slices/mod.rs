//! Function calls along a run as slices of time, for timelines.
//!
//! [`Slicer`] takes elements in order and emits properly nested slices. A function begins when the instruction before
//! its first one retired, so that cycles belong to the function of the instruction that waited for them, as everywhere.
//! Where trace is lost, and while another thread runs, slices end, and begin again afterwards. Memory is proportional
//! to the call stacks of the threads.

mod track;

use std::ops::Range;

use tracewright_core::{Element, MemorySpace, Stamp};

use crate::calls::{How, Losses, Thread, Tracker, Watch};
use crate::clock::{Clock, End, Kind, Told};
use crate::functions::Within;
use crate::window::{Gate, Timed, TimedGate, Window};
use track::Tracks;
pub use track::{Limits, Shown, Slices};

/// Makes slices of elements.
#[derive(Debug)]
pub struct Slicer<'c> {
    /// Selects the instructions in the requested time.
    gate: TimedGate<'c>,
    tracker: Tracker,
    tracks: Tracks,
    time: Time,
    noted: Vec<Change>,
    /// Set if the last element was passed over.
    is_passing: bool,
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Thread(u32),
    Enter(u32),
    Leave,
    /// This many instructions in the requested time ran.
    Ran(u64),
}

/// Maximum number of changes that wait for a time.
const MOST_PENDING: usize = 1 << 21;

/// Current time, and the changes that wait for one.
#[derive(Debug, Default)]
struct Time {
    /// Last known time. `None` after a loss.
    last: Option<u64>,
    before_loss: u64,
    /// Offset of the clock, which may go back.
    shift: u64,
    /// Instructions since the last known time.
    waiting: u64,
    /// Changes since then, with the number of instructions before each.
    pending: Vec<(u64, Change)>,
    /// Set if changes whose times do not become known have no slices. Otherwise they get the last known time.
    is_strict: bool,
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
    /// Creates a slicer with a clock. Without a clock, time is the number of instructions.
    pub fn new(clock: Option<Clock<'c>>, limits: Limits) -> Self {
        Self::at_times(clock, limits, None)
    }

    /// Creates a slicer that keeps only what ran at timestamps in `times`.
    pub fn at_times(clock: Option<Clock<'c>>, limits: Limits, times: Option<Range<u64>>) -> Self {
        let starts = clock.as_ref().is_none_or(|clock| clock.kind() == Kind::Counts);
        let is_strict = clock.as_ref().is_some_and(|clock| clock.kind() == Kind::Timestamps);
        let time = Time { last: starts.then_some(0), is_strict, ..Time::default() };
        let is_limited = limits.from > 0 || limits.to < u64::MAX;
        let is_shut = times.is_some();
        let window = Window { cycles: is_limited.then_some(limits.from..limits.to), times };
        let mut tracks = Tracks::new(limits, starts && !is_shut);
        tracks.is_shut = is_shut;
        Self {
            gate: TimedGate::new(&window, clock),
            is_passing: false,
            tracks,
            tracker: Tracker::default(),
            time,
            noted: Vec::new(),
        }
    }

    /// Takes the next element, whose code is in `space`. `find` returns the function of an address.
    pub fn take(
        &mut self,
        element: &Element,
        space: MemorySpace,
        find: impl FnMut(u64, MemorySpace) -> Within,
        out: &mut impl Slices,
    ) {
        self.tracker.take(element, space, find, &mut self.noted);
        let Self { tracks, time, noted, gate, is_passing, .. } = self;
        if std::mem::take(is_passing) && time.last.is_some() {
            tracks.resume(time.now(), out);
        }
        let kind = gate.kind();
        let Timed { told, inside, gate } = gate.take(element);
        let told = told.unwrap_or(Told::Nothing);
        if let Told::Block(stamps) = told {
            time.resume(stamps.first(), tracks, out);
        }
        if let Element::Timestamp { .. } = element {
            let was_shut = tracks.is_shut;
            // A timestamp is the time of what ran before it, which is in the requested time if the timestamp before is.
            if let (Told::Reached(cycle), Some(Kind::Timestamps)) = (told, kind) {
                time.reached(cycle, tracks, out);
                tracks.mark(cycle, out);
            }
            time.shut(!gate.is_time(), tracks, out);
            if was_shut && kind == Some(Kind::Timestamps) {
                tracks.mark(time.now(), out);
            }
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

    /// Takes the next element without showing it: time advances, and slices end until the next [`take`](Self::take).
    pub fn pass(&mut self, element: &Element, out: &mut impl Slices) {
        let Self { tracks, time, gate, is_passing, .. } = self;
        let Some(kind) = gate.kind() else {
            // Instructions that are not shown take no time. Timestamps still open and shut the window.
            if let Element::Timestamp { .. } = element {
                time.shut(!gate.pass(element).gate.is_time(), tracks, out);
            }
            return;
        };
        if !std::mem::replace(is_passing, true) {
            time.give_up(tracks, out);
            tracks.suspend(time.now(), out);
        }
        let Timed { told, gate, .. } = gate.pass(element);
        if let Element::Timestamp { .. } = element {
            tracks.is_shut = !gate.is_time();
        }
        let cycle = match told.unwrap_or(Told::Nothing) {
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

    /// Returns what became of the instructions in the requested time. Complete after [`finish`](Self::finish).
    pub fn shown(&self) -> Shown {
        self.tracks.shown
    }

    /// Returns the selection of instructions.
    pub fn gate(&self) -> &Gate {
        self.gate.gate()
    }

    /// Ends all slices. Returns how the clock ended.
    pub fn finish(&mut self, out: &mut impl Slices) -> Option<End> {
        self.time.give_up(&mut self.tracks, out);
        self.tracks.suspend(self.time.now(), out);
        self.gate.end()
    }

    /// Returns all threads seen, by number.
    pub fn threads(&self) -> &[Thread] {
        self.tracker.threads()
    }

    /// Returns how often the call stack became uncertain.
    pub fn losses(&self) -> Losses {
        self.tracker.losses()
    }

    /// Returns the time at which slices ended because there were too many.
    pub fn cut(&self) -> Option<u64> {
        self.tracks.cut
    }
}

impl Time {
    fn now(&self) -> u64 {
        self.last.unwrap_or(self.before_loss)
    }

    /// Resumes after a loss at a block whose first instruction has this stamp.
    fn resume(&mut self, first: Option<&Stamp>, tracks: &mut Tracks, out: &mut impl Slices) {
        if let (None, Some(&Stamp::Exact(cycle))) = (self.last, first) {
            let cycle = self.time_of(cycle);
            // An instruction takes a cycle, if there is one.
            let start = cycle - u64::from(cycle > self.before_loss);
            self.last = Some(start);
            tracks.resume(start, out);
        }
    }

    /// Converts a clock cycle to a time that never decreases.
    fn time_of(&mut self, cycle: u64) -> u64 {
        let now = self.now();
        let time = cycle.saturating_add(self.shift);
        if time < now {
            self.shift = now.saturating_sub(cycle);
        }
        time.max(now)
    }

    fn note(&mut self, change: Change, tracks: &mut Tracks, out: &mut impl Slices) {
        let waits = self.is_strict && matches!(change, Change::Ran(_));
        if self.waiting == 0 && !waits {
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

    /// Distributes the time until `cycle` evenly over the waiting instructions, and applies their changes.
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

    /// Closes or opens the requested time from here on.
    fn shut(&mut self, is_shut: bool, tracks: &mut Tracks, out: &mut impl Slices) {
        if is_shut != tracks.is_shut {
            self.give_up(tracks, out);
            if is_shut {
                tracks.suspend(self.now(), out);
            }
            tracks.is_shut = is_shut;
            if !is_shut && self.last.is_some() {
                tracks.resume(self.now(), out);
            }
        }
    }

    /// Applies all waiting changes now, since their times will not become known. If times are strict, slices end before.
    fn give_up(&mut self, tracks: &mut Tracks, out: &mut impl Slices) {
        let now = self.now();
        if self.is_strict && self.waiting > 0 {
            tracks.suspend(now, out);
            self.before_loss = now;
            self.last = None;
        }
        for (_, change) in std::mem::take(&mut self.pending) {
            apply(change, now, tracks, out);
        }
        self.waiting = 0;
    }

    /// Notes that the time to the next element is not known. `goes_on` means that the clock does, from its last time.
    fn lose(&mut self, goes_on: bool, tracks: &mut Tracks, out: &mut impl Slices) {
        self.give_up(tracks, out);
        let now = self.now();
        tracks.suspend(now, out);
        if goes_on {
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
