//! Searching an A-Sync in bytes of unknown alignment.

/// Progress of a search: eleven zeros or more, then 0x80.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Search {
    /// Where the bytes that could not be read begin.
    pub(super) from: u64,
    /// Zeros seen just now.
    zeros: u64,
    /// Up to where passed-over bytes have been handed to the sink.
    pub(super) reported: u64,
}

const ZEROS: u64 = 11;

impl Search {
    /// A search that starts at stream position `from`, the `zeros` bytes after it being zero and read.
    pub(super) fn new(from: u64, zeros: u64) -> Self {
        Self { from, zeros, reported: from }
    }

    /// Searches on in `bytes`, which start at stream position `at`. `skipped` is given bytes that belong to no
    /// A-Sync. Returns the index just after the A-Sync.
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
        // The last zeros may yet be an A-Sync: hold them back.
        let end = at + found.map_or(bytes.len(), |next| next - 1) as u64;
        let upto = end - self.zeros.min(ZEROS);
        while self.reported < upto {
            if self.reported < at {
                // Held back before these bytes came, so it can only be zeros.
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

    /// The stream ended at `end` without an A-Sync: the zeros held back belong to none either.
    pub(super) fn finish(&mut self, end: u64, mut skipped: impl FnMut(u64, &[u8])) {
        if self.reported < end {
            skipped(self.reported, &[0; ZEROS as usize][..(end - self.reported).min(ZEROS) as usize]);
            self.reported = end;
        }
    }
}
