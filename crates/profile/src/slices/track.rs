//! Slices of each thread: which are emitted, and which are too short, too early or too late.

use tracewright_flow::hash::HashMap;

/// Receives slices. The slices of a thread are nested, and their times never decrease.
pub trait Slices {
    /// Begins a slice of `function` in a thread.
    fn begin(&mut self, thread: u32, function: u32, time: u64);
    /// Ends the innermost slice of a thread.
    fn end(&mut self, thread: u32, time: u64);
    /// Marks a time that a timestamp gives. Between two marks, times are spread evenly over the instructions.
    fn mark(&mut self, _thread: u32, _time: u64) {}
    /// Returns whether slices of a function are wanted.
    fn wants(&self, _function: u32) -> bool {
        true
    }
}

/// Breakdown of the instructions in the requested time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Instructions in emitted slices, including callees of their functions.
    pub told: u64,
    /// Instructions in no wanted function.
    pub unwanted: u64,
    /// Instructions in slices that are too short, or at unknown times.
    pub short: u64,
    /// Instructions after the last allowed slice.
    pub cut: u64,
}

/// Selection of slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Earliest time.
    pub from: u64,
    /// Latest time.
    pub to: u64,
    /// Shortest slice.
    pub shortest: u64,
    /// Maximum number of slices.
    pub most: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { from: 0, to: u64::MAX, shortest: 0, most: u64::MAX }
    }
}

#[derive(Debug, Default)]
struct Track {
    /// Wanted functions, the outermost first.
    stack: Vec<Frame>,
    /// Number of these whose slice has been emitted.
    open: usize,
    /// For all active functions: whether they are wanted.
    wanted: Vec<bool>,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    function: u32,
    /// Time at which it began, or began again.
    start: u64,
    /// Own instructions since then.
    ran: u64,
}

#[derive(Debug)]
pub(super) struct Tracks {
    limits: Limits,
    current: u32,
    track: Track,
    others: HashMap<u32, Track>,
    /// Set while time advances.
    runs: bool,
    /// Set outside the requested time, where nothing begins. Slices must be [suspended](Self::suspend) first.
    pub is_shut: bool,
    told: u64,
    is_over: bool,
    /// Time at which slices ended because there were too many.
    pub cut: Option<u64>,
    /// What became of the instructions so far. After [`suspend`](Self::suspend), none wait.
    pub shown: Shown,
}

impl Tracks {
    pub fn new(limits: Limits, runs: bool) -> Self {
        Self {
            limits,
            current: 0,
            track: Track::default(),
            others: HashMap::default(),
            runs,
            is_shut: false,
            told: 0,
            is_over: false,
            cut: None,
            shown: Shown::default(),
        }
    }

    /// Counts instructions of the innermost function in the requested time.
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
            // They ran in the caller, too.
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

    /// Marks a time, while slices are emitted. Slices that are long enough begin before it.
    pub fn mark(&mut self, time: u64, out: &mut impl Slices) {
        self.advance(time, out);
        if self.runs && !self.is_over && (self.limits.from..=self.limits.to).contains(&time) {
            out.mark(self.current, time);
        }
    }

    /// Ends all slices; they may begin again.
    pub fn suspend(&mut self, time: u64, out: &mut impl Slices) {
        if self.runs {
            self.advance(time, out);
            self.close(time, out);
        }
        // Slices that were not emitted yet begin anew and were too short.
        self.shown.short += self.track.take_ran();
        self.runs = false;
    }

    /// Begins the suspended slices again.
    pub fn resume(&mut self, time: u64, out: &mut impl Slices) {
        if self.runs || self.is_shut {
            return;
        }
        let from = time.max(self.limits.from);
        self.track.stack.iter_mut().for_each(|frame| frame.start = from);
        self.runs = true;
        self.advance(time, out);
    }

    /// Advances the time and emits slices that are now long enough.
    fn advance(&mut self, time: u64, out: &mut impl Slices) {
        if !self.runs || self.is_over || time < self.limits.from {
            return;
        }
        let now = time.min(self.limits.to);
        // A slice that ends exactly at the beginning of the requested time is outside it.
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
            // Instructions in functions too short to emit count for the emitted caller.
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
