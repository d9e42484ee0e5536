//! The slices of each thread: which are told, and which are too short, too early, too late.

use std::collections::HashMap;

/// Takes slices. Those of a thread are nested, and their times never go back.
pub trait Slices {
    /// In a thread a function begins.
    fn begin(&mut self, thread: u32, function: u32, time: u64);
    /// In a thread the function that began last ends.
    fn end(&mut self, thread: u32, time: u64);
    /// Whether slices of a function are wanted.
    fn wants(&self, _function: u32) -> bool {
        true
    }
}

/// What became of the instructions in the time asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// They ran in a slice that was told: in its function, or in what that called.
    pub told: u64,
    /// They ran in no function that is wanted.
    pub unwanted: u64,
    /// They ran in slices that are too short, or when nobody knows the time.
    pub short: u64,
    /// They come after the last slice that was allowed.
    pub cut: u64,
}

/// Which slices are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Nothing before this time.
    pub from: u64,
    /// Nothing after this time.
    pub to: u64,
    /// None that is shorter.
    pub shortest: u64,
    /// No more than so many.
    pub most: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { from: 0, to: u64::MAX, shortest: 0, most: u64::MAX }
    }
}

/// The functions that a thread is in.
#[derive(Debug, Default)]
struct Track {
    /// Those that are wanted, the outermost first.
    stack: Vec<Frame>,
    /// How many of them have been told.
    open: usize,
    /// Of all functions at work: whether they are wanted.
    wanted: Vec<bool>,
}

/// A function at work.
#[derive(Clone, Copy, Debug)]
struct Frame {
    function: u32,
    /// When it began, or began again.
    start: u64,
    /// Instructions of its own since.
    ran: u64,
}

/// The slices of all threads.
#[derive(Debug)]
pub(super) struct Tracks {
    limits: Limits,
    current: u32,
    track: Track,
    others: HashMap<u32, Track>,
    /// Whether time goes on.
    runs: bool,
    /// Whether this is not the time that is asked for: nothing begins.
    is_shut: bool,
    told: u64,
    is_over: bool,
    cut: Option<u64>,
    shown: Shown,
}

impl Tracks {
    pub fn new(limits: Limits, runs: bool) -> Self {
        Self {
            limits,
            current: 0,
            track: Track::default(),
            others: HashMap::new(),
            runs,
            is_shut: false,
            told: 0,
            is_over: false,
            cut: None,
            shown: Shown::default(),
        }
    }

    pub fn cut(&self) -> Option<u64> {
        self.cut
    }

    /// What became of the instructions so far; [`suspend`](Self::suspend) first, so that none wait.
    pub fn shown(&self) -> Shown {
        self.shown
    }

    /// So many instructions in the time asked for ran in the innermost function.
    pub fn ran(&mut self, count: u64) {
        match self.track.stack.last_mut() {
            _ if self.cut.is_some() => self.shown.cut += count,
            Some(frame) => frame.ran += count,
            None => self.shown.unwanted += count,
        }
    }

    pub fn enter(&mut self, function: u32, time: u64, out: &mut impl Slices) {
        self.advance(time, out);
        let is_wanted = out.wants(function);
        self.track.wanted.push(is_wanted);
        if is_wanted {
            self.track.stack.push(Frame { function, start: time.max(self.limits.from), ran: 0 });
        }
    }

    pub fn leave(&mut self, time: u64, out: &mut impl Slices) {
        self.advance(time, out);
        let Track { stack, open, wanted } = &mut self.track;
        if wanted.pop() != Some(true) {
            return;
        }
        let is_told = *open == stack.len() && *open > 0;
        if is_told {
            *open -= 1;
            out.end(self.current, time);
        }
        let Some(frame) = stack.pop() else { return };
        match stack.last_mut() {
            _ if is_told => self.shown.told += frame.ran,
            // They ran in that, too.
            Some(caller) => caller.ran += frame.ran,
            None => self.shown.short += frame.ran,
        }
    }

    pub fn thread(&mut self, number: u32, time: u64, out: &mut impl Slices) {
        if number == self.current {
            return;
        }
        let runs = self.runs;
        self.suspend(time, out);
        let next = self.others.remove(&number).unwrap_or_default();
        self.others.insert(self.current, std::mem::replace(&mut self.track, next));
        self.current = number;
        if runs {
            self.resume(time, out);
        }
    }

    /// All end, and may begin again.
    pub fn suspend(&mut self, time: u64, out: &mut impl Slices) {
        if self.runs {
            self.advance(time, out);
            self.close(time, out);
        }
        // What was not told by now begins anew, and is too short.
        self.shown.short += self.track.take_ran();
        self.runs = false;
    }

    /// Whether nothing may begin from now on; what has begun was [suspended](Self::suspend).
    pub fn set_shut(&mut self, is_shut: bool) {
        self.is_shut = is_shut;
    }

    pub fn is_shut(&self) -> bool {
        self.is_shut
    }

    /// What had not ended begins again.
    pub fn resume(&mut self, time: u64, out: &mut impl Slices) {
        if self.runs || self.is_shut {
            return;
        }
        let from = time.max(self.limits.from);
        self.track.stack.iter_mut().for_each(|frame| frame.start = from);
        self.runs = true;
        self.advance(time, out);
    }

    /// It is so late: tells the slices that are long enough by now.
    fn advance(&mut self, time: u64, out: &mut impl Slices) {
        if !self.runs || self.is_over || time < self.limits.from {
            return;
        }
        let now = time.min(self.limits.to);
        // Those that ended when the time began that was asked for are not in it.
        let is_in = now > self.limits.from || self.limits.from == 0;
        while let Some(&Frame { function, start, .. }) =
            self.track.stack.get(self.track.open).filter(|_| is_in)
        {
            if now - start.min(now) < self.limits.shortest || start >= self.limits.to {
                break;
            }
            if self.told == self.limits.most {
                self.cut = Some(now);
                self.close(now, out);
                self.shown.cut += self.track.take_ran();
                self.is_over = true;
                return;
            }
            self.told += 1;
            self.track.open += 1;
            out.begin(self.current, function, start);
        }
        if time >= self.limits.to {
            self.close(now, out);
            self.is_over = true;
        }
    }

    fn close(&mut self, time: u64, out: &mut impl Slices) {
        let open = std::mem::take(&mut self.track.open);
        if open > 0 {
            // What is too short to be told ran in what is told.
            self.shown.told += self.track.take_ran();
        }
        (0..open).for_each(|_| out.end(self.current, time.min(self.limits.to)));
    }
}

impl Track {
    fn take_ran(&mut self) -> u64 {
        self.stack.iter_mut().map(|frame| std::mem::take(&mut frame.ran)).sum()
    }
}
