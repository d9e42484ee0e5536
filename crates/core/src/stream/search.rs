//! Search for an A-Sync in bytes of unknown alignment.

/// Most zeros that an A-Sync of any protocol needs, and the 0x80 after them.
const LONGEST: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80];

/// Returns an A-Sync with `zeros` zeros, eleven at most.
pub const fn a_sync(zeros: usize) -> &'static [u8] {
    LONGEST.split_at(LONGEST.len() - 1 - zeros).1
}

/// The progress of a search for an A-Sync with at least `needed` zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// Zeros of an A-Sync.
    needed: usize,
    /// Stream position of the first byte that could not be read.
    pub from: u64,
    /// Stream position up to which skipped bytes were reported.
    pub reported: u64,
    /// Number of zeros just before the current position.
    zeros: u64,
}

impl Search {
    /// Creates a search for an A-Sync with `needed` zeros, eleven at most, that starts at stream position `from`. The `zeros` bytes after
    /// it are zero and already read.
    pub const fn new(needed: usize, from: u64, zeros: u64) -> Self {
        Self { needed, from, reported: from, zeros }
    }

    /// Searches `bytes`, which start at stream position `at`. Passes bytes that belong to no A-Sync to `skipped`. Returns the index just
    /// after the A-Sync.
    pub fn run(&mut self, at: u64, bytes: &[u8], skipped: impl FnMut(u64, &[u8])) -> Option<usize> {
        let mut found = None;
        for (i, &byte) in bytes.iter().enumerate() {
            if byte == 0 {
                self.zeros += 1;
            } else if byte == 0x80 && self.zeros >= self.needed as u64 {
                found = Some(i + 1);
                break;
            } else {
                self.zeros = 0;
            }
        }
        // The last zeros may belong to an A-Sync, and are held back.
        let end = at + found.map_or(bytes.len(), |next| next - 1) as u64;
        let upto = end - self.zeros.min(self.needed as u64);
        pass_on(&mut self.reported, upto, at, bytes, 0, skipped);
        found
    }

    /// Ends the search at `end`. The zeros that were held back belong to no A-Sync.
    pub fn finish(&mut self, end: u64, skipped: impl FnMut(u64, &[u8])) {
        pass_on(&mut self.reported, end, end, &[], 0, skipped);
    }
}

/// Passes skipped bytes from stream position `reported` up to `upto` to `skipped`. `bytes` start at `at`; those before were held back
/// from earlier chunks because they may belong to a synchronisation, so all of them are `held`.
pub fn pass_on(
    reported: &mut u64,
    upto: u64,
    at: u64,
    bytes: &[u8],
    held: u8,
    mut skipped: impl FnMut(u64, &[u8]),
) {
    const PIECE: usize = 16;
    while *reported < at.min(upto) {
        let len = (at.min(upto) - *reported).min(PIECE as u64);
        skipped(*reported, &[held; PIECE][..len as usize]);
        *reported += len;
    }
    if *reported < upto {
        skipped(*reported, &bytes[(*reported - at) as usize..(upto - at) as usize]);
        *reported = upto;
    }
}

/// Returns the start of the first A-Sync in `bytes`, from index `from` on. Its zeros are the last `zeros` before 0x80.
pub fn find(bytes: &[u8], from: usize, zeros: usize) -> Option<usize> {
    let wanted = a_sync(zeros);
    bytes.get(from..)?.windows(wanted.len()).position(|window| window == wanted).map(|at| from + at)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use super::*;

    #[test]
    fn chunks_change_nothing() {
        let bytes = [1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0x80, 8];
        for cut in 0..bytes.len() {
            let mut search = Search::new(5, 0, 0);
            let (mut skipped, mut found) = (Vec::new(), None);
            for (at, piece) in [(0, &bytes[..cut]), (cut, &bytes[cut..])] {
                if found.is_none() {
                    let next = search.run(at as u64, piece, |_, bytes| skipped.extend_from_slice(bytes));
                    found = next.map(|next| at + next);
                }
            }
            assert_eq!((found, &skipped[..]), (Some(12), &bytes[..6]), "{cut}");
        }
    }
}
