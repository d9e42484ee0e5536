//! How the bins of lanes become columns of a picture: as they are, or several as one, so that none is too narrow to be seen.

use super::lanes::{Bin, LEFT, Lanes, PLOT};

/// At most so many: each is a pixel wide.
const COLUMNS: u64 = PLOT as u64;

/// Where columns are, in cycles and in the picture.
pub struct Columns {
    start: u64,
    end: u64,
    /// Bins, and cycles, of a column.
    bins: u64,
    cycles: u64,
    /// How many there are.
    pub count: usize,
}

impl Columns {
    /// For these lanes: at least a pixel each.
    pub fn new(lanes: &Lanes) -> Self {
        let span = lanes.end.saturating_sub(lanes.start);
        let bin_width = lanes.bin_width.max(1);
        let bins = span.div_ceil(bin_width).div_ceil(COLUMNS).max(1);
        let cycles = bin_width.saturating_mul(bins);
        let count = span.div_ceil(cycles).min(COLUMNS) as usize;
        Self { start: lanes.start, end: lanes.start.saturating_add(span), bins, cycles, count }
    }

    /// What was in each column. What is behind the end of the run is in none.
    pub fn fold(&self, bins: impl Iterator<Item = Bin>) -> Vec<Bin> {
        let mut columns = vec![Bin::default(); self.count];
        for (i, bin) in bins.enumerate() {
            match columns.get_mut((i as u64 / self.bins) as usize) {
                Some(column) => column.add(bin),
                None => break,
            }
        }
        columns
    }

    /// The first cycle of a column.
    pub fn at(&self, column: usize) -> u64 {
        self.start.saturating_add((column as u64).saturating_mul(self.cycles)).min(self.end)
    }

    /// The cycles of these columns.
    pub fn span(&self, columns: std::ops::Range<usize>) -> u64 {
        (self.at(columns.end) - self.at(columns.start)).max(1)
    }

    /// Where a column begins in the picture: between two pixels, so that there is no seam between columns.
    pub fn x(&self, column: usize) -> f64 {
        LEFT + (PLOT * part(self.at(column) - self.start, (self.end - self.start).max(1))).round()
    }
}

/// A part of a whole, 0 to 1.
pub fn part(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { (part as f64 / all as f64).min(1.0) }
}
