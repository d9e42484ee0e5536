//! Functions along a run.

use tracewright_flow::hash::HashMap;

/// Cycles of functions in columns of equal width. The number of columns is limited, so the width grows with the run.
#[derive(Clone, Debug)]
pub struct Timeline {
    most: u64,
    /// First cycle of the first column.
    start: Option<u64>,
    /// Width of a column in cycles.
    width: u64,
    cells: HashMap<(u32, u32), Cell>,
    /// Function and column that are being added to, not yet in `cells`.
    now: (u32, u32),
    cell: Cell,
}

/// Cycles of a function in one column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Cycles in which it retired instructions.
    pub busy: u64,
    /// Cycles in which it did not.
    pub stalled: u64,
}

impl Timeline {
    /// Function number of cycles of which nothing is known.
    pub const LOST: u32 = u32::MAX;

    /// Creates a timeline of at most `most` columns.
    pub fn new(most: u32) -> Self {
        let most = u64::from(most.max(2));
        Self { most, start: None, width: 1, cells: HashMap::default(), now: (0, 0), cell: Cell::default() }
    }

    /// Attributes the cycles after `from` up to `to` to a function. Instructions retired in the last `busy` of them.
    #[inline]
    pub fn add(&mut self, function: u32, from: u64, to: u64, busy: u64) {
        if to <= from {
            return;
        }
        let start = *self.start.get_or_insert(from);
        // The clock went back.
        let Some(at) = from.checked_sub(start) else { return };
        let end = to - start;
        if end.div_ceil(self.width) > self.most {
            self.widen(end);
        }
        let bin = at / self.width;
        if (end - 1) / self.width == bin {
            self.put(function, bin, Cell { busy, stalled: end - at - busy });
        } else {
            self.add_long(function, at, end, busy);
        }
    }

    fn add_long(&mut self, function: u32, mut at: u64, end: u64, busy: u64) {
        let turns = end - busy;
        while at < end {
            let bin = at / self.width;
            let upto = (bin + 1).saturating_mul(self.width).min(end);
            let stalled = turns.clamp(at, upto) - at;
            self.put(function, bin, Cell { busy: upto - at - stalled, stalled });
            at = upto;
        }
    }

    #[inline]
    fn put(&mut self, function: u32, bin: u64, cell: Cell) {
        let to = (function, bin as u32);
        if self.now != to {
            self.keep();
            self.now = to;
        }
        self.cell.busy += cell.busy;
        self.cell.stalled += cell.stalled;
    }

    fn keep(&mut self) {
        let cell = std::mem::take(&mut self.cell);
        if cell != Cell::default() {
            let to = self.cells.entry(self.now).or_default();
            to.busy += cell.busy;
            to.stalled += cell.stalled;
        }
    }

    #[cold]
    fn widen(&mut self, end: u64) {
        self.keep();
        let mut shift = 0;
        while end.div_ceil(self.width) > self.most {
            self.width = self.width.saturating_mul(2);
            shift += 1;
        }
        for ((function, bin), cell) in std::mem::take(&mut self.cells) {
            let to = self.cells.entry((function, bin.checked_shr(shift).unwrap_or(0))).or_default();
            to.busy += cell.busy;
            to.stalled += cell.stalled;
        }
    }

    /// Returns the cycle before the first.
    pub fn start(&self) -> u64 {
        self.start.unwrap_or(0)
    }

    /// Returns the width of a column in cycles.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// Returns all cells that are not empty, sorted, as function, column and cycles.
    pub fn cells(&mut self) -> Vec<(u32, u32, Cell)> {
        self.keep();
        let mut cells: Vec<_> =
            self.cells.iter().map(|(&(function, bin), &cell)| (function, bin, cell)).collect();
        cells.sort_unstable_by_key(|&(function, bin, _)| (function, bin));
        cells
    }
}
