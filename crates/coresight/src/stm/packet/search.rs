//! Search for an ASYNC in bytes of unknown alignment.

use super::ONES;
use super::nibbles::Span;
use tracewright_core::stream::pass_on;

/// The progress of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Search {
    /// Position of the first nibble that could not be read.
    from: u64,
    /// Stream position up to which skipped bytes were reported.
    pub reported: u64,
    /// Number of ones just before the current nibble, and the nibble before them.
    ones: u64,
    before: u8,
}

/// Nibbles of an ASYNC without more ones than it needs.
const ASYNC: u64 = ONES as u64 + 1;

/// An ASYNC that was found.
pub(super) struct Found {
    /// Index of the nibble after it.
    pub next: usize,
    /// Nibbles that were skipped before.
    pub skipped: Span,
    /// The ASYNC.
    pub span: Span,
    /// Its bytes, and how many they are.
    pub bytes: [u8; 12],
    pub len: usize,
}

impl Search {
    /// Creates a search that starts at nibble `from`. The `ones` nibbles after it are ones and already read; `before` is the one before.
    pub const fn new(from: u64, ones: u64, before: u8) -> Self {
        Self { from, reported: from.div_ceil(2), ones, before }
    }

    /// Searches `bytes`, which start at stream position `position`, from nibble `at` on. Passes bytes that belong to no ASYNC to
    /// `skipped`.
    pub fn run(
        &mut self,
        position: u64,
        bytes: &[u8],
        at: usize,
        skipped: impl FnMut(u64, &[u8]),
    ) -> Option<Found> {
        let next = self.scan(bytes, at);
        let end = 2 * position + next.unwrap_or(2 * bytes.len()) as u64;
        // The last ones may belong to an ASYNC, and are held back.
        let upto = if next.is_some() { end - ASYNC } else { end - self.ones.min(ONES.into()) };
        pass_on(&mut self.reported, upto.div_ceil(2), position, bytes, 0xff, skipped);
        let next = next?;
        let span = Span { start: upto, nibbles: ASYNC };
        let mut nibbles = [0xff; 12];
        let len = if span.begins_inside() {
            let before = if self.ones > ONES.into() { 0xf } else { self.before };
            nibbles[0] = 0xf0 | before;
            12
        } else {
            11
        };
        nibbles[len - 1] = bytes[(next - 1) / 2];
        let skipped = Span { start: self.from, nibbles: upto - self.from };
        Some(Found { next, skipped, span, bytes: nibbles, len })
    }

    /// Returns the index of the nibble after an ASYNC.
    fn scan(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        let mut index = at;
        while let Some(&byte) = bytes.get(index / 2) {
            if byte == 0xff && index & 1 == 0 {
                self.ones += 2;
                index += 2;
                continue;
            }
            let nibble = byte >> (index % 2 * 4) & 0xf;
            index += 1;
            match nibble {
                0xf => self.ones += 1,
                0 if self.ones >= ONES.into() => return Some(index),
                _ => (self.ones, self.before) = (0, nibble),
            }
        }
        None
    }

    /// Ends the search at stream position `end`. The ones that were held back belong to no ASYNC. Returns what was skipped.
    pub fn finish(&mut self, end: u64, skipped: impl FnMut(u64, &[u8])) -> Span {
        pass_on(&mut self.reported, end, end, &[], 0xff, skipped);
        Span { start: self.from, nibbles: 2 * end - self.from }
    }
}

/// Returns the index of the byte in which the first ASYNC begins whose zero is in `bytes[from..]`, if it is in `bytes`.
pub fn find(bytes: &[u8], from: usize) -> Option<usize> {
    let mut search = Search::new(0, 0, 0);
    let mut at = 2 * from;
    loop {
        at = search.scan(bytes, at)?;
        if let Some(start) = (at as u64).checked_sub(ASYNC).filter(|&start| start >= 2 * from as u64) {
            return Some((start / 2) as usize);
        }
        search.ones = 0;
    }
}
