//! The slices of each thread: which are told, and which are too short, too early, too late.

use std::collections::HashMap;

/// Takes slices. Those of a thread are nested, and their times never go back.
pub trait Slices {
    /// In a thread a function begins.
    fn begin(&mut self, thread: u32, function: u32, time: u64);
    /// In a thread the function that began last ends.
    fn end(&mut self, thread: u32, time: u64);
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
    /// Each with the time when it began, or began again.
    stack: Vec<(u32, u64)>,
    /// How many of them have been told.
    open: usize,
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
    told: u64,
    is_over: bool,
    cut: Option<u64>,
}

impl Tracks {
    pub fn new(limits: Limits, runs: bool) -> Self {
        Self {
            limits,
            current: 0,
            track: Track::default(),
            others: HashMap::new(),
            runs,
            told: 0,
            is_over: false,
            cut: None,
        }
    }

    pub fn cut(&self) -> Option<u64> {
        self.cut
    }

    pub fn enter(&mut self, function: u32, time: u64, out: &mut impl Slices) {
        self.advance(time, out);
        self.track.stack.push((function, time.max(self.limits.from)));
    }

    pub fn leave(&mut self, time: u64, out: &mut impl Slices) {
        self.advance(time, out);
        let Track { stack, open } = &mut self.track;
        if *open == stack.len() && *open > 0 {
            *open -= 1;
            out.end(self.current, time);
        }
        stack.pop();
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
        self.runs = false;
    }

    /// What had not ended begins again.
    pub fn resume(&mut self, time: u64, out: &mut impl Slices) {
        if self.runs {
            return;
        }
        let from = time.max(self.limits.from);
        self.track.stack.iter_mut().for_each(|(_, start)| *start = from);
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
        while let Some(&(function, start)) = self.track.stack.get(self.track.open).filter(|_| is_in) {
            if now - start.min(now) < self.limits.shortest || start >= self.limits.to {
                break;
            }
            if self.told == self.limits.most {
                self.cut = Some(now);
                self.close(now, out);
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
        for _ in 0..std::mem::take(&mut self.track.open) {
            out.end(self.current, time.min(self.limits.to));
        }
    }
}
