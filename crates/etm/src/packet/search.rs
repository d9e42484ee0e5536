//! Search for an A-Sync in bytes of unknown alignment.

/// The progress of a search for at least eleven zeros and 0x80.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Search {
    /// Position of the first byte that could not be read.
    pub(super) from: u64,
    /// Number of zeros just before the current position.
    zeros: u64,
    /// Position up to which skipped bytes were passed to the sink.
    pub(super) reported: u64,
}

const ZEROS: u64 = 11;

impl Search {
    /// Creates a search that starts at stream position `from`. The `zeros` bytes after it are zero and already read.
    pub(super) fn new(from: u64, zeros: u64) -> Self {
        Self { from, zeros, reported: from }
    }

    /// Searches `bytes`, which start at stream position `at`. Passes bytes that belong to no A-Sync to `skipped`.
    /// Returns the index just after the A-Sync.
    pub(super) fn run(
        &mut self,
        at: u64,
        bytes: &[u8],
        mut skipped: impl FnMut(u64, &[u8]),
    ) -> Option<usize> {
        let mut found = None;
        for (i, &byte) in bytes.iter().enumerate() {
            if byte == 0 {
                self.zeros += 1;
            } else if byte == 0x80 && self.zeros >= ZEROS {
                found = Some(i + 1);
                break;
            } else {
                self.zeros = 0;
            }
        }
        // The last zeros may belong to an A-Sync, and are held back.
        let end = at + found.map_or(bytes.len(), |next| next - 1) as u64;
        let upto = end - self.zeros.min(ZEROS);
        while self.reported < upto {
            if self.reported < at {
                // These bytes were held back from earlier chunks, so they are zeros.
                let len = (at.min(upto) - self.reported).min(ZEROS);
                skipped(self.reported, &[0; ZEROS as usize][..len as usize]);
                self.reported += len;
            } else {
                skipped(self.reported, &bytes[(self.reported - at) as usize..(upto - at) as usize]);
                self.reported = upto;
            }
        }
        found
    }

    /// Ends the search at `end`. The zeros that were held back belong to no A-Sync.
    pub(super) fn finish(&mut self, end: u64, mut skipped: impl FnMut(u64, &[u8])) {
        if self.reported < end {
            skipped(self.reported, &[0; ZEROS as usize][..(end - self.reported).min(ZEROS) as usize]);
            self.reported = end;
        }
    }
}
